import math

import pytest
import torch

from mathlm import functional as F
from mathlm.errors import InputError, InputTypeError

N, D, WIDTH, E = 9, 5, 4, 6
TIGHT = {"rtol": 1e-12, "atol": 1e-13}


def experts():
    return [torch.randn(E, *s) for s in ((WIDTH, D), (WIDTH, D), (D, WIDTH))]


def dense(gates, chosen):
    """Gates as a matrix with an entry for each expert."""
    return torch.zeros(*gates.shape[:-1], E).scatter(-1, chosen, gates)


@pytest.mark.parametrize("k", [1, 2, 3, E])
def test_tokens_grouped_by_expert_give_the_sum_over_all_experts(k):
    x, (W_in, W_gate, W_out) = torch.randn(N, D), experts()
    gates, chosen = F.top_k_softmax(torch.randn(N, E), k)
    hidden = F.swiglu(
        torch.einsum("nd,efd->nef", x, W_gate), torch.einsum("nd,efd->nef", x, W_in)
    )
    every = torch.einsum("nef,edf->ned", hidden, W_out)
    right = (dense(gates, chosen)[..., None] * every).sum(1)
    found = F.mix_experts(x, gates, chosen, W_in, W_gate, W_out)
    torch.testing.assert_close(found, right, **TIGHT)


def test_choices_without_room_add_nothing():
    x, weights = torch.randn(N, D), experts()
    gates, chosen = F.top_k_softmax(torch.randn(N, E), 2)
    keep = torch.rand(N, 2) < 0.5
    keep[0] = False
    found = F.mix_experts(x, gates, chosen, *weights, keep)
    right = F.mix_experts(x, gates * keep, chosen, *weights)
    torch.testing.assert_close(found, right, **TIGHT)
    assert (found[0] == 0).all()


def test_gates_in_float32_weigh_experts_in_half_precision():
    """The experts return silu(20) = 20 and 40."""
    one = torch.ones(2, 1, 1, dtype=torch.bfloat16)
    gates, chosen = torch.tensor([[0.5, 0.5]], dtype=torch.float32), torch.tensor([[0, 1]])
    W_out = one * torch.tensor([1, 2])[:, None, None]
    y = F.mix_experts(one[0], gates, chosen, one, 20 * one, W_out)
    assert y.dtype == torch.bfloat16
    assert y.item() == 30


def test_experts_work_where_their_tokens_lie():
    x, weights = torch.randn(N, D), experts()
    routing = F.top_k_softmax(torch.randn(N, E), 2)
    right = F.mix_experts(x, *routing, *weights)
    with torch.device("meta"):  # where nothing is computed
        found = F.mix_experts(x, *routing, *weights)
    assert torch.equal(found, right)


@pytest.mark.parametrize("route", [F.top_k_softmax, F.softmax_top_k, F.sigmoid_top_k])
def test_routers_choose_the_largest_scores(route):
    logits = torch.randn(2, N, E)
    _, chosen = route(logits, 3)
    assert (chosen.sort(-1).values == logits.topk(3, -1).indices.sort(-1).values).all()


@pytest.mark.parametrize("groups", [{}, {"n_groups": 3, "top_groups": 2}])
def test_a_batch_of_sequences_is_routed_as_its_tokens_are(groups):
    logits, bias = torch.randn(4, 2, E), torch.randn(E)
    tokens = logits.flatten(0, 1)
    for route in (
        lambda z: F.top_k_softmax(z, 3),
        lambda z: F.softmax_top_k(z, 3),
        lambda z: F.sigmoid_top_k(z, 3, bias, **groups),
        lambda z: (F.expert_groups(z, 3, 2),),
    ):
        for found, right in zip(route(logits), route(tokens), strict=True):
            torch.testing.assert_close(found.flatten(0, 1), right, **TIGHT)
    chosen = F.top_k_softmax(logits, 3)[1]
    found, right = F.balance_loss(logits, chosen), F.balance_loss(tokens, chosen.flatten(0, 1))
    torch.testing.assert_close(found, right, **TIGHT)


@pytest.mark.parametrize("route", [F.top_k_softmax, F.sigmoid_top_k])
def test_gates_among_the_chosen_sum_to_one(route):
    gates, _ = route(torch.randn(N, E), 3)
    torch.testing.assert_close(gates.sum(-1), torch.ones(N), **TIGHT)


def test_sigmoids_that_vanish_give_gates_from_zero_to_one():
    """Their sum is below the number that keeps it from 0, and 0 in the second row."""
    gates, _ = F.sigmoid_top_k(torch.tensor([[-47.0, -48.0], [-1000.0, -1000.0]]), 2)
    assert (gates[0] > 0).all()
    assert gates[0].sum() < 1
    assert gates[1].tolist() == [0, 0]


def test_softmax_over_the_chosen_is_softmax_over_all_divided_by_what_is_kept():
    logits = torch.randn(N, E)
    all_of_them, chosen = F.softmax_top_k(logits, 3)
    after, same = F.top_k_softmax(logits, 3)
    torch.testing.assert_close(after, all_of_them / all_of_them.sum(-1, keepdim=True), **TIGHT)
    assert (chosen == same).all()
    assert (all_of_them.sum(-1) < 1).all()


def test_with_one_expert_only_the_softmax_over_all_has_a_gradient():
    logits = torch.randn(N, E, requires_grad=True)
    for route, has in ((F.top_k_softmax, False), (F.softmax_top_k, True), (F.sigmoid_top_k, 0)):
        (gradient,) = torch.autograd.grad(route(logits, 1)[0].sum(), logits)
        assert (gradient.abs().max() > 1e-3) == bool(has)


def test_a_bias_changes_the_choice_and_not_the_gates_of_the_chosen():
    logits, bias = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0.0, 0.0, 10.0])
    gates, chosen = F.sigmoid_top_k(logits, 2, bias, scale=2.5)
    s = logits.sigmoid()[0]
    assert set(chosen[0].tolist()) == {0, 2}
    right = {e: 2.5 * s[e] / (s[0] + s[2]) for e in (0, 2)}
    for e, gate in zip(chosen[0].tolist(), gates[0], strict=True):
        torch.testing.assert_close(gate, right[e], **TIGHT)


GROUPED = [[0.9, 0.1, 0.6, 0.5, 0.8, 0.1]]  # sums of pairs 1.0, 1.1, 0.9


@pytest.mark.parametrize(
    ("top_groups", "allowed"), [(1, [2, 3]), (2, [0, 1, 2, 3]), (3, [0, 1, 2, 3, 4, 5])]
)
def test_groups_by_hand(top_groups, allowed):
    found = F.expert_groups(torch.tensor(GROUPED), 3, top_groups)
    assert found.nonzero()[:, 1].tolist() == allowed


def test_a_group_is_judged_by_its_two_largest_scores():
    scores = torch.tensor([[5.0, -9, 5, 1, 2, 2]])  # sums of two: 10, 4; of three: 1, 5
    assert F.expert_groups(scores, 2, 1).tolist() == [[True] * 3 + [False] * 3]


def test_experts_are_chosen_within_groups_with_the_bias_and_weighted_without_it():
    """The bias makes the third group the best, whose sigmoids are the weights."""
    bias = torch.tensor([0.0, 0, 0, 0, 0.5, 0.5])
    logits = torch.tensor(GROUPED).logit()
    gates, chosen = F.sigmoid_top_k(logits, 2, bias, scale=1.8, n_groups=3, top_groups=1)
    assert chosen.tolist() == [[4, 5]]
    torch.testing.assert_close(gates, torch.tensor([[1.6, 0.2]]), **TIGHT)
    everywhere = F.sigmoid_top_k(logits, 2, bias)[1]
    assert everywhere.tolist() == [[4, 0]]


def test_experts_outside_the_groups_are_never_chosen_whatever_the_bias():
    """With a bias of -2 every score is negative, so that a mask of 0 would win."""
    logits, bias = torch.tensor(GROUPED).logit(), torch.full((E,), -2.0)
    _, chosen = F.sigmoid_top_k(logits, 2, bias, n_groups=3, top_groups=1)
    assert chosen.tolist() == [[2, 3]]


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "top_groups"), [(1, 1), (4, 2), (4, 4), (2, 1), (8, 3)])
def test_groups_are_those_of_the_router_of_deepseek_v3(n_groups, top_groups):
    """transformers 5.23.0: DeepseekV3TopkRouter in float32, random weights and bias."""
    from transformers import DeepseekV3Config
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3TopkRouter

    config = DeepseekV3Config(
        hidden_size=D, n_routed_experts=16, num_experts_per_tok=4, n_group=n_groups,
        topk_group=top_groups, routed_scaling_factor=2.5, norm_topk_prob=True,
    )  # fmt: skip
    peer, x = DeepseekV3TopkRouter(config).float(), torch.randn(200, D, dtype=torch.float32)
    with torch.no_grad():
        peer.weight.normal_()
        peer.e_score_correction_bias.copy_(0.3 * torch.randn(16))
        logits, weights, right = peer(x)
        groups = {"n_groups": n_groups, "top_groups": top_groups}
        bias = peer.e_score_correction_bias
        gates, chosen = F.sigmoid_top_k(logits, 4, bias, 2.5, **groups)
    found = torch.zeros(200, 16, dtype=torch.float32).scatter(1, chosen, gates)
    theirs = torch.zeros(200, 16, dtype=torch.float32).scatter(1, right, weights)
    torch.testing.assert_close(found, theirs, rtol=1e-5, atol=1e-6)
    without = F.sigmoid_top_k(logits, 4, bias)[1]
    limited = (without.sort(-1).values != chosen.sort(-1).values).any()
    assert bool(limited) == (top_groups < n_groups)


def test_half_precision_is_routed_in_float32():
    gates, _ = F.top_k_softmax(torch.randn(N, E).bfloat16(), 2)
    assert gates.dtype == torch.float32


@pytest.mark.slow
def test_the_balance_loss_is_that_of_transformers_over_k():
    from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

    logits = torch.randn(N, E)
    chosen = F.top_k_softmax(logits, 2)[1]
    theirs = load_balancing_loss_func((logits,), E, 2)
    ours = 2 * F.balance_loss(logits, chosen)
    torch.testing.assert_close(ours, theirs, check_dtype=False, rtol=1e-5, atol=1e-6)


def test_the_balance_loss_may_be_below_one_and_is_one_when_scores_are_equal():
    p = torch.tensor([[0.51, 0.49]] * 3 + [[0.001, 0.999]])
    chosen = p.argmax(-1, keepdim=True)
    by_hand = 2 * (0.75 * p[:, 0].mean() + 0.25 * p[:, 1].mean())
    torch.testing.assert_close(F.balance_loss(p.log(), chosen), by_hand)
    assert by_hand < 0.9
    torch.testing.assert_close(F.balance_loss(torch.zeros(4, 2), chosen), torch.tensor(1.0))


def test_the_balance_loss_of_double_scores_is_exact_whatever_the_default_dtype():
    logits, chosen = torch.randn(7, 3), torch.randint(3, (7, 1))
    right = F.balance_loss(logits, chosen)
    torch.set_default_dtype(torch.float32)  # conftest sets it anew for each test
    torch.testing.assert_close(F.balance_loss(logits, chosen), right, **TIGHT)


def test_the_bias_moves_against_the_load_by_the_rate():
    bias = F.balance_bias(torch.zeros(3), torch.tensor([5, 3, 1]), 0.25)
    assert bias.tolist() == [-0.25, 0.0, 0.25]


def test_capacity_by_hand():
    assert F.expert_capacity(10, 4, 2, 1.0) == 5
    assert F.expert_capacity(10, 4, 2, 1.25) == math.ceil(6.25)
    assert F.expert_capacity(50, 5, 1, 1.1) == 11  # in floats the quotient is above 11
    assert F.expert_capacity(30, 10, 1, 5 / 3) == 5
    assert F.expert_capacity(50, 5, 1, 1.1001) == 12
    chosen = torch.tensor([[0, 1], [0, 1], [1, 0], [0, 2]])
    keep = F.within_capacity(chosen, 3, 2)  # first choices: 0 0 1 0, then second: 1 1 0 2
    assert keep.tolist() == [[True, True], [True, False], [True, False], [False, True]]


def test_no_tokens_leave_all_the_room():
    assert F.within_capacity(torch.zeros(0, 2, dtype=torch.int64), 3, 1).shape == (0, 2)


def test_load_counts_experts_without_tokens():
    assert F.expert_load(torch.tensor([[0, 2], [2, 0]]), 4).tolist() == [2, 0, 2, 0]


def test_one_expert_has_all_the_load_in_balance():
    chosen = torch.zeros(4, 1, dtype=torch.int64)
    assert F.expert_load(chosen, 1).tolist() == [4]
    assert F.balance_loss(torch.randn(4, 1), chosen) == 1


@pytest.mark.parametrize("k", [0, E + 1, True, 2.0])
@pytest.mark.parametrize("route", [F.top_k_softmax, F.softmax_top_k, F.sigmoid_top_k])
def test_a_k_that_does_not_fit_is_refused(route, k, unchecked):
    with pytest.raises(InputError, match=f"k={k} must be an integer of 1 to n_experts={E}"):
        route(torch.randn(2, E), k)


def test_what_does_not_fit_is_refused(unchecked):
    with pytest.raises(InputError, match="one entry for 6 experts"):
        F.sigmoid_top_k(torch.randn(2, E), 2, torch.zeros(5))
    for groups, says in (
        ((4, 1), "n_groups=4 must divide n_experts=6 into groups of 2 or more"),
        ((6, 1), "n_groups=6 must divide n_experts=6 into groups of 2 or more"),
        ((3, 4), "top_groups=4 are used; give .* top_groups up to n_groups"),
        ((3, 0), "top_groups=0 must be an integer of at least 1"),
        ((0, 1), "n_groups=0 must be an integer of at least 1"),
    ):
        with pytest.raises(InputError, match=says):
            F.expert_groups(torch.randn(2, E), *groups)
    with pytest.raises(InputError, match="top_groups=2 are used"):
        F.sigmoid_top_k(torch.randn(2, E), 2, top_groups=2)
    with pytest.raises(InputError, match="k=3 must be at most the 2 experts of top_groups=1"):
        F.sigmoid_top_k(torch.randn(2, E), 3, n_groups=3, top_groups=1)
    with pytest.raises(InputError, match="rate=0"):
        F.balance_bias(torch.zeros(2), torch.zeros(2), 0)
    with pytest.raises(InputError, match="must fit"):
        F.balance_bias(torch.zeros(2), torch.zeros(3), 0.1)
    with pytest.raises(InputError, match="factor=0"):
        F.expert_capacity(4, 2, 1, 0.0)
    for counts, says in (
        ((0, 2, 1), "tokens=0"),
        ((4, 0, 1), "n_experts=0"),
        ((4, 2, 0), "k=0"),
    ):
        with pytest.raises(InputError, match=says):
            F.expert_capacity(*counts, 1.0)
    with pytest.raises(InputError, match="capacity=0"):
        F.within_capacity(torch.zeros(2, 1, dtype=torch.int64), 2, 0)
    with pytest.raises(InputError, match="n_experts=0"):
        F.within_capacity(torch.zeros(2, 1, dtype=torch.int64), 0, 1)
    with pytest.raises(InputError, match="n_experts=0"):
        F.expert_load(torch.zeros(2, dtype=torch.int64), 0)
    with pytest.raises(InputTypeError, match="numbers of experts, int64"):
        F.within_capacity(torch.zeros(2, 1), 2, 1)
