"""Weights of ratios, and steps on one batch, against listings in plain NumPy."""

import itertools
import json
import math

import numpy as np
import pytest
import torch
from sources import ROOT

from lab.estimators import ratios, stale_study

RHO = np.array([0.1, 0.5, 0.9, 1.0, 1.1, 1.25, 2.0, 4.9, 6.0, 20.0])
WEIGHTS = {
    "no ratio": lambda x, A: 1 + 0 * x,
    "ratio, not clipped": lambda x, A: x,
    "PPO": lambda x, A: x * ((x < 1.2) if A > 0 else (x > 0.8)),
    "DAPO": lambda x, A: x * ((x < 1.28) if A > 0 else (x > 0.8)),
    "CISPO": lambda x, A: np.minimum(x, 5),
    "SAPO": lambda x, A: x / np.cosh((1.0 if A > 0 else 1.05) * (x - 1) / 2) ** 2,
}


@pytest.mark.parametrize("A", [2.0, -0.5])
@pytest.mark.parametrize("name", WEIGHTS)
def test_the_weight_of_a_ratio_is_the_published_one(name, A):
    found = ratios.ratio_weight(ratios.LOSSES[name], torch.tensor(RHO), A)
    np.testing.assert_allclose(found, WEIGHTS[name](RHO, A), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", WEIGHTS)
def test_one_answer_has_the_moments_of_its_three_cases(name):
    old, now, A = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5]), [-0.12, 0.08, 0.48]
    each = [
        a * float(WEIGHTS[name](n / o, a)) * (np.eye(3)[y] - now)
        for y, (o, n, a) in enumerate(zip(old, now, A, strict=True))
    ]
    mean = sum(o * g for o, g in zip(old, each, strict=True))
    variance = sum(o * (g - mean) ** 2 for o, g in zip(old, each, strict=True))
    logp, logp_old = torch.tensor(now).log(), torch.tensor(old).log()
    found = ratios.one_sample(ratios.LOSSES[name], logp, logp_old, torch.tensor(A))
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    np.testing.assert_allclose(found.variance, variance, atol=1e-12)


def ascent(name, old, called, N, steps, rate):
    """Mean reward after so many steps, over all groups with verdicts, one group at a time."""
    total = 0.0
    outcomes = list(itertools.product(range(len(old)), (0, 1)))
    for group in itertools.product(outcomes, repeat=N):
        y, r = (np.array(x) for x in zip(*group, strict=True))
        chance = np.prod(old[y] * np.where(r, called[y], 1 - called[y]))
        A = N / (N - 1) * (r - r.mean())
        z = np.log(old)
        for _ in range(steps):
            pi = np.exp(z) / np.exp(z).sum()
            g = [
                a * float(WEIGHTS[name](pi[i] / old[i], a)) * (np.eye(len(old))[i] - pi)
                for i, a in zip(y, A, strict=True)
            ]
            z = z + rate * sum(g) / N
        total += chance * (np.exp(z) / np.exp(z).sum()) @ called
    return total


@pytest.mark.parametrize("name", WEIGHTS)
def test_steps_on_one_batch_are_those_of_a_listing_in_numpy(name):
    old, called = np.array([0.7, 0.3]), np.array([0.2, 0.8])
    judged = ratios.Judged(torch.tensor(old).log(), torch.tensor(called))
    found, ratio = judged.after_steps(ratios.LOSSES[name], 5, 0.7, samples=3)
    for steps in (0, 1, 5):
        expected = ascent(name, old, called, 3, steps, 0.7)
        assert math.isclose(found[steps], expected, rel_tol=1e-10)
    assert math.isclose(ratio[0], 1, rel_tol=1e-12)
    assert ratio[5] > 1.01


def test_all_groups_and_verdicts_have_the_chance_1():
    answer, reward, chance = stale_study.judged_world().groups(4)
    assert answer.shape == reward.shape == (6**4, 4)
    assert math.isclose(chance.sum(), 1, rel_tol=1e-12)


RECORD = json.loads((ROOT / "book/results/estimators-stale.json").read_text(encoding="utf8"))


def test_the_record_has_every_case_with_three_seeds():
    cases = {(r["loss"], r["steps"], r["rate"], r["seed"]) for r in RECORD["results"]}
    expected = itertools.product(ratios.LOSSES, stale_study.STEPS, stale_study.RATES, range(3))
    assert cases == set(expected)
    assert len(RECORD["results"]) == len(cases)


@pytest.mark.parametrize(("name", "steps"), [("CISPO", 8), ("PPO", 8), ("no ratio", 32)])
def test_the_record_is_met_by_runs_in_numpy(name, steps):
    """200 runs with other random numbers: within 4 standard errors of the recorded share."""
    draws, (old, called) = np.random.default_rng(7), map(np.array, JUDGED)
    z, rate, runs = np.log(np.tile(old, (200, 1))), 2.0, 200
    for _ in range(stale_study.BATCHES):
        before = np.exp(z) / np.exp(z).sum(1, keepdims=True)
        y = np.array([draws.choice(3, 4, p=row / row.sum()) for row in before])
        r = draws.random((runs, 4)) < called[y]
        A = 4 / 3 * (r - r.mean(1, keepdims=True))
        for _ in range(steps):
            pi = np.exp(z) / np.exp(z).sum(1, keepdims=True)
            ratio = np.take_along_axis(pi / before, y, 1)
            up, down = WEIGHTS[name](ratio, 1.0), WEIGHTS[name](ratio, -1.0)
            pull = A * np.where(A > 0, up, down)
            z = z + rate / 4 * (np.eye(3)[y] * pull[..., None]).sum(1)
            z = z - rate / 4 * pull.sum(1, keepdims=True) * pi
    share = (z.argmax(1) == 2).mean()
    rows = [
        r
        for r in RECORD["results"]
        if (r["loss"], r["steps"], r["rate"]) == (name, steps, rate)
    ]
    recorded = np.mean([r["prefers_best"] for r in rows])
    error = math.sqrt(recorded * (1 - recorded) * (1 / runs + 1 / 1500))
    assert abs(share - recorded) < 4 * error


JUDGED = (stale_study.CHANCES, stale_study.VERDICTS)


def test_the_command_writes_what_it_returns(tmp_path):
    record = tmp_path / "record.json"
    sizes = ["--seeds", "1", "--chains", "2", "--batches", "1"]
    found = stale_study.main([*sizes, "--record", str(record)])
    assert json.loads(record.read_text())["results"] == found
    assert len(found) == len(ratios.LOSSES) * len(stale_study.STEPS) * len(stale_study.RATES)
