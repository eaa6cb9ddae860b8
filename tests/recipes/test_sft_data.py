"""Conversations as batches."""

import pytest
import torch
from recipes.tiny_chats import PAIRS, make, save_data

from mathlm.chat import folder
from mathlm.errors import ConfigError
from mathlm.recipes import sft
from mathlm.recipes.command import parse


@pytest.fixture
def read(tmp_path):
    """Read data with some options; the folder is an attribute."""
    place = make(tmp_path)
    torch.set_default_dtype(torch.float64)

    def call(options=""):
        shared = f"--data {place / 'my.jsonl'} --model {place / 'base'} --device cpu"
        config = parse(sft.SFTConfig, f"{shared} {options}".split())
        chat_model = folder.load(config.base.model, device="cpu")
        return sft.read_conversations(config, chat_model)

    call.place = place
    return call


def texts(batches):
    return {bytes(i for i in row.tolist() if 0 < i < 0xC0) for b in batches for row in b["ids"]}


def test_no_prompt_is_on_both_sides(read):
    """Each prompt twice, with two answers: 14 conversations of which 4 are held out."""
    save_data(read.place / "my.jsonl", PAIRS + [(p, a + a) for p, a in PAIRS])
    found = read("--held-out 0.3 --batch-size 20")
    sides = [
        {t.split(b"?")[0] for t in texts(b)} for b in ([found.training(0)], found.held_out)
    ]
    assert not sides[0] & sides[1]
    assert [len(side) for side in sides] == [5, 2]


def test_a_pass_over_the_data_takes_as_many_steps_as_said(read):
    found = read("--batch-size 2 --held-out 0.15")
    assert found.steps_per_epoch == 3
    assert len(texts(found.training(step) for step in range(3))) == 6


def test_old_windows_are_as_long_as_the_longest_conversation(read):
    (read.place / "old.txt").write_text("To be, or not to be. " * 40)
    found = read(f"--replay {read.place / 'old.txt'} --replay-share 0.5")
    batch = found.training(0)
    longest = max(len(chat) for chat in found.encoded.chats)
    assert batch["ids"].shape[1] in (longest, longest - 1)
    assert (batch["index"] < 0).sum() == (batch["index"] >= 0).sum()


def test_packed_rows_tell_their_conversations_apart(read):
    batch = read("--packed --held-out 0").training(0)
    assert batch["ids"].shape[1] == 64
    assert batch["documents"].max() > 0


def test_a_context_beyond_the_model_is_refused(read):
    with pytest.raises(ConfigError, match="--context 65: the model reads 64 tokens"):
        read("--context 65")


def test_one_prompt_cannot_be_held_out(read):
    save_data(read.place / "my.jsonl", PAIRS[:1])
    with pytest.raises(ConfigError, match=r"1 distinct prompts.*--held-out 0 trains on all"):
        read()
