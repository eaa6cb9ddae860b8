"""Options of the tuning script."""

from pathlib import Path

import pytest

from mathlm.errors import ConfigError
from mathlm.recipes.sft_method_options import step_size
from mathlm.recipes.sft_options import parse


def options(text):
    return parse(f"--data my.jsonl {text}".split())


def test_a_rank_alone_is_enough():
    args = options("--lora-rank 4")
    assert (args.method, args.lora_rank, args.lora_targets) == ("lora", 4, ["all-linear"])
    assert args.out == Path("runs/my-smollm2-lora")


def test_a_step_size_falls_with_the_width():
    """Halved for twice the width, and 10⁻³ for updates of low rank at 576."""
    assert step_size("lora", 576) == 1e-3
    assert step_size("full", 256) == 2 * step_size("full", 512)


def test_a_method_has_its_own_options_only():
    args = options("--method prefix --length 3")
    assert (args.length, args.lora_rank, args.width) == (3, None, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--width 3", "--width is no option of --method lora"),
        ("--method full --lora-rank 4", "--lora-rank is no option of --method full"),
        ("--method full --rslora", "--rslora is no option of --method full"),
        ("--method freeze", "--method freeze needs --train"),
        ("--method full --merge", "--merge is for --method lora"),
        ("--method full --quantize 8", "--quantize is for adapters"),
        ("--merge --quantize 4", "--quantize is for adapters"),
        ("--replay-share 0.2", "--replay-share needs --replay"),
        ("--format named --template x.json", "--format or --template, not both"),
        ("--patience 2 --held-out 0", "--patience needs --held-out"),
        ("--parallel fsdp", "--parallel fsdp leaves a part"),
        ("--epochs 0", "--epochs 0 must be positive"),
        ("--eval-every 0", "--eval-every 0 must be positive"),
        ("--held-out 1", "--held-out 1.0 must be at least 0 and below 1"),
    ],
)
def test_options_that_contradict_each_other_are_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        options(text)


def test_a_share_of_old_text_has_a_default_only_with_old_text():
    assert options("--replay x.txt").replay_share == 0.1
    assert options("").replay_share is None
