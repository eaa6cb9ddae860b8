"""Clipped ratios and values by hand; every number is missed by a wrong formula at least."""

import math

import pytest
import torch
from align.toy_chats import CHATS, encoded, model
from torch.testing import assert_close

from mathlm.align import (
    ChatBatches,
    approximate_kl,
    clip_share,
    ppo_loss,
    reinforce_loss,
    target_log_probabilities,
    value_loss,
)
from mathlm.errors import InputError, InputTypeError

NAN = math.nan
OLD = torch.tensor([0.5, 0.8, 1.2], dtype=torch.float64)
CASES = {  # log ρ, A: -min(ρ A, clip(ρ) A)
    (1, 1): -1.2,
    (-1, 1): -0.36787944117144233,
    (1, -1): 2.718281828459045,
    (-1, -1): 0.8,
}
cases = pytest.mark.parametrize(
    ("step", "sign", "expected"), [(*k, v) for k, v in CASES.items()]
)


@cases
def test_ratios_far_above_and_below_one(step, sign, expected):
    """ρ = e and 1/e, ε = 0.2: what is gained is cut, what is lost is not."""
    found = ppo_loss(OLD + step, OLD, torch.full((3,), float(sign)), clip=0.2)
    assert_close(found, torch.full((3,), expected), rtol=0, atol=1e-12)


def clipped(rho):
    return min(max(rho, 0.8), 1.2)


MUTANTS = {
    "no clipping": lambda rho, A: -rho * A,
    "clipped always": lambda rho, A: -clipped(rho) * A,
    "the better of the two": lambda rho, A: -max(rho * A, clipped(rho) * A),
    "sign": lambda rho, A: min(rho * A, clipped(rho) * A),
    "not below": lambda rho, A: -min(rho * A, min(rho, 1.2) * A),
    "not above": lambda rho, A: -min(rho * A, max(rho, 0.8) * A),
    "ratio upside down": lambda rho, A: -min(A / rho, clipped(1 / rho) * A),
    "logarithm for ratio": lambda rho, A: -min(math.log(rho) * A, clipped(math.log(rho)) * A),
}


@pytest.mark.parametrize("wrong", MUTANTS.values(), ids=MUTANTS.keys())
def test_no_wrong_formula_has_all_four_numbers(wrong):
    found = {k: wrong(math.exp(k[0]), k[1]) for k in CASES}
    assert max(abs(found[k] - CASES[k]) for k in CASES) > 0.1


@cases
def test_each_of_the_four_numbers_is_missed_by_a_wrong_formula(step, sign, expected):
    assert any(abs(w(math.exp(step), sign) - expected) > 0.1 for w in MUTANTS.values())


@cases
def test_the_gradient_is_that_of_the_ratio_or_zero(step, sign, expected):
    """-A ρ where the ratio counts, exactly 0 where it is cut."""
    logp = (OLD + step).requires_grad_()
    ppo_loss(logp, OLD, torch.full((3,), float(sign))).sum().backward()
    cut = step == sign
    slope = 0.0 if cut else -sign * math.exp(step)
    assert_close(logp.grad, torch.full((3,), slope), rtol=0, atol=0 if cut else 1e-12)


def test_near_one_it_is_the_textbook_form():
    log_rho, A = 0.3 * torch.randn(2, 1000)
    rho = log_rho.exp()
    expected = -torch.minimum(rho * A, rho.clamp(0.8, 1.2) * A)
    assert_close(ppo_loss(log_rho, torch.zeros(1000), A), expected, rtol=0, atol=1e-14)


def test_a_ratio_that_overflows_but_is_cut_has_no_nan():
    """In the textbook form its gradient is 0 · ∞."""
    logp = torch.tensor([1e6, -1e6], requires_grad=True)
    found = ppo_loss(logp, torch.zeros(2), torch.tensor([1.0, -1.0]))
    found.sum().backward()
    assert_close(found.detach(), torch.tensor([-1.2, 0.8]))
    assert logp.grad.tolist() == [0, 0]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_the_ratio_of_a_policy_to_itself_is_one_at_any_temperature(temperature):
    """In training mode, against the softmax of the divided logits; loss -A, nothing cut."""
    network = model(dropout=0.5).train()
    batch = next(iter(ChatBatches(encoded(CHATS[:1]), 9, packed=False)))
    logp = target_log_probabilities(network, batch, temperature=temperature)
    mask = batch["targets"] != -100
    logits = network.eval()(batch["ids"]) / temperature
    old = logits.log_softmax(-1).gather(-1, batch["targets"].clamp(min=0)[..., None])[..., 0]
    assert_close((logp - old)[mask], torch.zeros(int(mask.sum())), rtol=0, atol=1e-12)
    A = torch.randn_like(logp)
    assert_close(ppo_loss(logp, old, A, mask=mask), -A * mask, rtol=0, atol=1e-12)
    assert clip_share(logp, old, A, 0.2, mask) == 0
    assert approximate_kl(logp, old, mask) < 1e-20


def test_log_probabilities_that_are_divided_in_place_of_the_logits_are_noticed():
    network = model(n_layers=1)
    batch = next(iter(ChatBatches(encoded(CHATS[:1]), 9, packed=False)))
    mask = batch["targets"] != -100
    right = target_log_probabilities(network, batch, temperature=2.0)
    wrong = target_log_probabilities(network, batch) / 2
    assert ((right - wrong)[mask].abs() > 1e-3).all()
    assert approximate_kl(wrong, right, mask) > 1e-3


def test_a_policy_is_equal_to_itself_to_the_last_bit_in_training_mode():
    network = model(dropout=0.5).train()
    batch = next(iter(ChatBatches(encoded(CHATS[:1]), 9, packed=False)))
    first, second = (target_log_probabilities(network, batch) for _ in range(2))
    assert torch.equal(ppo_loss(first, second, torch.ones_like(first)), -torch.ones_like(first))


def test_reinforce_weighs_the_log_probability():
    logp = torch.tensor([-1.0, -2.0], requires_grad=True)
    A = torch.tensor([3.0, -0.5])
    found = reinforce_loss(logp, A)
    found.sum().backward()
    assert found.tolist() == [3.0, -1.0]
    assert logp.grad.tolist() == [-3.0, 0.5]


@pytest.mark.parametrize("sign", [0.0, -0.0])
def test_an_advantage_of_zero_counts_nothing_however_far_the_ratio(sign):
    """The ratio is cut as for a gain: e to a million is no number."""
    logp = torch.tensor([1e6, -1e6], requires_grad=True)
    found = ppo_loss(logp, torch.zeros(2), torch.full((2,), sign))
    found.sum().backward()
    assert (found == 0).all()
    assert (logp.grad == 0).all()


def test_the_value_loss_takes_the_worse_of_two_squares():
    """R = 0, old value 1, c = 0.2. V = 2: 2² against 1.2²; V = 0.5: 0.5² against 0.8²."""
    V = torch.tensor([2.0, 0.5], requires_grad=True)
    old, R = torch.ones(2), torch.zeros(2)
    assert_close(value_loss(V, old, R, 0.2).detach(), torch.tensor([2.0, 0.32]))
    assert_close(value_loss(V, old, R).detach(), torch.tensor([2.0, 0.125]))
    value_loss(V, old, R, 0.2).sum().backward()
    assert V.grad.tolist() == [2, 0]
    R = torch.full((2,), 3.0)  # V = 2: 1² against 1.8²; V = 0.5: 2.5² against 2.2²
    assert_close(value_loss(V, old, R, 0.2).detach(), torch.tensor([1.62, 3.125]))


def test_gradients_pass_through_nothing_but_what_is_trained():
    leaves = [torch.randn(3).requires_grad_() for _ in range(3)]
    for loss in (ppo_loss, value_loss):
        loss(*leaves).sum().backward()
    reinforce_loss(leaves[0], leaves[2]).sum().backward()
    assert [leaf.grad is not None for leaf in leaves] == [True, False, False]


@pytest.mark.parametrize("poison", [1e6, -1e6, NAN, math.inf])
@pytest.mark.parametrize("loss", [ppo_loss, value_loss, reinforce_loss])
def test_what_the_mask_leaves_out_changes_no_bit(loss, poison):
    mask = torch.tensor([[False, True, True], [True, False, False]])
    count = 2 if loss is reinforce_loss else 3

    def run(left_out):
        draw = torch.Generator().manual_seed(0)
        given = [torch.randn(2, 3, generator=draw) for _ in range(count)]
        given = [x.masked_fill(~mask, left_out) for x in given]
        given[0].requires_grad_()
        options = {"clip": 0.2} if count == 3 else {}
        found = loss(*given, mask=mask, **options)
        found.sum().backward()
        return found.detach(), given[0].grad

    for clean, poisoned in zip(run(0.0), run(poison), strict=True):
        assert torch.equal(clean, poisoned)
        assert (poisoned[~mask] == 0).all()


@pytest.mark.parametrize("clip", [0, 1, -0.2, NAN])
def test_clips_that_are_none_are_refused(clip):
    with pytest.raises(InputError, match=f"the ratio may go {clip} below 1 and {clip} above"):
        ppo_loss(OLD, OLD, OLD, clip=clip)
    if not clip > 0:
        with pytest.raises(InputError, match=f"clip={clip} must be positive; None = no"):
            value_loss(OLD, OLD, OLD, clip=clip)


@pytest.mark.parametrize(
    ("loss", "names"),
    [
        (reinforce_loss, ["logp", "advantages", "mask"]),
        (ppo_loss, ["logp", "logp_old", "mask"]),
        (value_loss, ["values", "old_values", "returns", "mask"]),
    ],
)
def test_each_shape_is_compared_with_the_others(loss, names, unchecked):
    """One of them has a row fewer numbers, which would be spread over the row."""
    for odd in names:
        shapes = {name: (2, 1) if name == odd else (2, 3) for name in names}
        given = {name: torch.zeros(shape) for name, shape in shapes.items()}
        given["mask"] = given["mask"].bool()
        more = {"advantages": torch.zeros(2, 3)} if loss is ppo_loss else {}
        with pytest.raises(InputError) as error:
            loss(**given, **more)
        for name, shape in shapes.items():
            assert f"{name} {shape}" in str(error.value)


def test_shapes_that_would_be_spread_and_masks_of_numbers_are_refused(unchecked):
    with pytest.raises(InputError, match=r"ratios \(2, 3\), advantages \(2, 1\); they must be"):
        ppo_loss(torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(2, 1))
    with pytest.raises(InputTypeError, match="mask must be bool, got float64"):
        reinforce_loss(OLD, OLD, torch.ones(3))
