"""The grader of a direction: one that writes a token passes, each fault is named."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from lab.features import project_steering
from lab.features.project_steering import Trial, cost, effect, log_odds, random_effects
from mathlm.interpret import Steered
from mathlm.models import GPT, GPTConfig

WORD = 7


@pytest.fixture
def trial():
    """A model whose last stream is read by the rows of the head: its row writes its token."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=32, context=16, d_model=64, n_layers=2, n_heads=2)).eval()
    with torch.no_grad():
        model.head.weight.mul_(10)
    texts = torch.randint(8, 32, (8, 10), generator=torch.Generator().manual_seed(1))
    again = torch.zeros(10, dtype=torch.long)  # the head is tied: a token expects itself
    row = model.head.weight[WORD].detach()
    vector = 0.2 * row / row.norm()
    return Trial(
        model, "blocks.1.resid_post", vector, [WORD], [*texts[:5]], [again + 8, again + 9]
    )


def test_the_row_of_a_token_raises_the_token(trial):
    report = project_steering.grade(trial)
    assert report.passed, report


def test_log_odds_are_those_of_the_probability(trial):
    ids = trial.prompts[0]
    p = trial.model(ids[None])[0, -1].softmax(-1)[[3, WORD]].sum().item()
    expected = torch.tensor(p / (1 - p)).log().item()
    assert log_odds(trial.model, [ids], [3, WORD]) == pytest.approx(expected, abs=1e-4)


def test_random_directions_have_the_length_of_the_vector(trial, monkeypatch):
    seen = []
    monkeypatch.setattr(project_steering, "effect", lambda t, v: seen.append(v) or 0.0)
    random_effects(trial, 3)
    assert [float(v.norm()) for v in seen] == pytest.approx([0.2] * 3, abs=1e-5)


def test_the_cost_is_the_rise_of_the_loss(trial):
    still = replace(trial, vector=torch.zeros_like(trial.vector))
    assert cost(still) == pytest.approx(0, abs=1e-6)
    assert effect(still, still.vector) == pytest.approx(0, abs=1e-6)
    trial = replace(trial, vector=5 * trial.vector)
    (ids,), steered = trial.plain[:1], Steered(trial.model, {trial.tap: trial.vector})
    with torch.no_grad():
        both = [m(ids[None])[0, :-1] for m in (trial.model, steered)]
    before, after = (float(cross_entropy(logits, ids[1:])) for logits in both)
    assert cost(replace(trial, plain=[ids])) == pytest.approx(after - before, abs=1e-5)
    assert abs(after - before) > 1e-3


FAULTS = {
    "become less likely": lambda t: replace(t, vector=-t.vector),
    "random directions": lambda t: replace(t, words=range(1, 32, 2)),
    "nats per token more": lambda t: replace(t, vector=1e3 * t.vector),
    "3 prompts": lambda t: replace(t, prompts=t.prompts[:3]),
    "1 plain texts": lambda t: replace(t, plain=t.plain[:1]),
    "not zero": lambda t: replace(t, vector=0 * t.vector),
    "NaN or infinity": lambda t: replace(t, vector=t.vector * torch.inf),
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_is_named(trial, sentence):
    report = project_steering.grade(FAULTS[sentence](trial))
    assert not report.passed
    assert any(sentence in fault for fault in report.faults), report
