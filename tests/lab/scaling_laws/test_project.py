"""The project's grader: the solution passes, each planted fault is named, and runs are made."""

import inspect

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.stats import t as student

from lab.scaling_laws import project
from lab.scaling_laws import project_solution as right
from mathlm.errors import InputError


def planted(function, old, new):
    """A function of the solution with one piece of its text changed."""
    source = inspect.getsource(function)
    assert source.count(old) == 1
    space = {
        "np": np,
        "ndarray": np.ndarray,
        "student": student,
        "least_squares": least_squares,
    }
    space |= {"Callable": right.Callable, "Predict": right.Predict}
    exec(source.replace(old, new), space)
    return space[function.__name__]


PREDICTED = "np.exp(log_loss(found.x, n, d))"
FAULTS = {
    "misses its own readings": ("fit", 'x_scale="jac"', "max_nfev=1"),
    "predict(n, d) has shape": ("fit", PREDICTED, f"{PREDICTED}.mean()"),
    "is not finite everywhere": ("fit", PREDICTED, f"np.nan * {PREDICTED}"),
    "one broken run of 35": ("fit", 'loss="huber", f_scale=0.01', 'loss="linear"'),
    "a token costs cost[i]": ("plan", "compute / cost[best]", "compute / (6 * sizes[best])"),
    "where the loss is least": ("plan", "losses.argmin()", "losses.argmax()"),
    "the budget buys": ("plan", "compute / cost[best]", "6 * compute / cost[best]"),
    "the loss there is": ("plan", "float(losses[best])", "float(np.log(losses[best]))"),
    "the factor G - 1 is missing": (
        "interval", "(len(names) - 1) * np.var(left)", "np.var(left)",
    ),
    "is their mean square about the mean": ("interval", "np.var(left)", "np.var(left, ddof=1)"),
    "take Student's": ("interval", "student.ppf(0.975, len(names) - 1)", "1.96"),
    "not symmetric in log L": (
        "interval", "np.exp(middle - reach)", "np.exp(middle) * (1 - reach)",
    ),
    "does not hold the prediction": ("interval", "middle = np.log(", "middle = 2 * np.log("),
    "the jackknife gives": ("interval", "* np.var(left)", "* np.var(left) * 9"),
}  # fmt: skip


def test_the_solution_passes():
    report = project.grade(right.fit, right.plan, right.interval)
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    name, old, new = FAULTS[sentence]
    parts = {n: getattr(right, n) for n in ("fit", "plan", "interval")}
    parts[name] = planted(parts[name], old, new)
    report = project.grade(**parts)
    assert any(sentence in fault for fault in report.faults), report


def test_a_law_of_another_form_is_named():
    """A polynomial in the logarithms passes through the runs and not beyond them."""

    def terms(n, d):
        x, y = np.log(n) - 11.5, np.log(d) - 16
        return np.stack([x**i * y**j for i in range(4) for j in range(4 - i)], -1)

    def polynomial(n, d, loss):
        weights = np.linalg.lstsq(terms(n, d), np.log(loss), rcond=None)[0]
        return lambda n, d: np.exp(terms(n, d) @ weights)

    report = project.grade(polynomial, right.plan, right.interval)
    assert any("is the form that of the planted law" in fault for fault in report.faults), (
        report
    )


@pytest.mark.slow
def test_leaving_out_readings_is_named():
    def by_reading(fit, n, d, loss, groups, n_new, d_new):
        each = groups if len(n) == 6 else np.arange(len(n))
        return right.interval(fit, n, d, loss, each, n_new, d_new)

    report = project.grade(right.fit, right.plan, by_reading)
    assert any("leave out groups, not readings" in fault for fault in report.faults), report


def test_runs_on_a_text_of_the_readers(tmp_path):
    letters = np.random.default_rng(0).integers(97, 101, 40_000).astype(np.uint8)
    (tmp_path / "my.txt").write_bytes(letters.tobytes())
    rows = project.own_runs(tmp_path / "my.txt", (8,), (4, 16), (0, 1))
    assert [(r["width"], r["seed"], r["tokens"]) for r in rows] == [
        (8, s, t) for s in (0, 1) for t in (4096, 16384)
    ]
    assert all(b["loss"] < a["loss"] for a, b in (rows[:2], rows[2:]))
    with pytest.raises(InputError, match=r"my\.txt has 40,000 bytes"):
        project.own_runs(tmp_path / "my.txt", (8,), (64,), (0,))
