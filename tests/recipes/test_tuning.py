"""What the tuning commands share: their options, as configurations and as words."""

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest

from mathlm.errors import ConfigError
from mathlm.recipes import dpo, grpo, ppo, reward, sft, tuning
from mathlm.recipes.command import parse
from mathlm.recipes.options import Machine, Optimization, Output
from mathlm.train.record import describe


def options(text):
    return parse(sft.SFTConfig, f"--data my.jsonl {text}".split())


def test_a_rank_alone_is_enough():
    config = options("--lora-rank 4")
    own = config.adaptation.options
    assert config.adaptation.method == "lora"
    assert (own["lora_rank"], own["lora_targets"]) == (4, ("all-linear",))
    assert config.folder == Path("runs/my-smollm2-lora")


def test_a_step_size_falls_with_the_width():
    """Halved for twice the width, and 10⁻³ for updates of low rank at 576."""
    assert tuning.step_size("lora", 576) == 1e-3
    assert tuning.step_size("full", 256) == 2 * tuning.step_size("full", 512)


def test_a_method_has_its_own_options_only():
    assert options("--method prefix --length 3").adaptation.options == {"length": 3}


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
    assert options("--replay x.txt").filled["replay_share"] == 0.1
    assert options("").filled["replay_share"] is None


def test_words_and_python_give_the_same_configuration():
    words = "--method full --steps 3 --lr 0.1 --out x --device cpu"
    assert options(words) == sft.SFTConfig(
        data="my.jsonl",
        adaptation=tuning.Adaptation(method="full"),
        passes=tuning.Passes(steps=3),
        optimization=Optimization(lr=0.1),
        output=Output(out=Path("x")),
        machine=Machine(device="cpu"),
    )


@pytest.mark.parametrize(("make", "message"), [
    (lambda: tuning.Adaptation(method="bitfit"), "method='bitfit' is not one of 'full'"),
    (lambda: dpo.Loss(loss="slic"), "loss='slic' is not one of 'dpo'"),
    (lambda: grpo.GRPOConfig(prompts="a", reward="b", loss="ppo"), "loss='ppo' is not one"),
])  # fmt: skip
def test_python_gets_the_checks_of_the_command_line(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_an_option_given_as_its_default_changes_no_run():
    plain, given = options(""), options("--lora-rank 16 --lora-targets all-linear")
    assert plain != given
    assert describe(plain.identity) == describe(given.identity)
    assert describe(plain.identity) != describe(options("--lora-rank 8").identity)


@pytest.mark.parametrize("command", [sft, dpo, reward, ppo, grpo])
def test_help_has_groups_units_defaults_and_an_example(command, capsys):
    with pytest.raises(SystemExit) as end:
        command.main(["--help"])
    text = capsys.readouterr().out
    joined = " ".join(text.replace("│", " ").split())  # wherever a line was broken
    assert end.value.code == 0
    assert f"    mathlm {command.__name__.rsplit('.', 1)[1]} --" in text
    for part in ("adaptation options", "machine options", "[tokens]", "(default: lora)"):
        assert part in joined


@pytest.mark.parametrize("command", [sft, dpo, reward, ppo, grpo])
def test_no_two_groups_have_an_option_of_one_name(command):
    """Flags have no prefix; the record of a run lists options by name."""
    kind = next(k for k in vars(command).values() if is_own_config(k, command))
    names = [name for group in groups(kind) for name in group]
    assert len(set(names)) == len(names)


def is_own_config(kind, command):
    return isinstance(kind, type) and kind.__name__ == f"{name_of(command)}Config"


def name_of(command):
    name = command.__name__.rsplit(".", 1)[1]
    return "Reward" if name == "reward" else name.upper()


def groups(kind):
    """Names of the options of a configuration, by group."""
    hints, own = get_type_hints(kind), []
    for field in fields(kind):
        if is_dataclass(hints[field.name]):
            yield from groups(hints[field.name])
        else:
            own.append(field.name)
    yield own


def test_a_log_without_its_package_is_refused_before_a_model_is_loaded(monkeypatch):
    config = sft.SFTConfig(data="x", output=Output(out=Path("x"), log=("tensorboard",)))
    monkeypatch.setattr("mathlm.train.loggers.find_spec", lambda name: None)
    monkeypatch.setattr(
        tuning.chat_folder, "load_whole", lambda *_, **__: pytest.fail("loaded")
    )
    with pytest.raises(ConfigError, match="pip install tensorboard"):
        tuning.prepare(config)
