import numpy as np
from numpy.testing import assert_allclose

from lab.optimization import figures


def curves(ax):
    """Data of the labeled lines of an axis."""
    lines = {line.get_label(): line.get_data() for line in ax.lines}
    return {name: data for name, data in lines.items() if not name.startswith("_")}


def test_each_step_size_has_a_panel_with_its_walk_and_factor():
    fig = figures.step_sizes({eta: [1.0, 1 - 2 * eta] for eta in (0.1, 0.5, 0.9, 1.1)})
    titles = [ax.get_title() for ax in fig.axes]
    assert titles[0] == "η = 0.1: factor 0.8"
    assert_allclose(fig.axes[3].lines[1].get_ydata(), [1, -1.2])


def test_predicted_slope_starts_at_the_measured_loss():
    (ax,) = figures.convergence({"a": [8.0, 3.0, 2.0]}, {"a": 0.5}).axes
    assert_allclose(ax.lines[0].get_ydata(), [8, 3, 2])
    assert_allclose(ax.lines[1].get_ydata(), [8, 4, 2])
    assert ax.get_yscale() == "log"


def test_paths_are_drawn_over_the_landscape_in_its_window():
    path = np.array([[1.0, 2.0], [0.5, 1.0]])
    bowl = lambda x: (x**2).sum(-1)  # noqa: E731
    fig = figures.trajectories({"bowl": (bowl, {"a": path})}, span=(-3, 3, -2, 4))
    (ax,) = fig.axes
    assert_allclose(np.array(curves(ax)["a"]).T, path)
    assert (ax.get_xlim(), ax.get_ylim()) == ((-3, 3), (-2, 4))


def test_windows_may_differ_by_panel():
    bowl = (lambda x: (x**2).sum(-1), {"a": np.ones((2, 2))})
    spans = {"one": (-3, 3, -2, 4), "two": (-1, 2, -1, 2)}
    fig = figures.trajectories({"one": bowl, "two": bowl}, span=spans)
    assert [ax.get_xlim() for ax in fig.axes] == [(-3, 3), (-1, 2)]


def test_spectra_are_shares_of_the_largest():
    (ax,) = figures.muon_spectra({"gradient": [4.0, 1.0], "step": [2.0, 2.0]}).axes
    assert_allclose(curves(ax)["gradient"][1], [1, 0.25])
    assert_allclose(curves(ax)["step"][1], [1, 1])


def test_races_draw_the_training_loss():
    run = {"step": np.array([0.0, 20]), "train_loss": np.array([2.3, 1.0])}
    (ax,) = figures.races({"Adam": run}).axes
    assert_allclose(curves(ax)["Adam"], [[0, 20], [2.3, 1.0]])


def test_law_of_the_best_passes_twice_the_least_at_the_critical_batch():
    medians = {(b, lr): 100.0 for b in (4, 8) for lr in (0.5, 1.0)}
    (ax,) = figures.steps_by_batch(medians, least=50, critical=8).axes
    assert_allclose(curves(ax)["law of the best"], [[4, 8], [150, 100]])
    assert {"η = 0.5", "η = 1"} <= set(curves(ax))


def test_schedules_have_the_transformers_own_below():
    fig = figures.schedules({"constant": [1.0, 1.0]}, [0.5, 1.0, 0.7])
    assert_allclose(curves(fig.axes[0])["constant"][1], [1, 1])
    assert_allclose(fig.axes[1].lines[0].get_data(), [[1, 2, 3], [0.5, 1.0, 0.7]])


def test_losses_by_schedule_are_on_a_log_axis():
    (ax,) = figures.losses_by_schedule({"linear": [1.0, 0.1]}).axes
    assert_allclose(curves(ax)["linear"][1], [1, 0.1])
    assert ax.get_yscale() == "log"


def test_runs_are_gathered_by_peak_with_the_median_drawn():
    runs = [(0, 0.1, 3.0), (0, 0.1, 1.0), (0, 0.1, 2.0), (5, 0.1, 0.5)]
    fig = figures.early_adam([1.0, 0.5], [1.0, 0.5], [9.0, 3.0], runs)
    assert_allclose(curves(fig.axes[1])["peak η = 0.1"][1], [2.0, 0.5])
    assert [t.get_text() for t in fig.axes[1].get_xticklabels()] == ["0", "5"]


def test_clipping_moves_long_gradients_only():
    """(3, 4) has norm 5: by norm (0.6, 0.8), by entry (1, 1)."""
    fig = figures.clipping(np.array([[3.0, 4.0], [0.1, 0.2]]), 1.0)
    ends = [np.array(ax.lines[-1].get_data()).T for ax in fig.axes]
    assert_allclose(ends[0], [[0.6, 0.8], [0.1, 0.2]])
    assert_allclose(ends[1], [[1, 1], [0.1, 0.2]])
