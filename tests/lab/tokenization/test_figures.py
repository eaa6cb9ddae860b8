import numpy as np
import pytest

from lab.tokenization import figures
from mathlm.errors import InputError


def test_trainer_growth_names_the_slope_of_each_trainer():
    """Times in proportion to x² have slope 2 on logarithmic axes."""
    fig = figures.trainer_growth([1, 10], {"square": [1, 100]}, [1, 10], {"line": [3, 30]})
    labels = [ax.get_legend().get_texts()[0].get_text() for ax in fig.axes]
    assert labels == ["square, slope 2.00", "line, slope 1.00"]


def test_compression_draws_a_curve_a_text_and_a_point_a_tokenizer():
    axes = figures.compression_by_vocabulary(
        [256, 512], {"plays": [1.0, 2.0]}, {"GPT-2": (50_257, 3.0)}
    ).axes[0]
    assert [line.get_ydata().tolist() for line in axes.get_lines()] == [[1.0, 2.0], [3.0]]


def test_token_frequencies_count_the_tokens_below_each_threshold():
    """Of 0, 0, 10 and 50 two are below 1, two below 10 and four below 100."""
    axes = figures.token_frequencies([0, 10, 0, 50]).axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["2 below 1", "2 below 10", "4 below 100"]
    assert axes.get_lines()[0].get_ydata().tolist() == [50, 10]


def test_bits_and_losses_are_means_over_seeds_with_a_dot_a_seed():
    bits, nats = [[2.0, 2.2], [1.8, 1.9]], [[1.0, 1.2], [2.0, 2.4]]
    fig = figures.vocabulary_size_bits([256, 512], {"run": bits}, {"run": nats}, [3.0, 2.5])
    left, right = fig.axes
    np.testing.assert_allclose(left.get_lines()[0].get_ydata(), [1.1, 2.2])
    np.testing.assert_allclose(right.get_lines()[0].get_ydata(), [2.1, 1.85])
    assert [line.get_ydata().tolist() for line in right.get_lines()[1:]] == [
        [2.0, 1.8],
        [2.2, 1.9],
        [3.0, 2.5],
    ]


def test_fertility_has_a_bar_for_each_text_and_tokenizer():
    fig = figures.fertility_bars(
        {"en": {"A": 1.0, "B": 2.0}, "fi": {"A": 3.0, "B": 4.0}}, "tokens"
    )
    assert [bar.get_width() for bar in fig.axes[0].patches] == [1.0, 3.0, 2.0, 4.0]


def test_a_table_with_a_hole_is_refused():
    with pytest.raises(InputError, match=r"'fi' has \['A'\], expected \['A', 'B'\]"):
        figures.fertility_bars({"en": {"A": 1.0, "B": 2.0}, "fi": {"A": 3.0}}, "tokens")


def test_number_cuts_color_each_number_by_its_cut():
    cuts = [(4,)] * 900 + [(2, 2)] * 8100
    axes = figures.number_cuts(cuts).axes[0]
    image = axes.images[0].get_array()
    assert (image[:9] == 1).all()
    assert (image[9:] == 0).all()
    shown = [text.get_text() for text in axes.get_legend().get_texts()]
    assert shown == ["2 + 2: 90.0%", "4: 10.0%"]


def test_cuts_that_are_not_of_four_digits_are_refused():
    with pytest.raises(InputError, match="1 cuts, expected 9,000 of four digits"):
        figures.number_cuts([(4,)])


def test_row_similarity_counts_used_and_unused_rows_apart():
    axes = figures.row_similarity(
        np.array([0.5, 0.6, 1.0]), np.array([False, False, True])
    ).axes[0]
    heights = [sum(bar.get_height() for bar in group) for group in axes.containers]
    assert heights == [1, 2]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: figures.trainer_growth([1, 2], {"a": [1, 0]}, [1], {}), "'a' holds 0"),
        (
            lambda: figures.compression_by_vocabulary([1], {"a": [1, 2]}, {}),
            r"\(2,\), expected \(1",
        ),
        (lambda: figures.token_frequencies([]), r"counts has shape \(0,\)"),
        (lambda: figures.token_frequencies([0, 0]), "none of 2 tokens occurs"),
        (lambda: figures.token_frequencies([1, -2]), "counts holds -2"),
        (
            lambda: figures.vocabulary_size_bits([1, 2], {}, {"a": [1.0, 2.0]}, [1, 2]),
            r"expected \(2, 'any'",
        ),
        (
            lambda: figures.vocabulary_size_bits([1, 2], {}, {}, [1.0]),
            r"frequencies has shape \(1,\), expected \(2,\)",
        ),
        (lambda: figures.row_similarity([np.nan], [True]), "similarity holds nan"),
        (lambda: figures.row_similarity([0.5, 1.0], [True]), r"unused has shape \(1,\)"),
        (lambda: figures.fertility_bars({}, "tokens"), "table is empty"),
    ],
)
def test_numbers_that_cannot_be_drawn_are_refused(draw, message):
    with pytest.raises(InputError, match=message):
        draw()


def test_a_third_tokenizer_is_refused_and_not_left_out():
    points = dict.fromkeys("abc", (1, 1.0))
    with pytest.raises(InputError, match="3 tokenizers as points, expected at most 2"):
        figures.compression_by_vocabulary([1], {"text": [1.0]}, points)
