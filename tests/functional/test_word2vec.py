import itertools
import math

import pytest
import torch
from numpy.testing import assert_allclose
from torch.autograd import gradcheck

from mathlm import reference as ref
from mathlm.errors import InputError
from mathlm.functional import negative_sampling_loss


def draws(P=1, N=4, D=5, batch=(3,)):
    shapes = ((*batch, P, D), (*batch, P, D), (*batch, N, D))
    return tuple(torch.randn(shape, requires_grad=True) for shape in shapes)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_one_pair_and_k_draws_are_the_loss_of_the_reference(batch):
    w, c_positive, c_negative = draws(batch=batch)
    loss = negative_sampling_loss(w, c_positive, c_negative)
    dy = torch.randn(loss.shape)
    loss.backward(dy)
    arrays = (a.detach().numpy() for a in (w[..., 0, :], c_positive[..., 0, :], c_negative))
    expected, cache = ref.negative_sampling(*arrays)
    dw, dc_positive, dc_negative = ref.negative_sampling_backward(dy[..., 0].numpy(), cache)
    assert_allclose(loss[..., 0].detach(), expected, rtol=1e-12)
    assert_allclose(w.grad[..., 0, :], dw, rtol=1e-12, atol=1e-14)
    assert_allclose(c_positive.grad[..., 0, :], dc_positive, rtol=1e-12, atol=1e-14)
    assert_allclose(c_negative.grad, dc_negative, rtol=1e-12, atol=1e-14)


def test_pairs_of_a_group_share_its_draws():
    w, c_positive, c_negative = draws(P=3, N=4, batch=(2,))
    alone = [
        negative_sampling_loss(w[:, [p]], c_positive[:, [p]], c_negative) for p in range(3)
    ]
    together = negative_sampling_loss(w, c_positive, c_negative)
    torch.testing.assert_close(together, torch.cat(alone, 1), rtol=1e-12, atol=0)


def test_mean_over_the_draws_depends_on_k_but_not_on_their_number():
    """All draws of N from q, with their probabilities: N = 1 and 3 have the same mean."""
    w, c_positive, C = draws(N=2, batch=())
    q = torch.tensor([0.3, 0.7])
    means = []
    for N in (1, 3):
        lists = [torch.tensor(ids) for ids in itertools.product(range(2), repeat=N)]
        losses = [q[i].prod() * negative_sampling_loss(w, c_positive, C[i], 5) for i in lists]
        means.append(sum(losses))
    torch.testing.assert_close(means[0], means[1], rtol=1e-12, atol=0)


def test_gradient_is_certified():
    assert gradcheck(lambda *a: negative_sampling_loss(*a, 2.5), draws(P=2, N=3, batch=(2,)))


def test_large_scores_do_not_overflow():
    """-log σ(-1000) = 1000, twice."""
    one = torch.ones(1, 1)
    loss = negative_sampling_loss(1000 * one, -one, one)
    assert_allclose(loss, [2000.0])


def test_draws_may_weigh_less_than_the_word_that_was_seen():
    """log 2 for it, and half of that for three words together."""
    zero = torch.zeros(1, 2)
    loss = negative_sampling_loss(zero, zero, torch.zeros(3, 2), k=0.5)
    assert loss.item() == pytest.approx(1.5 * math.log(2), rel=1e-14)


BAD = [
    ((2, 5), (2, 5), (3, 4), 5, r"c_negative \(3, 4\) do not fit"),
    ((2, 5), (3, 5), (3, 5), 5, r"c_positive \(3, 5\)"),
    ((2, 5), (2, 5), (1, 3, 5), 5, r"c_negative \(1, 3, 5\)"),
    ((2, 1, 5), (2, 1, 5), (3, 4, 5), 5, r"c_negative \(3, 4, 5\) do not fit"),
    ((2, 5), (2, 5), (3, 5), 0, "k=0 negative samples"),
    ((2, 5), (2, 5), (0, 5), 5, "there are 2 pairs and 0 drawn words"),
    ((0, 5), (0, 5), (3, 5), 5, "there are 0 pairs"),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("w", "c_positive", "c_negative", "k", "message"), BAD)
def test_bad_input_is_refused(w, c_positive, c_negative, k, message):
    with pytest.raises(InputError, match=message):
        negative_sampling_loss(torch.ones(w), torch.ones(c_positive), torch.ones(c_negative), k)


def test_an_infinite_weight_is_refused():
    with pytest.raises(InputError, match="k=inf negative samples: must be positive and finite"):
        negative_sampling_loss(*torch.ones(3, 2, 4), k=float("inf"))
