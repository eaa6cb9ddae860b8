import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import (
    expected_calibration_error,
    fit_temperature,
    log_softmax,
    reliability_curve,
    softmax,
)


def test_bins_by_hand():
    """Bins [0, 1/2) and [1/2, 1]: 0.1 and 0.3, one true; 0.5, 0.9 and 1.0, two true."""
    c = np.array([0.1, 0.3, 0.5, 0.9, 1.0])
    hit = np.array([False, True, True, False, True])
    said, true, count = reliability_curve(c, hit, bins=2)
    assert_allclose(said, [0.2, 0.8])
    assert_allclose(true, [1 / 2, 2 / 3])
    assert count.tolist() == [2, 3]
    assert_allclose(
        expected_calibration_error(c, hit, bins=2), (2 * 0.3 + 3 * (0.8 - 2 / 3)) / 5
    )


@pytest.mark.parametrize("bins", [3, 10, 49, 50, 100])
def test_a_confidence_on_an_edge_begins_the_bin_above_it(bins):
    """0.29 · 100 rounds to less than 29; the number just below an edge belongs to its bin."""
    edges = np.arange(bins) / bins
    counts = reliability_curve(edges, edges > 0.5, bins).counts
    assert counts.tolist() == [1] * bins
    below = np.nextafter(edges[1:], 0)
    assert reliability_curve(below, below > 0.5, bins).counts.tolist() == [1] * (bins - 1)
    curve = reliability_curve(np.append(below, 1.0), np.ones(bins, bool), bins)
    assert curve.counts.tolist() == [1] * bins


def test_one_prediction_has_one_bin():
    curve = reliability_curve(np.array([0.25]), np.array([True]))
    assert [x.tolist() for x in curve] == [[0.25], [1], [1]]


def test_empty_bins_are_left_out():
    curve = reliability_curve(np.array([0.05, 0.95]), np.array([False, True]), bins=10)
    assert curve.counts.tolist() == [1, 1]


def test_outcomes_drawn_from_the_stated_probabilities_are_calibrated(rng):
    """ECE of N calibrated predictions is of order sqrt(bins / N)."""
    c = rng.uniform(size=100_000)
    assert expected_calibration_error(c, rng.uniform(size=c.size) < c) < 0.01
    assert expected_calibration_error(c, rng.uniform(size=c.size) < c**2) > 0.1


def test_ten_bins_are_taken_where_none_are_named():
    """0.095 and 0.105 are in two of ten bins, and in one of nine or eleven."""
    c, hit = np.array([0.0, 0.095, 0.105]), np.array([False, True, False])
    curve = reliability_curve(c, hit)
    assert_allclose(curve.confidence, [0.0475, 0.105])
    assert curve.counts.tolist() == [2, 1]
    assert_allclose(expected_calibration_error(c, hit), (2 * 0.4525 + 0.105) / 3)


def test_one_bin_compares_the_averages(rng):
    c, hit = rng.uniform(size=50), rng.uniform(size=50) < 0.5
    assert_allclose(expected_calibration_error(c, hit, bins=1), abs(c.mean() - hit.mean()))


@pytest.fixture
def predictions(rng):
    """Targets drawn at temperature 1 of scores that are then made 2.5 times too sure."""
    z = rng.normal(size=(4000, 6)) * 1.5
    edges = softmax(z).cumsum(1)
    y = (rng.uniform(size=(4000, 1)) > edges).sum(1)
    return 2.5 * z, np.minimum(y, 5)


def test_temperature_undoes_a_known_overconfidence(predictions):
    assert fit_temperature(*predictions) == pytest.approx(2.5, rel=0.05)


@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 8.0, 200.0])
def test_temperature_matches_a_general_minimizer(predictions, scale):
    z, y = predictions
    z = z * scale / 2.5

    def loss(log_t):
        return -log_softmax(z * np.exp(-log_t))[np.arange(len(y)), y].mean()

    best = optimize.minimize_scalar(
        loss, bounds=(-8, 8), method="bounded", options={"xatol": 1e-9}
    )
    assert fit_temperature(z, y) == pytest.approx(np.exp(best.x), rel=1e-5)


@pytest.mark.parametrize(("V", "right", "N"), [(2, 501, 1001), (2, 9, 10), (1000, 50, 100)])
def test_temperature_of_one_top_score_over_equals_by_hand(V, right, N):
    """p = 1 / (1 + (V - 1) exp(-3/T)) is the share s that is right: at 501 of 1001 a whole step
    of Newton's would end below 0, and with 1000 outcomes far beyond the optimum."""
    z, y = np.zeros((N, V)), np.ones(N, dtype=int)
    z[:, 0], y[:right] = 3.0, 0
    best = 3 / np.log((V - 1) * right / (N - right))
    assert fit_temperature(z, y) == pytest.approx(best, rel=1e-9)


def test_temperature_is_found_where_rounding_of_the_loss_hides_the_last_step():
    """One error among n: at some n the loss next to its minimum rounds to more than it is."""
    for n in range(300, 370):
        z, y = np.zeros((n, 2)), np.zeros(n, dtype=int)
        z[:, 0], y[0] = 3.0, 1
        best = 3 / np.log(n - 1)
        # a minimum that is known to 1e-16 has a place that is known to 1e-8 or so
        assert fit_temperature(z, y) == pytest.approx(best, rel=1e-6)


def test_no_step_raises_the_loss():
    """A whole step from the start, T = 1 in this unit, would cost 92 instead of 6.4."""
    z, y = np.zeros((2, 1000)), np.array([0, 1])
    z[:, 0] = 1000 / 999
    found = [1.0, *(fit_temperature(z, y, steps=n) for n in (1, 2, 3))]
    losses = [-log_softmax(z / t)[[0, 1], y].mean() for t in found]
    assert (np.diff(losses) < 0).all()


def test_one_step_is_newtons():
    """Scores 0 and -2, of mean -1, with 3 of 4 right: from β = 1, where p = σ(2)."""
    z, y = np.array([[2.0, 0.0]] * 4), np.array([0, 0, 0, 1])
    p = 1 / (1 + np.exp(-2))
    beta = 1 - (2 * p - 2 * 3 / 4) / (4 * p * (1 - p))
    assert fit_temperature(z, y, steps=1) == pytest.approx(1 / beta, rel=1e-12)


def test_at_the_best_temperature_mean_scores_agree(predictions):
    """The slope of the loss in 1/T is the model's mean score less that of the truth."""
    z, y = predictions
    p = softmax(z, fit_temperature(z, y))
    assert_allclose((p * z).sum(1).mean(), z[np.arange(len(y)), y].mean(), rtol=1e-10)


def test_temperature_ignores_shifts_of_a_row(predictions, rng):
    z, y = predictions
    assert_allclose(fit_temperature(z + rng.normal(size=(4000, 1)), y), fit_temperature(z, y))


@pytest.mark.parametrize("unit", [1e-200, 1e-6, 1e6, 1e200])
def test_temperature_has_the_unit_of_the_scores(predictions, unit):
    z, y = predictions
    assert_allclose(fit_temperature(z * unit, y), unit * fit_temperature(z, y))


def test_where_no_temperature_is_best_there_is_an_error():
    z = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0]])
    with pytest.raises(InputError, match="every one of the 2 targets has the top score"):
        fit_temperature(z, np.array([0, 1]))
    with pytest.raises(InputError, match="do not favor the targets"):
        fit_temperature(z, np.array([2, 0]))
    with pytest.raises(InputError, match="do not favor the targets"):
        fit_temperature(np.array([[1.0, 0.0]] * 2), np.array([0, 1]))
    with pytest.raises(InputError, match="top score"):
        fit_temperature(np.zeros((2, 3)), np.array([0, 1]))


@pytest.mark.parametrize(
    ("z", "y", "message"),
    [
        (np.zeros((2, 3)), np.array([0]), r"\(2, 3\) and targets \(1,\)"),
        (np.zeros((2, 3)), np.array([[0], [1]]), r"\(2, 3\) and targets \(2, 1\)"),
        (np.zeros((0, 3)), np.array([], dtype=int), r"\(0, 3\)"),
        (np.array([[0.0, -np.inf]]), np.array([0]), "must be finite"),
        (np.zeros((1, 3)), np.array([3]), "from 3 to 3, outside the 3"),
        (np.zeros((1, 3)), np.array([-1]), "from -1 to -1"),
    ],
)
def test_logits_that_do_not_fit_are_refused(z, y, message):
    with pytest.raises(InputError, match=message):
        fit_temperature(z, y)


@pytest.mark.parametrize(
    ("c", "hit", "bins", "message"),
    [
        ([0.5], [True, False], 10, "must be rows of one length"),
        ([[0.5]], [[True]], 10, "must be rows of one length"),
        ([], [], 10, "at least 1"),
        ([0.5, 1.5], [True, True], 10, "the entry 1.5"),
        ([0.5, -0.5], [True, True], 10, "the entry -0.5"),
        ([np.nan], [True], 10, "the entry nan"),
        ([0.5], [True], 0, "bins=0"),
    ],
)
def test_predictions_that_cannot_be_binned_are_refused(c, hit, bins, message):
    with pytest.raises(InputError, match=message):
        reliability_curve(np.array(c, dtype=float), np.array(hit, dtype=bool), bins)


def test_a_fit_without_steps_is_refused(predictions):
    with pytest.raises(InputError, match="steps=0"):
        fit_temperature(*predictions, steps=0)


def test_types_must_be_those_of_the_question():
    with pytest.raises(InputTypeError, match="correct has dtype int64"):
        reliability_curve(np.array([0.5]), np.array([1]))
    with pytest.raises(InputTypeError, match="targets have dtype float64"):
        fit_temperature(np.zeros((1, 2)), np.array([0.0]))
