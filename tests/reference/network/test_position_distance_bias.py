import numpy as np
import pytest

from mathlm import reference as ref
from mathlm.errors import InputError, InputTypeError


def test_slopes_of_sixteen_heads_are_powers_of_the_root_of_one_half():
    expected = [0.5 ** (h / 2) for h in range(1, 17)]
    np.testing.assert_allclose(ref.alibi_slopes(16), expected, rtol=1e-15)


def test_slopes_of_three_heads_borrow_from_four():
    """Two heads 1/16, 1/256, then the first of four: 1/4."""
    np.testing.assert_allclose(ref.alibi_slopes(3), [1 / 16, 1 / 256, 1 / 4], rtol=1e-15)


def test_the_slope_of_a_single_head():
    assert ref.alibi_slopes(1).tolist() == [2.0**-8]


def test_slopes_are_those_published_for_bloom():
    """The formula of transformers' BLOOM for twelve heads, after a power of two and not."""
    import torch
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    for n_heads in (8, 12):
        alibi = build_alibi_tensor(torch.ones(1, 2), n_heads, torch.float64)
        np.testing.assert_allclose(ref.alibi_slopes(n_heads), alibi[:, 0, 1], rtol=1e-6)


def test_alibi_is_0_at_the_query_and_falls_by_the_slope():
    bias = ref.alibi_bias([1.0, 0.25], 2, 4)
    assert bias[0].tolist() == [[-2, -1, 0, -1], [-3, -2, -1, 0]]
    np.testing.assert_array_equal(bias[1], bias[0] / 4)


def test_buckets_of_t5_looking_back():
    """16 exact ones, then 16 + 16 ln(n/16) / ln 8: 64 tokens give 26.7, 127 give 31.9."""
    distances = -np.array([0, 1, 15, 16, 64, 127, 128, 10_000])
    found = ref.relative_buckets(distances)
    assert found.tolist() == [0, 1, 15, 16, 26, 31, 31, 31]
    assert ref.relative_buckets([1, 50]).tolist() == [0, 0]


def test_buckets_of_t5_looking_both_ways():
    """8 exact ones, then 8 + 8 ln(n/8) / ln 16: 16 tokens give 10, 32 give 12; ahead + 16."""
    found = ref.relative_buckets([-16, -1, 0, 1, 16, 32, 500], bidirectional=True)
    assert found.tolist() == [10, 1, 0, 17, 26, 28, 31]


def test_two_and_three_buckets_by_hand():
    """0 and the rest; with three, 1 + 2 ln n / ln 16 is 2 from 4 tokens on."""
    assert ref.relative_buckets([0, -1, -99], 2).tolist() == [0, 1, 1]
    assert ref.relative_buckets([0, -1, -3, -4, -99], 3, 16).tolist() == [0, 1, 1, 2, 2]


def test_each_key_reads_the_entry_of_its_bucket():
    """The buckets of T5 above; 16 + 16 ln(n/16) / ln 8 is 26.90 at 66 tokens, 27.02 at 67."""
    table = np.arange(32.0)[:, None]
    back = ref.relative_bias(table, 1, 200)[0][0, 0, ::-1]
    assert back[[0, 1, 15, 64, 66, 67, 127, 199]].tolist() == [0, 1, 15, 26, 26, 27, 31, 31]
    ways = ref.relative_bias(table, 2, 17, bidirectional=True)[0][0]
    assert ways[:, [0, 14, 15, 16]].tolist() == [[9, 1, 0, 17], [10, 2, 1, 0]]


def test_buckets_never_go_back_with_distance():
    buckets = ref.relative_buckets(-np.arange(2000), 20, 300)
    assert set(np.diff(buckets)) == {0, 1}
    assert (buckets[0], buckets[-1]) == (0, 19)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_table_gets_the_vector_jacobian_product(rng, bidirectional):
    table, dbias = rng.standard_normal((8, 2)), rng.standard_normal((2, 5, 9))

    def bias(table):
        return ref.relative_bias(table, 5, 9, 6, bidirectional)[0]

    cache = ref.relative_bias(table, 5, 9, 6, bidirectional)[1]
    numerical = ref.numerical_vjp(bias, table, dbias)
    found = ref.relative_bias_backward(dbias, cache)
    np.testing.assert_allclose(found, numerical, rtol=1e-6, atol=1e-8)


def test_the_gradient_of_a_bucket_counts_how_often_it_is_read():
    """Among 4 positions: 4 + 6 at or ahead of the query, 3 one back, 2 two back, 1 further."""
    _, cache = ref.relative_bias(np.zeros((4, 1)), 4, max_distance=4)
    counts = ref.relative_bias_backward(np.ones((1, 4, 4)), cache)
    assert counts[:, 0].tolist() == [10, 3, 2, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ref.alibi_slopes(0), "n_heads=0 must be at least 1"),
        (lambda: ref.alibi_bias([[1.0]], 2), r"slopes have shape \(1, 1\)"),
        (lambda: ref.alibi_bias([1.0], 3, 2), "T=3 queries and S=2 keys"),
        (lambda: ref.alibi_bias([np.nan], 3), "slopes holds 1 NaN"),
        (lambda: ref.relative_buckets([]), "there is no distance"),
        (lambda: ref.relative_buckets([1], 1), "n_buckets=1 must be at least 2"),
        (lambda: ref.relative_buckets([1], 7, 128, True), "n_buckets=7 must be even"),
        (lambda: ref.relative_buckets([1], 32, 16), "max_distance=16 must be more than 16"),
        (lambda: ref.relative_bias(np.ones(4), 2), r"table has shape \(4,\)"),
        (lambda: ref.relative_bias(np.ones((32, 1)), 0), "T=0 queries and S=0 keys"),
        (
            lambda: ref.relative_bias_backward(
                np.ones((1, 3, 3)), ref.relative_bias(np.ones((32, 1)), 2)[1]
            ),
            r"dy has shape \(1, 3, 3\), but y has \(1, 2, 2\)",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_fractional_distances_are_refused():
    with pytest.raises(InputTypeError, match="distances must be integers, got float64"):
        ref.relative_buckets([0.5])
