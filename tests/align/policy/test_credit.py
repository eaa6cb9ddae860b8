"""From rewards of texts to advantages, by hand."""

import math

import pytest
import torch

from mathlm.align import (
    GroupCredit,
    TokenCredit,
    batch_mean,
    centred_advantages,
    group_advantages,
    no_baseline,
)
from mathlm.errors import ConfigError, InputError


def rollouts(rewards=(1.0, 3.0), finished=(True, True), values=False):
    """Two texts of two tokens and one behind a prompt of one; log-ratios 0.1, 0.2 and 0.3."""
    targets = torch.tensor([[1, 2, -100], [3, -100, -100]])
    logp = torch.tensor([[-1.0, -1.0, 0.0], [-1.0, 0.0, 0.0]])
    ratio = torch.tensor([[0.1, 0.2, 0.0], [0.3, 0.0, 0.0]])
    batch = {
        "ids": torch.tensor([[0, 1, 2], [0, 3, 0]]),
        "targets": targets,
        "logp_old": logp,
        "logp_ref": logp - ratio,
        "rewards": torch.tensor(rewards),
        "finished": torch.tensor(finished),
    }
    return batch | (
        {"values": torch.tensor([[0.5, 1.0, 2.0], [4.0, 5.0, 6.0]])} if values else {}
    )


def close(found, expected):
    torch.testing.assert_close(found, torch.tensor(expected), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("baseline", "expected"), [
    (no_baseline, [1.0, 3.0]), (centred_advantages, [-1.0, 1.0]), (batch_mean, [-2.0, 2.0]),
    (group_advantages, [-1 / 1.0001, 1 / 1.0001]),
])  # fmt: skip
def test_baselines_of_a_group_of_two(baseline, expected):
    close(GroupCredit(baseline=baseline)(rollouts(), 2)["advantages"], expected)


def test_the_mean_of_a_batch_is_that_of_the_others_whatever_their_prompt():
    """Rewards 1, 3, 5 and 7 in two groups: less the means 5, 13/3, 11/3 and 3 of the others."""
    found = batch_mean(torch.tensor([[1.0, 3.0], [5.0, 7.0]]))
    close(found, [[-4, 3 - 13 / 3], [5 - 11 / 3, 4]])


def test_the_price_of_a_text_is_its_sum_of_log_ratios():
    """β = 2: rewards 1 - 0.6 and 3 - 0.6."""
    credit = GroupCredit(baseline=no_baseline, beta=2)
    close(credit(rollouts(), 2)["advantages"], [0.4, 2.4])


def test_tokens_pay_at_once_and_are_paid_at_the_end():
    """β = 1, no values, λ = 1: what comes from each token on."""
    found = TokenCredit(beta=1, lam=1.0)(rollouts(), 1)
    close(found["advantages"], [[0.7, 0.8, 0.0], [2.7, 0.0, 0.0]])
    assert "returns" not in found


def test_values_are_taken_off_and_returns_keep_them():
    found = TokenCredit(lam=1.0)(rollouts(values=True), 1)
    close(found["advantages"], [[0.5, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    close(found["returns"], [[1.0, 1.0, 0.0], [3.0, 0.0, 0.0]])


def test_a_text_that_was_cut_bootstraps_and_one_that_ended_does_not():
    """The first was cut behind its second token, where the value is 2: it stands for 1."""
    batch = rollouts(finished=(False, True), values=True)
    found = TokenCredit(lam=1.0, cut="bootstrap")(batch, 1)
    close(found["returns"], [[2.0, 2.0, 0.0], [3.0, 0.0, 0.0]])
    close(TokenCredit(lam=1.0)(batch, 1)["returns"], [[1.0, 1.0, 0.0], [3.0, 0.0, 0.0]])


def test_a_text_that_ended_at_the_last_position_needs_nothing_behind_it():
    batch = {k: v[:, :2] if v.ndim == 2 else v for k, v in rollouts(values=True).items()}
    found = TokenCredit(lam=1.0, cut="bootstrap")(batch, 1)
    close(found["returns"], [[1.0, 1.0], [3.0, 0.0]])


def test_without_a_reference_and_a_price_tokens_are_paid_at_the_end():
    batch = {name: x for name, x in rollouts().items() if name != "logp_ref"}
    close(TokenCredit(lam=1.0)(batch, 1)["advantages"], [[1.0, 1.0, 0.0], [3.0, 0.0, 0.0]])


@pytest.mark.parametrize("credit", [GroupCredit(), GroupCredit(beta=0.1), TokenCredit()])
def test_advantages_are_as_precise_as_the_log_probabilities(credit):
    """Rewards and values have 64 bits."""
    batch = rollouts(values=True)
    batch |= {name: batch[name].float() for name in ("logp_old", "logp_ref")}
    assert {x.dtype for x in credit(batch, 2).values()} == {torch.float32}


@pytest.mark.parametrize(("make", "options"), [
    (GroupCredit, {"baseline": no_baseline}), (TokenCredit, {"lam": 1.0})
], ids=["group", "token"])  # fmt: skip
def test_a_text_that_was_cut_may_have_a_reward_of_its_own(make, options):
    credit = make(**options, cut=-1)
    found = credit(rollouts(finished=(False, True)), 1)["advantages"]
    assert found.flatten()[0] == -1
    assert 3.0 in found.flatten().tolist()


def test_whitened_advantages_have_mean_0_and_spread_1_over_the_tokens():
    """Advantages 0.5, 0 and -1: mean -1/6; the returns stay."""
    found = TokenCredit(lam=1.0, whiten=True)(rollouts(values=True), 1)
    spread = math.sqrt((0.25 + 1) / 3 - 1 / 36)
    first = (0.5 + 1 / 6) / (spread + 1e-4)
    assert found["advantages"][0, 0].item() == pytest.approx(first, abs=1e-12)
    close(found["returns"], [[1.0, 1.0, 0.0], [3.0, 0.0, 0.0]])


@pytest.mark.parametrize(("make", "error", "says"), [
    (lambda: GroupCredit(cut="bootstrap"), ConfigError, "cut='bootstrap' is neither"),
    (lambda: TokenCredit(cut=float("nan")), ConfigError, "cut=nan is neither"),
    (lambda: GroupCredit(beta=-1), InputError, "beta=-1 must be at least 0"),
    (lambda: TokenCredit(lam=1.5), InputError, "lam=1.5 is outside 0..1"),
    (lambda: TokenCredit(gamma=-0.5), InputError, "gamma=-0.5 is outside 0..1"),
    (lambda: TokenCredit(cut="bootstrap")(rollouts(), 1), ConfigError, "asks a value model"),
], ids=range(6))  # fmt: skip
def test_what_makes_no_sense_is_refused(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_a_price_without_a_reference_is_refused():
    batch = {name: x for name, x in rollouts().items() if name != "logp_ref"}
    with pytest.raises(
        ConfigError, match="beta=1 is a KL coefficient and needs a reference: give one"
    ):
        TokenCredit(beta=1)(batch, 1)


def test_a_cut_text_whose_last_token_is_not_among_the_ids_is_refused():
    batch = {k: v[:, :2] if v.ndim == 2 else v for k, v in rollouts(values=True).items()}
    with pytest.raises(InputError, match="cut at the last position of the batch"):
        TokenCredit(cut="bootstrap")(batch | {"finished": torch.tensor([False, True])}, 1)


@pytest.mark.parametrize(
    ("credit", "name", "says"),
    [
        (GroupCredit(), "rewards", "GroupCredit needs rewards"),
        (GroupCredit(beta=0.1), "targets", "a KL penalty needs targets"),
        (GroupCredit(cut=0.0), "finished", "cut=0.0 needs finished"),
        (GroupCredit(), "logp_old", "GroupCredit needs logp_old"),
        *(
            (TokenCredit(), x, f"TokenCredit needs {x}")
            for x in ("logp_old", "targets", "rewards")
        ),
    ],
)
def test_a_missing_column_is_named(credit, name, says):
    batch = rollouts()
    del batch[name]
    with pytest.raises(InputError, match=f"{says}, and the batch has [a-z]+, "):
        credit(batch, 2)
