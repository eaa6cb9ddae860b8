"""Commands that follow each other, each on the folder of the one before."""

import json

import pytest
import torch
from recipes.tiny_chats import OPTIONS, THINGS, make
from recipes.tiny_preferences import save_pairs

from mathlm.recipes.__main__ import dispatch


@pytest.mark.slow
def test_sft_dpo_grpo_and_chat_follow_each_other(tmp_path, capsys):
    """Each begins with the adapter of the one before, and needs no other option for that."""
    torch.set_default_dtype(torch.float32)
    make(tmp_path)
    save_pairs(tmp_path / "pairs.jsonl", better="yes", worse="nay")
    lines = [json.dumps({"prompt": f"{a}?"}) for a in THINGS]
    (tmp_path / "prompts.jsonl").write_text("\n".join(lines))
    short = "--device cpu --max-new-tokens 6"
    for words in (
        f"sft --data my.jsonl --model base --out one {OPTIONS}",
        f"dpo --data pairs.jsonl --model one --out two {short} --epochs 1",
        f"grpo --prompts prompts.jsonl --model two --out three {short} --iterations 1 "
        "--reward length --target 5",
        f"chat --model three --prompt rain? {short}",
    ):
        names = ("my.jsonl", "pairs.jsonl", "prompts.jsonl", "base", "one", "two", "three")
        dispatch([str(tmp_path / x) if x in names else x for x in words.split()])
    assert capsys.readouterr().out.endswith("\n")
    assert json.loads((tmp_path / "three" / "chat.json").read_text())["base_adapter"]
