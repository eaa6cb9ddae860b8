import numpy as np
import pytest

from lab.scaling_laws import figures
from mathlm.scaling import (
    ChinchillaLaw,
    Envelope,
    Parabolas,
    Points,
    fit_power_law,
    optimal_allocation,
)

LAW = ChinchillaLaw(A=400, B=900, E=1.7, alpha=0.3, beta=0.3)


def lines(ax):
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.get_lines()]


def test_both_kinds_of_axes_show_the_same_curve():
    fig = figures.power_law_axes([1, 10], {"law": [2.0, 1.0]})
    assert [lines(ax) for ax in fig.axes] == [[([1, 10], [2.0, 1.0])]] * 2
    assert [ax.get_xscale() for ax in fig.axes] == ["linear", "log"]


def test_held_out_points_are_the_largest_sizes_and_drawn_apart():
    x = np.array([1000.0, 1.0, 10.0, 100.0])
    law = fit_power_law([1, 10, 100], [4, 2, 1.1])
    ax = figures.law_and_held_out(x, [0.5, 4, 2, 1.1], law, held=1).axes[0]
    found = lines(ax)
    assert found[1] == ([1, 10, 100], [4, 2, 1.1])
    assert found[2] == ([1000], [0.5])
    assert found[0][1][0] == pytest.approx(law.predict([1.0])[0])


def test_the_band_is_that_of_the_interval_about_the_middle():
    law = fit_power_law([1, 10, 100], [4, 2, 1.1])
    ax = figures.law_and_held_out([1, 10, 100], [4, 2, 1.1], law).axes[0]
    ends = ax.collections[0].get_paths()[0].get_extents()
    height = law.predict([10.0])[0]
    assert ends.y1 == pytest.approx(height * 0.1 ** law.interval[0])
    assert ends.y0 == pytest.approx(height * 10 ** law.interval[0])


def test_each_budget_has_its_points_and_its_parabola():
    points = Points(np.array([6.0] * 3), np.array([1.0, 2.0, 4.0]), np.array([3.0, 2.5, 3.0]))
    found = Parabolas(*(np.array([v]) for v in (6.0, 2.0, 0.5, 2.5, 1.04)))
    dots, curve, star = lines(figures.isoflop_parabolas(points, found).axes[0])
    assert dots == ([1, 2, 4], [3, 2.5, 3])
    assert curve[1][0] == pytest.approx(2.5 + 1.04 * np.log(2) ** 2)
    assert star == ([2], [2.5])


def test_budgets_won_by_the_smallest_or_the_largest_size_are_hollow():
    best = Envelope(*np.array([[1.0, 2], [5, 6], [1, 1], [3, 2]]), np.array([True, False]))
    ax = figures.training_envelope([2, 1, 2], [5, 5, 6], [2.5, 3, 2], best).axes[0]
    assert lines(ax)[0] == ([1, 2], [3, 2.5])
    filled, hollow = ax.get_lines()[2:]
    assert (list(filled.get_xdata()), list(hollow.get_xdata())) == ([1], [2])
    assert hollow.get_markerfacecolor() == "none"


def test_the_path_of_least_loss_is_that_of_the_allocation():
    fig = figures.allocation_map(LAW, (1e6, 1e9), (1e7, 1e10), [1e17], {"run": (1e7, 1e9)})
    budget, path, run = lines(fig.axes[0])
    assert 6 * budget[0][3] * budget[1][3] == pytest.approx(1e17)
    n, d = path[0][30], path[1][30]
    assert (n, d) == pytest.approx(optimal_allocation(6 * n * d, LAW))
    assert run == ([1e7], [1e9])


def test_the_best_rate_of_each_width_is_marked_and_lost_runs_are_left_out():
    panels = {"standard": {32: [3.0, 2.0, np.nan]}, "muP": {32: [2.0, 2.5, 3.0]}}
    fig = figures.rates_across_widths([0.1, 0.2, 0.4], panels)
    assert [lines(ax)[1] for ax in fig.axes] == [([0.2], [2.0]), ([0.1], [2.0])]


def test_tokens_per_parameter_stand_beside_the_sizes():
    left, right = figures.lifetime_sizes([1, 10], [4, 2], [40, 80]).axes
    assert lines(left) == [([1, 10], [4, 2])]
    assert lines(right) == [([1, 10], [10, 40])]


def test_measured_epochs_stand_over_the_laws():
    ax = figures.repeated_epochs([1, 2], [3.0, 2.5], {"fresh": [3.0, 2.4]}).axes[0]
    assert lines(ax) == [([1, 2], [3.0, 2.4]), ([1, 2], [3.0, 2.5])]


def test_accuracy_rises_to_the_right():
    ax = figures.loss_to_accuracy([3, 2], {"task": [0.1, 0.9]}, step=(2.6, 2.3)).axes[0]
    assert ax.xaxis_inverted()
    assert lines(ax) == [([3, 2], [0.1, 0.9])]
    assert ax.patches[0].get_x() == 2.3


@pytest.mark.parametrize(
    ("number", "shown"), [(3e5, r"$3\times 10^{5}$"), (1e12, "$10^{12}$"), (2.5, "2.5")]
)
def test_large_numbers_are_powers_of_ten(number, shown):
    from lab.scaling_laws.figures import scientific

    assert scientific(number) == shown


def test_labels_of_a_map_lie_on_their_contours():
    fig = figures.allocation_map(LAW, (1e6, 1e9), (1e7, 1e10))
    fig.canvas.draw()
    labels = fig.axes[0].texts
    assert len(labels) >= 7
    for label in labels:
        n, d = label.get_position()
        assert LAW.loss([n], [d])[0] == pytest.approx(float(label.get_text()), abs=0.03)


def test_rates_that_were_taken_are_dotted():
    ax = figures.rates_tried({100: ([0.1, 0.2], [3, 2])}, {100: 0.15}).axes[0]
    assert lines(ax) == [([0.1, 0.2], [3, 2]), ([0.15, 0.15], [0, 1])]


def test_readings_that_were_not_fitted_are_hollow():
    ax = figures.curves_of_a_law(
        [1, 2], [3, 2.5], [8, 8], [True, False], {8: ([1, 2], [3, 2.4])}
    ).axes[0]
    filled, hollow, law = ax.get_lines()
    assert (list(filled.get_xdata()), list(hollow.get_xdata())) == ([1], [2])
    assert hollow.get_markerfacecolor() == "none"
    assert list(law.get_ydata()) == [3, 2.4]


def test_misses_of_each_law_have_a_panel():
    fig = figures.residuals_by_compute([1, 10], {"a": [1, -1], "b": [2, 3]}, [8, 16], 5)
    assert [lines(ax)[:2] for ax in fig.axes] == [
        [([1], [1]), ([10], [-1])],
        [([1], [2]), ([10], [3])],
    ]


def test_exponents_without_a_group_stand_around_that_of_all():
    ax = figures.left_out({"size": {"8": 0.7, "16": 0.5}}, 0.6).axes[0]
    assert lines(ax)[1] == ([0, 1], [0.7, 0.5])
    assert [t.get_text() for t in ax.get_xticklabels()] == ["8", "16"]
