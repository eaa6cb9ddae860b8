"""A small model of bytes, preferences that a rule decides, and the script that learns it."""

import json

from recipes.tiny_chats import THINGS, save_base

from mathlm.recipes import reward

OPTIONS = "--device cpu --epochs 5 --batch-size 7 --lr 2e-2 --log-every 1 --eval-every 5"


def save_pairs(path, better="yes", worse="no", prompts=THINGS):
    """Answers of which one word is always the better."""
    rows = [
        {"prompt": f"{a} {b}?", "chosen": f"{better} {a}", "rejected": f"{worse} {a}"}
        for a in prompts
        for b in "ab"
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def learn(folder, options="", out="out"):
    """Run the script on the folder's base and data; its record and results."""
    record = folder / "record.json"
    shared = f"{OPTIONS} --data {folder / 'my.jsonl'} --model {folder / 'base'}"
    found = reward.main(f"{shared} --out {folder / out} --record {record} {options}".split())
    return json.loads(record.read_text()), found


def make(folder):
    """A folder with both."""
    save_base(folder / "base")
    save_pairs(folder / "my.jsonl", better="yes", worse="nay")
    return folder
