import numpy as np
import pytest
import torch

from lab.positional_encoding import position_geometry
from mathlm import functional as F
from mathlm import reference as ref
from mathlm.errors import InputError


def test_a_head_with_equal_scores_is_the_running_mean(rng):
    v, T = rng.normal(size=(2, 5, 3)), 5
    y, _ = ref.dot_product_attention(
        np.zeros((2, T, 4)), rng.normal(size=(2, T, 4)), v, np.tri(T) > 0
    )
    np.testing.assert_allclose(position_geometry.running_mean(v), y, rtol=1e-12)


def test_a_marked_start_is_counted_and_equal_rows_are_not():
    """1, 1/2, 1/3, 1/4; and the mean of equal rows is that row."""
    marks = np.array([[1.0], [0], [0], [0]])
    np.testing.assert_allclose(
        position_geometry.running_mean(marks)[:, 0], [1, 1 / 2, 1 / 3, 1 / 4]
    )
    np.testing.assert_allclose(position_geometry.running_mean(np.full((4, 1), 0.7)), 0.7)


def test_the_mean_of_the_largest_numbers_does_not_overflow():
    np.testing.assert_array_equal(
        position_geometry.running_mean(np.full((3, 1), 1.5e308)), 1.5e308
    )


def test_values_without_a_position_axis_are_refused():
    with pytest.raises(InputError, match=r"shape \(3,\), expected \(\.\.\., T, D\)"):
        position_geometry.running_mean(np.ones(3))


def test_overlap_is_the_dot_product_of_rows_of_the_table():
    table = F.sinusoidal_table(50, 16).numpy()
    k = np.arange(20)
    for t in (0, 7, 29):
        np.testing.assert_allclose(
            table[t + k] @ table[t], position_geometry.pair_overlap(k, 16), atol=1e-12
        )


def test_overlap_at_distance_zero_is_half_the_width():
    assert position_geometry.pair_overlap(0, 10) == 5.0


def test_scores_stay_under_the_decay_bound(rng):
    """|Σ hᵢ e^{iδθᵢ}| ≤ Σ|S_j| max|hᵢ₊₁ - hᵢ|, scores from torch's rotation."""
    q, k = rng.normal(size=(2, 200, 8))
    cos, sin = F.rotary_table(301, 8)
    turned = F.rotate_interleaved(
        torch.tensor(q)[:, None].expand(-1, 301, -1), cos, sin
    ).numpy()
    scores = (turned * k[:, None]).sum(-1)  # (200, distances)
    h = (q[:, ::2] + 1j * q[:, 1::2]) * (k[:, ::2] - 1j * k[:, 1::2])
    largest = np.abs(np.diff(np.c_[h, np.zeros(200)])).max(1)
    bound = 4 * position_geometry.decay_bound(np.arange(301), 8) * largest[:, None]
    assert (np.abs(scores) <= bound * (1 + 1e-12)).all()
    assert (np.abs(scores) / bound).max() > 0.5


def test_decay_bound_at_distance_zero_is_the_mean_of_one_to_half_the_width():
    """S_j(0) = j, so B = (1 + 2 + 3 + 4) / 4."""
    assert position_geometry.decay_bound(0, 8) == pytest.approx(2.5, rel=1e-15)


def test_pairs_that_turn_of_four_wavelengths():
    """K = 8: wavelengths 6.28, 62.8, 628 and 6283."""
    lengths = (6, 7, 63, 6283, 6284)
    assert [position_geometry.pairs_that_turn(n, 8) for n in lengths] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("slope", [0.5, 0.05])
def test_weight_beyond_the_reach_is_less_than_the_share(rng, slope):
    scores, T = rng.uniform(0, 2, size=(100, 400)), 400
    reach = position_geometry.alibi_reach(slope, 2.0, 0.05)
    distance = np.arange(T)[::-1]
    weights = ref.softmax(scores - slope * distance)
    assert weights[:, distance >= reach].sum(1).max() < 0.05


def test_with_equal_scores_the_reach_is_met():
    """Σ_{d ≥ w} e^{-md} / Σ_{d ≥ 0} e^{-md} = e^{-mw} for an endless sequence."""
    weights = ref.softmax(-0.1 * np.arange(5000))
    assert weights[30:].sum() == pytest.approx(np.exp(-3.0), rel=1e-9)
    assert position_geometry.alibi_reach(0.1, share=float(np.exp(-3.0))) == pytest.approx(30.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: position_geometry.pair_overlap(1, 7), "width 7 must be even"),
        (lambda: position_geometry.decay_bound(1, 8, 1.0), "base=1.0 must be above 1"),
        (lambda: position_geometry.pair_overlap(np.nan, 8), "NaN"),
        (lambda: position_geometry.pairs_that_turn(0, 8), "length=0 must be positive"),
        (lambda: position_geometry.alibi_reach(0), "slope=0 must be positive"),
        (lambda: position_geometry.alibi_reach(0.5, share=1), "share=1 between 0 and 1"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_each_pair_reads_the_vector_of_its_clipped_distance(rng):
    q, k, table = rng.normal(size=(4, 3)), rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    scores = position_geometry.relative_vector_scores(q, k, table)
    for t in range(4):
        for s in range(6):
            vector = table[2 + max(-2, min(2, s - t))]
            assert scores[t, s] == pytest.approx(q[t] @ (k[s] + vector) / 3**0.5)
    with pytest.raises(InputError, match=r"table has shape \(4, 3\): it needs an odd number"):
        position_geometry.relative_vector_scores(q, k, table[:4])
