import numpy as np

from lab.conventions import figures
from mathlm.functional import causal_mask


def test_masks_are_drawn_as_they_are():
    masks = {"ours": causal_mask(3, 5).numpy(), "other": np.tri(3, 5, dtype=bool)}
    for ax, mask in zip(figures.mask_alignment(masks).axes, masks.values(), strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array(), mask)


def test_every_feature_has_one_partner_in_each_pairing():
    for ax in figures.rotary_pairs(8).axes:
        ends = [(a.center[0] - a.width / 2, a.center[0] + a.width / 2) for a in ax.patches]
        assert sorted(x for pair in ends for x in pair) == list(range(8))


def test_half_split_pairs_are_half_the_width_apart():
    half, interleaved = figures.rotary_pairs(8).axes
    assert {a.width for a in half.patches} == {4}
    assert {a.width for a in interleaved.patches} == {1}


def test_shifted_losses_are_smoothed_by_their_mean():
    """The mean of 0 ... 9 is 4.5, drawn at step 10."""
    ax = figures.shift_curves({0: np.arange(12.0), 1: np.ones(12)}).axes[0]
    np.testing.assert_allclose(ax.lines[0].get_xydata()[0], [10, 4.5])
    assert [t.get_text() for t in ax.get_legend().get_texts()][1] == "shift 1: the next byte"


def test_counts_and_their_crossing_are_drawn():
    T = np.array([10, 100, 1000])
    ax = figures.asymptotics(T, {"a": 6 * T, "b": T**2}, crossing=6).axes[0]
    np.testing.assert_allclose(ax.lines[1].get_ydata(), T**2)
    assert ax.texts[0].get_text() == "T = 6"
