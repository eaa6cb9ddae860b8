import numpy as np
import pytest
import torch

from mathlm import functional as F
from mathlm import reference as ref
from mathlm.errors import InputError, InputTypeError

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
DISTANCES = torch.arange(-5000, 5001)
WAYS = pytest.mark.parametrize("bidirectional", [False, True])


def test_alibi_slopes_of_eight_heads_are_halves():
    expected = torch.tensor([2.0**-h for h in range(1, 9)])
    torch.testing.assert_close(F.alibi_slopes(8), expected, **TIGHT)


def test_alibi_slopes_of_six_heads_borrow_from_eight():
    """Four heads 1/4, 1/16, 1/64, 1/256, then the first and third of eight: 1/2, 1/8."""
    expected = torch.tensor([1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8])
    torch.testing.assert_close(F.alibi_slopes(6), expected, **TIGHT)


def test_alibi_bias_is_minus_slope_times_distance():
    bias = F.alibi_bias(torch.tensor([1.0, 0.5]), torch.tensor([2, 3]), torch.arange(4))
    assert bias.tolist() == [
        [[-2, -1, 0, -1], [-3, -2, -1, 0]],
        [[-1, -0.5, 0, -0.5], [-1.5, -1, -0.5, 0]],
    ]


@WAYS
@pytest.mark.parametrize("sizes", [(32, 128), (16, 64), (8, 20), (64, 1000), (4, 3)])
def test_buckets_are_those_of_t5(bidirectional, sizes):
    from transformers.models.t5.modeling_t5 import T5Attention

    theirs = T5Attention._relative_position_bucket(DISTANCES, bidirectional, *sizes)
    assert torch.equal(F.relative_buckets(DISTANCES, *sizes, bidirectional), theirs)


def test_without_sizes_there_are_32_buckets_up_to_128_tokens():
    sizes = (32, 128)
    expected = ref.relative_buckets(DISTANCES.numpy(), *sizes)
    np.testing.assert_array_equal(F.relative_buckets(DISTANCES).numpy(), expected)
    found = F.relative_bias(torch.arange(32.0)[:, None], torch.tensor([5000]), -DISTANCES)
    np.testing.assert_array_equal(
        found.flatten().numpy(), ref.relative_buckets(-DISTANCES.numpy() - 5000, *sizes)
    )


def test_two_buckets_tell_what_came_before_from_what_did_not():
    found = F.relative_buckets(torch.tensor([3, 0, -1, -2, -500]), n_buckets=2, max_distance=2)
    assert found.tolist() == [0, 0, 1, 1, 1]


@WAYS
@pytest.mark.parametrize("sizes", [(32, 128), (12, 31), (6, 4), (4, 1000), (100, 4096)])
def test_buckets_are_those_found_in_whole_numbers(bidirectional, sizes):
    expected = ref.relative_buckets(DISTANCES.numpy(), *sizes, bidirectional)
    found = F.relative_buckets(DISTANCES, *sizes, bidirectional)
    np.testing.assert_array_equal(found.numpy(), expected)


def test_a_bias_is_read_from_the_table_by_head_and_distance():
    """Four buckets looking back: 0, 1, then from 2 and from 2 √(4/2) = 2.83, so 3, on."""
    table = torch.tensor([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5], [3.0, 3.5]])
    bias = F.relative_bias(table, torch.tensor([2, 4]), torch.arange(5), max_distance=4)
    assert bias[0].tolist() == [[2, 1, 0, 0, 0], [3, 3, 2, 1, 0]]
    assert torch.equal(bias[1], bias[0] + 0.5)


def test_rows_of_a_batch_have_a_bias_each():
    table, starts = torch.randn(8, 3), torch.tensor([[0], [5]])
    queries = starts + torch.arange(4)
    bias = F.relative_bias(table, queries, torch.arange(9).expand(2, 9), max_distance=8)
    alone = F.relative_bias(table, queries[1], torch.arange(9), max_distance=8)
    assert bias.shape == (2, 3, 4, 9)
    assert torch.equal(bias[1], alone)


def test_rows_of_a_batch_have_an_alibi_each():
    slopes, keys = F.alibi_slopes(3), torch.arange(9)
    queries = torch.tensor([[0], [5]]) + torch.arange(4)
    bias = F.alibi_bias(slopes, queries, keys.expand(2, 9))
    assert bias.shape == (2, 3, 4, 9)
    assert torch.equal(bias[1], F.alibi_bias(slopes, queries[1], keys))


@WAYS
def test_the_reference_gives_the_same_bias_and_gradient(bidirectional):
    table, dbias = torch.randn(12, 3, requires_grad=True), torch.randn(3, 20, 26)
    bias = F.relative_bias(table, torch.arange(6, 26), torch.arange(26), 16, bidirectional)
    bias.backward(dbias)
    expected, cache = ref.relative_bias(table.detach().numpy(), 20, 26, 16, bidirectional)
    np.testing.assert_allclose(bias.detach().numpy(), expected, rtol=0)
    dtable = ref.relative_bias_backward(dbias.numpy(), cache)
    np.testing.assert_allclose(table.grad.numpy(), dtable, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6, 8, 12, 20])
def test_the_reference_gives_the_same_alibi(n_heads):
    slopes = F.alibi_slopes(n_heads)
    np.testing.assert_allclose(slopes.numpy(), ref.alibi_slopes(n_heads), rtol=1e-15)
    bias = F.alibi_bias(slopes, torch.arange(3, 7), torch.arange(7))
    expected = ref.alibi_bias(ref.alibi_slopes(n_heads), 4, 7)
    np.testing.assert_allclose(bias.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("n_heads", [0, -3])
def test_slopes_for_no_head_are_refused(n_heads):
    with pytest.raises(InputError, match=f"n_heads={n_heads} must be at least 1"):
        F.alibi_slopes(n_heads)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((1, 128, False), "n_buckets=1 must be at least 2"),
        ((2, 128, True), "n_buckets=2 must be even and at least 4"),
        ((9, 128, True), "n_buckets=9 must be even"),
        ((32, 16, False), "max_distance=16 must be more than 16"),
        ((32, 8, True), "max_distance=8 must be more than 8"),
    ],
)
def test_buckets_that_do_not_divide_are_refused(sizes, message):
    with pytest.raises(InputError, match=message):
        F.relative_buckets(DISTANCES, *sizes)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: F.relative_buckets(torch.tensor([0.5])), "distance"),
        (
            lambda: F.relative_bias(torch.ones(4, 1), torch.ones(2), torch.arange(2), 4),
            "positions of queries",
        ),
        (
            lambda: F.relative_bias(torch.ones(4, 1), torch.arange(2), torch.ones(2), 4),
            "positions of keys",
        ),
        (
            lambda: F.alibi_bias(torch.ones(1), torch.ones(2), torch.arange(2)),
            "positions of queries",
        ),
        (
            lambda: F.alibi_bias(torch.ones(1), torch.arange(2), torch.ones(2)),
            "positions of keys",
        ),
    ],
)
def test_fractional_positions_are_refused(call, name):
    with pytest.raises(InputTypeError, match=f"^{name} must be integers, got float64"):
        call()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("dtype", [torch.bool, torch.complex128], ids=str)
def test_distances_that_are_no_integers_are_refused(dtype):
    with pytest.raises(InputTypeError, match=r"distance must be integers, got (bool|complex)"):
        F.relative_buckets(torch.ones(2, dtype=dtype))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("shape", [(), (2, 1)], ids=str)
def test_slopes_that_are_no_vector_are_refused(shape):
    with pytest.raises(InputError, match=r"slopes have shape \(.*\), expected \(H,\)"):
        F.alibi_bias(torch.ones(shape), torch.arange(2), torch.arange(2))
