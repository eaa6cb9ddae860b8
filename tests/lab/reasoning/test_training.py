"""Learning from a verifier: each loss by its definition, and what a step draws."""

import numpy as np
import pytest
import torch

from lab.reasoning.sums import last_number, new_model, numbers_in, questions
from lab.reasoning.training import (
    METHODS,
    Run,
    Training,
    loss_of,
    measured,
    prepared,
    solve,
    with_spread,
    write,
)
from mathlm.align import target_log_probabilities
from mathlm.errors import ConfigError

SMALL = {"samples": 64, "prompts": 2, "group": 4, "minibatches": 1}


def first_digit(question, text):
    """A reward that a new model earns sometimes."""
    return bool(numbers_in(text)) and numbers_in(text)[0] % 2 == 0


@pytest.fixture
def batch():
    sums = questions(3, 5, np.random.default_rng(0))
    return write(new_model(0), sums, 4, 0, first_digit)


def test_rewards_are_those_of_the_verifier(batch):
    assert set(batch["rewards"].tolist()) == {0.0, 1.0}
    again = write(
        new_model(0), questions(3, 5, np.random.default_rng(0)), 4, 0, lambda q, t: True
    )
    assert again["rewards"].eq(1).all()
    assert torch.equal(again["ids"], batch["ids"])


def test_groups_without_spread_are_dropped(batch):
    batch["rewards"] = torch.tensor([1.0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0])
    kept = with_spread(batch, 4)
    assert kept["rewards"].tolist() == [0, 1, 0, 0]
    assert torch.equal(kept["ids"], batch["ids"][4:8])


@pytest.mark.parametrize("method", METHODS)
def test_the_first_gradient_is_that_of_the_definition(method, batch):
    """At the policy that wrote, each ratio is 1 and k₃ has no gradient."""
    run, model = Training(method=method, **SMALL), new_model(0)
    part = prepared(run, model, new_model(0), batch)
    loss_of(run, model, part).backward()
    found = torch.cat([p.grad.flatten() for p in model.parameters()])

    r = batch["rewards"].view(-1, 4)
    centered = r - r.mean(1, keepdim=True)
    spread = (r - r.mean(1, keepdim=True)).square().mean(1, keepdim=True).sqrt()
    A = centered * 4 / 3 if method == "rloo" else centered / (spread + 1e-4)
    other = new_model(0)
    logp, mask = target_log_probabilities(other, batch), batch["targets"] != -100
    each = (logp * mask).sum(1)
    n = mask.sum(1)
    total = {
        "rloo": (A.flatten() * each).mean(),
        "grpo": (A.flatten() * each / n).mean(),
        "dapo": (A.flatten() * each).sum() / n.sum(),
    }[method]
    (-total).backward()
    wanted = torch.cat([p.grad.flatten() for p in other.parameters()])
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_draws_no_more_than_its_samples(method):
    run = Run(new_model(0), Training(method=method, **SMALL), first_digit)
    looks = run.fit(lambda r: r.drawn, 16)
    assert looks[0] == 0
    assert looks[-1] == run.drawn <= 64 + 3 * 8  # dapo may draw four rounds in its last step
    assert run.tokens >= run.drawn
    assert len(run.used) == run.rounds == run.drawn // 8


def test_a_run_trains_a_copy():
    model = new_model(0)
    before = [p.clone() for p in model.parameters()]
    run = Run(model, Training(**SMALL), first_digit)
    run.fit(lambda r: None, 64)
    pairs = zip(before, model.parameters(), run.model.parameters(), strict=True)
    same = [(torch.equal(a, b), torch.equal(a, c)) for a, b, c in pairs]
    assert all(kept for kept, _ in same)
    assert not all(kept for _, kept in same)


def test_training_makes_what_is_rewarded_more_frequent():
    config = Training(lr=3e-3, samples=640, prompts=4, group=8, minibatches=1)
    run = Run(new_model(0), config, first_digit)
    sums = questions(10, 5, np.random.default_rng(1))
    before, after = run.fit(lambda r: measured(r.model, sums, 4, 0, first_digit), 2000)
    assert after["rewarded"] > before["rewarded"] + 0.2


def test_solutions_have_the_log_probability_of_their_text():
    model, sums = new_model(0), questions(2, 3, np.random.default_rng(0))
    texts, logp = solve(model, sums, 3, 0)
    assert [len(row) for row in texts] == [len(row) for row in logp] == [3, 3]
    batch = write(model, sums, 3, 0, last_number)
    wanted = target_log_probabilities(model, batch).sum(1).tolist()
    assert np.concatenate(logp).tolist() == pytest.approx(wanted)


def test_options_are_checked():
    with pytest.raises(ConfigError, match="ppo"):
        Training(method="ppo")
    with pytest.raises(ConfigError, match="groups of 2"):
        Training(group=1)
