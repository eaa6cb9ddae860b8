"""Ends and estimators in the listed world, by exact sums and by another optimizer."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from lab.distillation import exact_students as e


@pytest.fixture
def p():
    return e.teacher_table(0)


def gradient(objective, z):
    z = z.clone().requires_grad_(True)
    return torch.autograd.grad(objective(z), z)[0]


def test_sequences_and_prefixes_have_probabilities(p):
    assert float(e.of_sequences(p).exp().sum()) == pytest.approx(1)
    assert float(e.reached(p).sum()) == pytest.approx(e.LENGTH)  # one prefix for each token


def test_divergences_by_prefix_are_those_of_sequences(p):
    z = torch.randn(5, 4)
    log_p, log_q = e.of_sequences(p), e.of_sequences(e.student_table(z))
    forward = float((log_p.exp() * (log_p - log_q)).sum())
    reverse = float((log_q.exp() * (log_q - log_p)).sum())
    assert float(e.forward_kl(p)(z)) == pytest.approx(forward)
    assert float(e.reverse_kl(p)(z)) == pytest.approx(reverse)


def test_the_forward_kl_ends_at_matched_pairs_by_another_optimizer(p):
    def loss(flat):
        z = torch.from_numpy(flat).view(5, 4)
        return float(e.forward_kl(p)(z)), gradient(e.forward_kl(p), z).flatten().numpy()

    options = {"gtol": 1e-10, "ftol": 1e-15}
    found = minimize(loss, np.zeros(20), jac=True, method="L-BFGS-B", options=options)
    matched = e.matched(p, e.of_sequences(p).exp())
    assert float(e.forward_kl(p)(matched)) == pytest.approx(found.fun, abs=1e-9)
    assert float(gradient(e.forward_kl(p), matched).abs().max()) < 1e-12


def recorded(teacher):
    record = Path(__file__).parents[3] / "book/results/distillation-ends.json"
    found = json.loads(record.read_text(encoding="utf-8"))["logits"][str(teacher)]
    return {way: torch.tensor(z) for way, z in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("teacher", [0, 1, 2])
def test_no_other_optimizer_finds_a_lower_reverse_kl_than_the_recorded_one(teacher):
    """From starts of its own, the recorded end being none of them."""
    objective = e.reverse_kl(e.teacher_table(teacher))
    draws = np.random.default_rng(1)

    def loss(flat):
        z = torch.from_numpy(flat).view(5, 4)
        return float(objective(z)), gradient(objective, z).flatten().numpy()

    starts = 1.5 * draws.standard_normal((30, 20))
    lowest = min(minimize(loss, x, jac=True, method="BFGS").fun for x in starts)
    kept = float(objective(recorded(teacher)["reverse KL"]))
    assert lowest == pytest.approx(kept, abs=1e-3)


@pytest.mark.parametrize("forward", [True, False])
def test_own_samples_end_at_one_place_from_every_start(forward):
    objective = e.on_own(e.teacher_table(1), forward=forward)
    end = recorded(1)["own samples, forward" if forward else "own samples, reverse"]
    for start in 0.5 * torch.randn(3, 5, 4):
        found = e.student_table(e.settle(objective, start))
        torch.testing.assert_close(found, e.student_table(end), rtol=0, atol=1e-6)


def test_a_start_that_drops_a_token_does_not_count_as_an_end(p, monkeypatch):
    start = torch.zeros(5, 4)
    start[0, 0] = -40.0
    monkeypatch.setattr(e, "settle", lambda objective, z: z)
    monkeypatch.setattr(e, "random_starts", lambda n: torch.stack([start, torch.zeros(5, 4)]))
    assert e.common_end(e.on_own(p), 2)[1] == 1


def test_estimates_of_a_gradient_are_unbiased_but_for_the_last(p):
    z = torch.randn(5, 4)
    truth = gradient(e.forward_kl(p), z)
    for estimate in e.forward_estimates(z, p).values():
        torch.testing.assert_close(e.mean_and_variance(estimate, p)[0], truth)
    truth, q = gradient(e.reverse_kl(p), z), e.student_table(z)
    *unbiased, steps = e.reverse_estimates(z, p).values()
    for estimate in unbiased:
        torch.testing.assert_close(e.mean_and_variance(estimate, q)[0], truth)
    alone = gradient(e.on_own(p), z)
    torch.testing.assert_close(e.mean_and_variance(steps, q)[0], alone)
    assert float((alone - truth).abs().max()) > 0.01


def test_the_usual_gradient_on_own_samples_is_that_of_no_function(p):
    """The Jacobian of a gradient is symmetric."""
    z = torch.randn(5, 4)

    def asymmetry(objective):
        steps = 1e-5 * torch.eye(20).view(20, 5, 4)
        rows = [gradient(objective, z + h) - gradient(objective, z - h) for h in steps]
        jacobian = torch.stack(rows).flatten(1) / 2e-5
        return float((jacobian - jacobian.T).abs().max())

    assert asymmetry(e.reverse_kl(p)) < 1e-6
    assert asymmetry(e.on_own(p)) > 0.01


def test_logits_have_less_variance_than_tokens(p):
    found = e.forward_estimates(torch.randn(5, 4), p)
    tokens, logits = (e.mean_and_variance(x, p)[1] for x in found.values())
    assert logits < tokens


def test_the_greedy_sequence_takes_the_likeliest_token_each_time(p):
    word, node = e.words()[e.greedy_sequence(p)], 0
    for letter in word:
        assert e.LETTERS[int(p[node].argmax())] == letter
        node = int(e.tree().next[node, e.LETTERS.index(letter)])


def test_a_student_that_can_ends_at_the_teacher():
    """A teacher of order one is matched exactly, whatever the way."""
    z = torch.randn(5, 4)
    p = e.student_table(z)
    torch.testing.assert_close(e.student_table(e.matched(p, e.of_sequences(p).exp())), p)
    for objective in (e.forward_kl(p), e.reverse_kl(p), e.on_own(p), e.on_own(p, forward=True)):
        assert float(gradient(objective, z).abs().max()) < 1e-12


def test_the_recorded_ends_are_where_gradients_vanish():
    kept, p = recorded(1), e.teacher_table(1)
    objectives = {
        "logits or samples": e.forward_kl(p),
        "own samples, forward": e.on_own(p, forward=True),
        "own samples, reverse": e.on_own(p),
        "reverse KL": e.reverse_kl(p),
    }
    for way, objective in objectives.items():
        assert float(gradient(objective, kept[way]).abs().max()) < 1e-8


def test_what_is_measured_of_the_teacher_itself(p):
    found = e.measured(p, p)
    assert found["forward"] == found["reverse"] == 0
    assert found["q"] == found["p"]
    assert 0 < found["entropy"] < math.log(256)
