"""Tests of a reader's comparison of the arms of an ablation."""

import math
from collections.abc import Callable
from typing import Any

from lab.grading import Case, FaultError, Report, grade_by

Compare = Callable[..., Any]
GRID = (1e-3, 2e-3, 4e-3)


def grade(compare: Compare) -> Report:
    """Test a comparison of training runs.

    Args:
        compare: ``compare(rows, baseline)``, a dict from each other arm to (best step size,
            mean difference to the baseline, standard error of that mean). Rows are dicts with
            ``arm``, ``lr``, ``seed`` and ``loss``. ValueError if a best step size is at the end
            of its grid, or if fewer than three seeds form pairs.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, compare)


def rows(arm: str, losses: dict[float, list[float]]) -> list[dict[str, Any]]:
    """One row for each step size and seed."""
    return [
        {"arm": arm, "lr": lr, "seed": seed, "loss": loss}
        for lr, costs in losses.items()
        for seed, loss in enumerate(costs)
    ]


def arms(shift: float = 0.0) -> list[dict[str, Any]]:
    """A baseline that is best at 4e-3 and an arm at 2e-3, among four step sizes."""
    base = rows("base", {
        1e-3: [3.5, 3.7, 3.9], 2e-3: [3.2, 3.4, 3.6],
        4e-3: [3.0, 3.2, 3.4], 8e-3: [4.0, 4.2, 4.4],
    })  # fmt: skip
    other = rows("other", {
        1e-3: [3.4, 3.6, 3.8], 2e-3: [3.1, 3.3, 3.5],
        4e-3: [3.6, 3.8, 4.0], 8e-3: [5.0, 5.0, 5.0],
    })  # fmt: skip
    return base + [r | {"loss": r["loss"] + shift} for r in other]


def _result(compare: Compare, table: list[dict[str, Any]]) -> tuple[float, float, float]:
    """What is said of the arm named other."""
    found = compare(table, "base")
    if not isinstance(found, dict) or "base" in found:
        raise FaultError("return a dict with one entry for each arm but the baseline.")
    if "other" not in found or len(found["other"]) != 3:
        raise FaultError("an entry is (best step size, mean difference, standard error).")
    return tuple(map(float, found["other"]))  # type: ignore[return-value]


def _own(compare: Compare) -> None:
    lr, difference, _ = _result(compare, arms())
    if lr != 2e-3:
        raise FaultError(
            f"the arm is best at 0.002, not at {lr:g}: each arm has a step size of its own."
        )
    if math.isclose(difference, 0.6, abs_tol=1e-9):
        raise FaultError("the arm is compared at the step size of the baseline, 0.004.")
    if math.isclose(difference, -0.1, abs_tol=1e-9):
        raise FaultError("the baseline is taken at the step size of the arm.")
    if not math.isclose(difference, 0.1, abs_tol=1e-9):
        raise FaultError(f"3.1, 3.3, 3.5 against 3.0, 3.2, 3.4 is 0.1, not {difference:.3f}.")


def _paired(compare: Compare) -> None:
    _, _, error = _result(compare, arms())
    if math.isclose(error, 0.2 * math.sqrt(2 / 3), abs_tol=1e-6):
        raise FaultError("the error is that of two samples: runs of one seed are a pair.")
    if error > 1e-9:
        raise FaultError(f"all three differences are 0.1, so the error is 0, not {error:.3f}.")
    table = [r for r in arms() if r["arm"] == "base"]
    table += rows("other", {1e-3: [4.0] * 3, 2e-3: [3.0, 3.3, 3.7], 4e-3: [5.0] * 3})
    _, _, error = _result(compare, table)  # differences 0, 0.1, 0.3
    sample = math.sqrt(7 / 300)
    if math.isclose(error, sample, rel_tol=1e-6):
        raise FaultError("this is the standard deviation; divide by the root of the pairs.")
    if math.isclose(error, math.sqrt(14 / 900) / math.sqrt(3), rel_tol=1e-6):
        raise FaultError("the variance of a sample of three divides by two, not by three.")
    if not math.isclose(error, sample / math.sqrt(3), rel_tol=1e-6):
        raise FaultError(f"differences 0, 0.1, 0.3 have the error 0.088, not {error:.3f}.")


def _order(compare: Compare) -> None:
    table = arms()
    if _result(compare, table[::-1]) != _result(compare, table):
        raise FaultError("the result depends on the order of the rows: match runs by seed.")
    few = [r for r in table if not (r["arm"] == "base" and r["seed"] == 0)]
    extra = rows("base", {lr: [0, 0, 0, 3.6 if lr == 4e-3 else 4.6] for lr in (*GRID, 8e-3)})
    more = rows("other", {lr: [0, 0, 0, 3.7 if lr == 2e-3 else 4.7] for lr in (*GRID, 8e-3)})
    few += [r for r in extra + more if r["seed"] == 3]  # base: seeds 1, 2, 3
    if not math.isclose(_result(compare, few)[1], 0.1, abs_tol=1e-9):
        raise FaultError("a run whose seed the baseline lacks has no pair: leave it out.")


def _mean(compare: Compare) -> None:
    table = [r for r in arms() if r["arm"] == "base"]
    table += rows("other", {
        5e-4: [4.0] * 3, 1e-3: [3.1, 3.1, 3.1], 2e-3: [2.9, 3.6, 3.6], 4e-3: [5.0] * 3,
    })  # fmt: skip
    lr, _, _ = _result(compare, table)
    if lr == 2e-3:
        raise FaultError(
            "the step size with the single best run is chosen; take the best mean."
        )
    if lr != 1e-3:
        raise FaultError(f"means 4.0, 3.1, 3.37, 5.0: the best step size is 0.001, not {lr:g}.")


def _diverged(compare: Compare) -> None:
    table = [r for r in arms() if r["arm"] == "base"]
    bad = math.nan
    table += rows("other", {1e-3: [3.5] * 3, 2e-3: [3.2] * 3, 4e-3: [3.0, bad, 3.0],
                            8e-3: [bad] * 3})  # fmt: skip
    lr, difference, _ = _result(compare, table)
    if lr == 4e-3:
        raise FaultError("a step size at which one of three runs diverged (NaN) is chosen.")
    if lr != 2e-3 or math.isnan(difference):
        raise FaultError("a run that diverged has the loss NaN: count it as infinite.")


def _refused(compare: Compare, table: list[dict[str, Any]]) -> bool:
    try:
        compare(table, "base")
    except ValueError:
        return True
    return False


def _edge(compare: Compare) -> None:
    base = [r for r in arms() if r["arm"] == "base"]
    falling = rows("other", {1e-3: [3.5] * 3, 2e-3: [3.2] * 3, 4e-3: [3.0] * 3})
    if not _refused(compare, base + falling):
        raise FaultError(
            "the best step size is the last of the grid: it may lie beyond. Raise ValueError."
        )
    rising = rows("other", {1e-3: [3.0] * 3, 2e-3: [3.2] * 3, 4e-3: [3.5] * 3})
    if not _refused(compare, base + rising):
        raise FaultError("the best step size is the first of the grid: raise ValueError.")
    table = [r for r in arms() if r["arm"] == "other" or r["lr"] <= 4e-3]
    if not _refused(compare, table):
        raise FaultError("the baseline's best step size ends its grid: raise ValueError.")


def _few(compare: Compare) -> None:
    table = [r for r in arms() if r["seed"] < 2]
    if not _refused(compare, table):
        raise FaultError("two seeds are compared as if they were three: raise ValueError.")
    later = [r | {"seed": r["seed"] + 1} if r["arm"] == "base" else r for r in arms()]
    if not _refused(compare, later):  # seeds 1, 2, 3 and 0, 1, 2
        raise FaultError("two of three seeds form pairs: count pairs. Raise ValueError.")


OWN = "a step size for each arm"
TESTS = (
    Case(OWN, _own),
    Case("pairs of one seed", _paired, (OWN,)),
    Case("any order, any seeds", _order, (OWN,)),
    Case("the best mean", _mean, (OWN,)),
    Case("runs that diverged", _diverged, (OWN,)),
    Case("the end of a grid", _edge, (OWN,)),
    Case("too few seeds", _few, (OWN,)),
)
