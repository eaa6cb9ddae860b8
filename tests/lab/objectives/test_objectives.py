"""The study of objectives, in runs of a second."""

import numpy as np
import pytest
import torch

from lab.objectives import (
    frozen_states,
    hidden_fates,
    objective_bodies,
    objective_probes,
    objectives,
    objectives_study,
    play_lines,
)
from lab.objectives.frozen_states import states
from lab.objectives.objective_bodies import BothWays, ObjectiveConfig, both_ways, build
from mathlm.errors import ConfigError, InputTypeError
from mathlm.models import GPT, Transformer

BODIES = {
    "causal": GPT,
    "prefix": GPT,
    "masked": BothWays,
    "masked + pairs": BothWays,
    "span": Transformer,
}
EVERY = pytest.mark.parametrize("kind", BODIES)
REAL = play_lines.plays
TINY = {"steps": 2, "batch": 4, "width": 16, "context": 32}


@pytest.fixture(autouse=True)
def single_precision(unchecked):
    torch.set_default_dtype(torch.float32)


@pytest.fixture(autouse=True, scope="module")
def a_few_pages():
    """A thousand lines of three plays and of two held out, so that nothing takes long."""
    cached = [play_lines.cased, play_lines.ids]
    cached += [play_lines.sentences, play_lines.word_ends]
    patch = pytest.MonkeyPatch()
    for f in cached:
        f.cache_clear()
    few = {"training": 3, "held out": 2}
    patch.setattr(play_lines, "plays", lambda part: [p[:1500] for p in REAL(part)[: few[part]]])
    yield
    patch.undo()
    for f in cached:
        f.cache_clear()


# The text


def test_the_text_is_what_is_said_in_symbols():
    play = "HAMLET:\nTo be, or not – to be:\nthat “is” the Question.\n\nKING HENRY:\nAy;\n"
    told = ["To be, or not  to be:", "that is the Question.", "Ay;"]
    assert play_lines.spoken(play) == told
    ids = play_lines.encode(told[1])
    assert play_lines.decode(ids) == "that is the question."
    assert play_lines.decode(np.array([play_lines.MASK, 2])) == "_a"


def test_no_play_is_in_both_parts():
    training, held_out = (REAL(part) for part in ("training", "held out"))
    assert (len(training), len(held_out)) == (35, 3)
    assert not {text[0] for text in training} & {text[0] for text in held_out}
    assert play_lines.ids("held out").max() < min(play_lines.MARKS)


def test_words_with_a_capital_are_told_apart_where_it_says_something(monkeypatch):
    """Not the first of a line or sentence, nor "I"; the end of each word is its last letter."""
    text = "The sun, Good Tom: I will. Now go\nTo York, o Man"
    monkeypatch.setattr(play_lines, "cased", lambda part: text)
    ends, names = play_lines.word_ends.__wrapped__("held out")
    found = {text[: end + 1].split()[-1]: name for end, name in zip(ends, names, strict=True)}
    expected = {
        "sun": False,
        "Tom": True,
        "will": False,
        "go": False,
        "York": True,
        "Man": True,
    }
    assert {word: bool(name) for word, name in found.items()} == expected | {"Good": True}


def test_half_of_the_words_asked_about_are_names():
    places, capital = play_lines.balanced("held out", 40, np.random.default_rng(0))
    letters = [play_lines.cased("held out")[: p + 1].split()[-1][0].isupper() for p in places]
    assert letters == capital.tolist()
    assert capital.sum() == 20


# The models


@EVERY
def test_each_objective_has_its_body(kind):
    model = build(ObjectiveConfig(kind=kind, width=16))
    assert type(model) is BODIES[kind]
    blocks = [p for n, p in model.named_parameters() if p.ndim == 2 and "W_" in n]
    assert sum(p.numel() for p in blocks) == (28 if kind == "span" else 24) * 16**2


@pytest.mark.parametrize(
    ("kind", "sees"), [("causal", False), ("masked", True), ("span", True)]
)
def test_states_know_what_follows_only_where_the_objective_lets_them(kind, sees):
    model = build(ObjectiveConfig(kind=kind, width=16)).eval()
    text = objective_probes.excerpts("held out", 2, 12)
    other = text.clone()
    other[:, -1] = (other[:, -1] + 1) % 9
    change = (states(model, kind, text) - states(model, kind, other))[:, 3].abs().max()
    assert (change.item() > 1e-5) == sees


@EVERY
def test_a_model_fills_a_hole_with_what_its_objective_lets_it_see(kind):
    model = build(ObjectiveConfig(kind=kind, width=16)).eval()
    text = objective_probes.excerpts("held out", 3, 21)
    left, right = text[:, :10], text[:, 11:]
    logits = objective_probes.fill(model, kind, left, right)
    other = objective_probes.fill(model, kind, left, (right + 1) % 9)
    assert logits.shape == (3, play_lines.VOCABULARY)
    assert torch.allclose(logits, other, atol=1e-6) == (kind in ("causal", "prefix"))


def test_a_model_of_another_kind_is_refused():
    with pytest.raises(InputTypeError, match="no objective here trains a Linear"):
        objective_bodies.both_ways(torch.nn.Linear(1, 1))


# The questions


def test_a_linear_probe_finds_what_is_linear_and_nothing_else():
    x, new = torch.randn(400, 5), torch.randn(400, 5)
    found = frozen_states.linear_probe(x, x[:, 0] > 0, new, new[:, 0] > 0)
    nothing = frozen_states.linear_probe(x, x[:, 0] > 0, new, torch.rand(400) > 0.5)
    assert found > 0.95
    assert 0.35 < nothing < 0.65


def test_the_three_fates_differ_in_the_middle_alone():
    text = objective_probes.excerpts("held out", 500, 63)
    for fate, same in (("hidden", False), ("replaced", False), ("left alone", True)):
        ids = hidden_fates.treated(text, fate)
        changed = (ids != text).nonzero()
        assert len(changed) == (0 if same else 500)
        assert set(changed[:, 1].tolist()) <= {31}
    assert hidden_fates.treated(text, "replaced").max() < len(play_lines.SYMBOLS)


# The runs


def test_a_causal_model_leaves_the_frequencies_of_symbols_behind():
    """Guessing evenly costs log2 48 = 5.6 bits, the frequencies alone 4.2."""
    how = {"steps": 40, "batch": 16, "width": 32, "context": 32}
    run = objectives.train(ObjectiveConfig(kind="causal", **how))
    assert run.answers["next symbol [bits]"] < 4.15
    assert run.targets == 40 * 16 * 32
    assert not run.model.training


def test_a_run_is_a_function_of_its_seed():
    how = TINY | {"kind": "masked"}
    runs = [objectives.train(ObjectiveConfig(**how, seed=s)).loss for s in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


def test_targets_are_what_each_objective_asks_for():
    """2 steps of 4 windows of 32: 15 % of each is 5 symbols, in 2 spans with 3 marks."""
    counts = {k: objectives.train(ObjectiveConfig(kind=k, **TINY)).targets for k in BODIES}
    assert counts["causal"] == 2 * 4 * 32
    assert counts["masked"] == 2 * 4 * 5
    assert counts["span"] == 2 * 4 * (5 + 3)
    assert 0 < counts["prefix"] < counts["causal"]
    assert 0 < counts["masked + pairs"] <= counts["masked"]


def test_the_study_writes_a_row_for_each_run_and_keeps_those_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr(objectives_study, "SHARES", ((0, 0, 1),))
    path, small = tmp_path / "r.json", ["--steps", "1", "--batch", "2", "--count", "20"]
    small += ["--record", str(path), "--seeds"]
    first = objectives_study.main(["masking", *small, "1"])
    assert "hidden [bits]" in first[0]["fates"]
    rows = objectives_study.main(["masking", *small, "2"])
    asked = [(r["config"]["kind"], r["config"]["shares"], r["config"]["seed"]) for r in rows]
    assert asked == [("masked", [0, 0, 1], 0), ("masked", [0, 0, 1], 1)]
    assert rows[0] == objectives_study.kept(path)[0][0]
    assert rows[0]["cpu_seconds"] == first[0]["cpu_seconds"]  # not run again


def test_each_objective_goes_on_at_its_own_best_step_size():
    """Seed 0 ends with losses 3, 1, 2 at the three step sizes of causal, and so on."""
    ends = {"causal": (3, 1, 2), "prefix": (1, 2, 3), "masked": (3, 2, 1)}
    rows = [
        {"config": {"kind": k, "seed": 0, "lr": lr, "steps": 300}, "loss": [9.0] * 9 + [end]}
        for k, losses in ends.items()
        for lr, end in zip(objectives_study.GRID, losses, strict=True)
    ]
    configs = list(objectives_study.configs("tuned", ObjectiveConfig(steps=300), 2, rows))
    assert [(c.kind, c.lr) for c in configs[9:]] == [
        ("causal", 1e-2),
        ("prefix", 3e-3),
        ("masked", 3e-2),
    ]


def test_the_record_has_every_objective_and_every_seed():
    base = ObjectiveConfig()
    runs = list(objectives_study.configs("kinds", base, 2, []))
    assert [(c.kind, c.seed) for c in runs] == [(k, s) for s in (0, 1) for k in BODIES]
    span = objectives_study.configs("span", base, 2, [])
    assert [c.kind for c in span] == ["span", "span"]
    masking = list(objectives_study.configs("masking", base, 2, []))
    assert [c.shares for c in masking] == list(objectives_study.SHARES) * 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "rnn"}, "kind='rnn' is not one of causal, prefix, masked"),
        ({"blocks": 3}, "blocks must be even"),
        ({"steps": 0}, "steps at least 1"),
    ],
)
def test_runs_that_make_no_sense_are_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        ObjectiveConfig(**options)


def test_a_model_that_knows_nothing_is_asked_everything():
    answers = objective_probes.examine(build(ObjectiveConfig(kind="masked")), "masked")
    assert all(np.isfinite(value) for value in answers.values())


@pytest.mark.slow
def test_states_and_fates_of_a_model_are_asked_about():
    config = ObjectiveConfig(kind="masked", steps=1)
    told = hidden_fates.fates(both_ways(objectives.train(config).model), 200)
    assert "hidden [bits]" in told
    found = frozen_states.probe(build(config), "masked", 200)
    assert set(found) >= {"capital [right]", "order [right]"}
