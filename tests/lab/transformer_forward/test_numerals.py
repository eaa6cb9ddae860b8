import numpy as np
import pytest
import torch

from lab.transformer_forward.numerals import NumeralsConfig, NumeralsRun, fit, train
from mathlm.errors import ConfigError
from mathlm.text import Words, numerals


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


TINY = {"high": 300, "held_out": 30, "d_model": 16, "steps": 4, "batch": 8, "evaluations": 2}


@pytest.mark.slow
def test_numbers_never_seen_are_translated():
    """The promise of chapter 15, at a size that a test can afford."""
    run = train(NumeralsConfig(high=1000, held_out=100, steps=120, evaluations=1))
    assert run.points == [(120, pytest.approx(run.right(run.held_out).mean()))]
    assert run.points[0][1] > 0.8
    assert run.losses[0] > 2 > 0.2 > run.losses[-1]
    assert run.right(run.held_out[::5], beams=3).mean() > 0.7


def test_no_number_held_out_is_in_a_batch(monkeypatch):
    seen, batch = set(), NumeralsRun.batch
    monkeypatch.setattr(NumeralsRun, "say", lambda run, numbers, beams=1: [""] * len(numbers))
    monkeypatch.setattr(
        NumeralsRun, "batch", lambda run, ns: seen.update(map(int, ns)) or batch(run, ns)
    )
    run = train(NumeralsConfig(**TINY | {"steps": 30, "evaluations": 1}))
    held_out = set(run.held_out.tolist())
    examined = seen & held_out
    assert examined == held_out  # by the examination, which asks for the right texts
    seen.clear()
    monkeypatch.setattr(NumeralsRun, "right", lambda run, numbers, beams=1: np.zeros(1))
    run.losses.clear()
    fit(run)
    assert len(seen) > 100
    assert not seen & held_out


def test_padding_is_neither_read_nor_counted():
    """The loss of two numerals of unlike length is the mean over the words of both alone."""
    run = NumeralsRun(NumeralsConfig(**TINY), [np.array([5, 277])], np.array([3]))
    logp = 0.0
    for n in (5, 277):
        source, target = run.batch([n])
        steps = run.model(source, target[:, :-1]).log_softmax(-1)[0]
        logp += steps.gather(1, target[0, 1:, None]).sum().item()
    words = sum(len(Words.split(fr)) + 1 for _, fr in numerals.pairs([5, 277]))
    run.config = NumeralsConfig(**TINY | {"steps": 1, "evaluations": 1})
    run.pools = [np.array([5]), np.array([277])]
    assert fit(run).losses == [pytest.approx(-logp / words, rel=1e-5)]


def test_a_run_is_a_function_of_its_configuration():
    first, again, other = (train(NumeralsConfig(**TINY, seed=seed)) for seed in (1, 1, 2))
    assert first.losses == again.losses
    assert first.losses != other.losses
    assert [step for step, _ in first.points] == [2, 4]


def test_right_means_every_word():
    run = NumeralsRun(NumeralsConfig(**TINY), [np.array([22, 80])], np.array([3]))
    run.say = lambda numbers, beams: ["vingt deux", "quatre vingt"]
    assert run.right([22, 80]).tolist() == [True, False]


def test_characters_are_translated_too():
    run = train(NumeralsConfig(**TINY, unit="characters", context=48))
    assert run.source.decode(run.batch([121])[0][0]) == "one hundred and twenty-one"
    assert isinstance(run.say([121])[0], str)


@pytest.mark.parametrize(
    "options", [{"unit": "bytes"}, {"evaluations": 0}, {"steps": 2}, {"batch": 0}]
)
def test_runs_that_make_no_sense_are_refused(options):
    with pytest.raises(ConfigError, match="need a unit, 1 <= evaluations <= steps, batch >= 1"):
        NumeralsConfig(**options)
