import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch
from numpy.testing import assert_allclose, assert_array_equal

from lab.transformer_forward import figures
from mathlm.errors import InputError
from mathlm.plot.style import BLUE, ORANGE


def texts(ax):
    return [t.get_text() for t in ax.texts]


def test_the_map_names_every_part_and_every_shape():
    ax = figures.transformer_map(["a", "b"], ["<bos>", "x", "y"], ["x", "y", "<eos>"], 6).axes[
        0
    ]
    shown = texts(ax)
    assert shown.count("add & norm") == 5  # two in the encoder's block, three in the decoder's
    assert {"cross-attention", "self-attention", "self-attention, causal"} <= set(shown)
    assert {"weights\n3 × 2", "weights\n3 × 3", "weights\n2 × 2", "memory 2 × D"} <= set(shown)
    assert {"2 × D", "3 × D", "3 × V", "x · y · <eos>"} <= set(shown)


def test_a_map_needs_a_label_for_each_word_that_is_given():
    with pytest.raises(InputError, match="2 words given and 1 labels"):
        figures.transformer_map(["a"], ["<bos>", "x"], ["x"], 1)


def test_shares_are_drawn_by_width():
    ax = figures.word_share([16, 64], {"alone": [0.1, 0.03], "scaled": [0.7, 0.66]}).axes[0]
    assert_allclose([line.get_ydata() for line in ax.lines], [[0.1, 0.03], [0.7, 0.66]])


def test_masks_are_shown_with_rows_that_ask_and_columns_that_are_read():
    mask = np.array([[True, False], [True, True], [True, False]])
    ax = figures.batch_masks({"cross": mask}, {"cross": (["x", "y", "z"], ["a", "b"])}).axes[0]
    assert_array_equal(ax.images[0].get_array(), mask)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["x", "y", "z"]


def test_a_mask_that_does_not_fit_its_words_is_refused():
    with pytest.raises(InputError, match=r"mask \(1, 2\) for 1 rows and 1 columns"):
        figures.batch_masks({"m": np.ones((1, 2), dtype=bool)}, {"m": (["x"], ["a"])})


def test_a_step_computes_one_key_and_one_value_and_keeps_the_others():
    """Two source words, three steps: at first 2 (2 + 1) bars, then 2 at each step."""
    ax = figures.cache_growth(["a", "b"], ["<bos>", "u", "v"], ["u", "v", "<eos>"]).axes[0]
    bars = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
    colors = [to_hex(p.get_facecolor()).upper() for p in bars]
    assert len(bars) == 3 * 2 * 5
    assert colors.count(ORANGE) == 6 + 2 + 2
    assert colors.count(BLUE) == 2 * (2 + 1) + 2 * (2 + 2)
    assert [t for t in texts(ax) if "→" in t] == ["→ u", "→ v", "→ <eos>"]


def test_a_cache_without_a_word_for_each_step_is_refused():
    with pytest.raises(InputError, match="1 words given and 2 said"):
        figures.cache_growth(["a"], ["<bos>"], ["u", "v"])


def test_the_least_loss_is_marked_where_it_is_inside():
    ax = figures.smoothing_curves([0, 1, 2], {"a": [3, 1, 2], "b": [3, 2, 1]}).axes[0]
    marked = [line for line in ax.lines if line.get_marker() == "o"]
    assert [line.get_xydata().tolist() for line in marked] == [[[1, 1]]]  # b ends at its least


def test_training_starts_at_step_one_and_baselines_are_named():
    seeds = [{1: 0.2, 2: 0.9}, {1: 0.3, 2: 0.8}]
    figure = figures.translation_training([4.0, 1.0], seeds, {"dictionary": 0.6})
    left, right = figure.axes
    assert_allclose(left.lines[0].get_xydata(), [[1, 4], [2, 1]])
    assert_allclose(right.lines[0].get_xydata(), [[1, 0.2], [2, 0.9]])
    assert_allclose(right.lines[1].get_xydata(), [[1, 0.3], [2, 0.8]])
    assert texts(right) == ["dictionary"]


def test_alignments_share_their_words_and_say_their_range():
    table = np.array([[0.5, 0.25], [0.0, 2.0]])
    first, last = figures.alignments({"a": table, "b": table / 4}, ["x", "y"], ["u", "v"]).axes
    assert_allclose(first.images[0].get_array(), table)
    assert [ax.get_title() for ax in (first, last)] == ["a\n0 to 2", "b\n0 to 0.5"]


def test_an_alignment_of_another_shape_is_refused():
    with pytest.raises(InputError, match=r"table \(1, 2\) for 2 words written and 2 read"):
        figures.alignments({"a": np.ones((1, 2))}, ["x", "y"], ["u", "v"])


def test_bars_are_means_and_predictions_stand_beside_them():
    ax = figures.missing_pieces({"order": [0.2, 0.4], "source": [0.0]}, {"order": 0.36}).axes[0]
    assert_allclose([bar.get_width() for bar in ax.patches], [0.3, 0.0])
    predicted = next(line for line in ax.lines if line.get_color() == "#D55E00")
    assert_allclose(predicted.get_xydata(), [[0.36, -0.4], [0.36, 0.4]])


def test_letters_stand_at_their_rows_and_columns():
    table = np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    left, right = figures.letters_record({1: 0.5, 2: 1.0}, table, "a b", ["x", "<eos>"]).axes
    assert_allclose([bar.get_height() for bar in left.patches], [0.5, 1.0])
    assert_allclose(right.images[0].get_array(), table)
    assert [t.get_text() for t in right.get_xticklabels()] == ["a", "␣", "b"]


def test_letters_that_do_not_fit_their_weights_are_refused():
    with pytest.raises(InputError, match=r"weights \(1, 1\) for 1 letters written, 2 read"):
        figures.letters_record({1: 1.0}, [[1.0]], "ab", ["x"])
