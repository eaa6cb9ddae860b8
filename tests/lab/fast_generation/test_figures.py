import numpy as np

from lab.fast_generation import figures


def test_times_of_a_token_are_drawn_in_milliseconds_over_powers_of_two():
    seconds, slopes = {"kept": [0.001, 0.002, 0.004]}, {"line": [0.001, 0.002, 0.004]}
    ax = figures.token_times([64, 128, 256], seconds, slopes).axes[0]
    assert [line.get_ydata().tolist() for line in ax.get_lines()] == [[1, 2, 4], [1, 2, 4]]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["64", "128", "256"]


def test_caches_are_bars_and_printed_sizes_are_lines():
    ax = figures.cache_answers({"shared": 42.9, "full": 344.0}, {"A": 320, "B": 10}).axes[0]
    assert [bar.get_width() for bar in ax.patches] == [42.9, 344.0]
    assert [line.get_xdata()[0] for line in ax.get_lines()] == [320, 10]
    assert [t.get_text() for t in ax.texts] == ["42.9 GB", "344 GB"]


def test_passes_over_several_tokens_are_compared_with_one():
    ax = figures.together_times([1, 4], {"batch": [0.5, 1.0]}).axes[0]
    assert [list(line.get_ydata()) for line in ax.get_lines()] == [[1, 2], [1, 4]]


def test_rates_are_bars_beside_the_limit():
    ax = figures.reading_rates({"rows": 9.0, "columns": 15.0}, 20.0).axes[0]
    assert [bar.get_width() for bar in ax.patches] == [9.0, 15.0]
    assert list(ax.get_lines()[0].get_xdata()) == [20.0, 20.0]


def test_shared_and_own_mass_fill_both_distributions():
    """min = (.2, .3), the target has .3 more of the first, the draft .2 of the second."""
    ax = figures.shared_mass(["a", "b"], [0.5, 0.3], [0.2, 0.5]).axes[0]
    low, own, other = (bars.patches for bars in ax.containers)
    assert [bar.get_height() for bar in low] == [0.2, 0.3]
    np.testing.assert_allclose([bar.get_height() for bar in own], [0.3, 0])
    np.testing.assert_allclose([bar.get_height() for bar in other], [0, 0.2])


def test_the_best_number_of_draft_tokens_is_marked():
    ax = figures.speedup_lines([0, 1, 2], {"a": [1.0, 1.5, 1.2]}).axes[0]
    assert list(ax.get_lines()[1].get_xdata()) == [1]
    assert list(ax.get_lines()[1].get_ydata()) == [1.5]


def test_accepted_shares_stand_over_what_was_expected():
    ax = figures.rates_against_expected([0.2, 0.8], [0.25, 0.75], [0.1, 0.1]).axes[0]
    found = ax.containers[0].lines[0]
    assert found.get_xdata().tolist() == [0.2, 0.8]
    assert found.get_ydata().tolist() == [0.25, 0.75]


def test_noise_and_losses_draw_one_line_each():
    ax = figures.noise_by_bits([2, 3], {"row": [5.0, 11.0]}, ("predicted", [6.0, 12.0])).axes[0]
    assert [list(line.get_ydata()) for line in ax.get_lines()] == [[5.0, 11.0], [6.0, 12.0]]
    ax = figures.divergence_by_bits({"row": [8, 4]}, {"row": [0.001, 0.1]}).axes[0]
    assert list(ax.get_lines()[0].get_xdata()) == [8, 4]
    assert list(ax.get_lines()[0].get_ydata()) == [0.001, 0.1]
