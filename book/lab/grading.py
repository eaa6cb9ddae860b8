"""Grader of the projects: tests of a reader's own code, in order, each with a sentence."""

import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mathlm

OURS, PACKAGE = (
    {"project.py", "project_steering.py", "grading.py"},
    Path(mathlm.__file__).parent,
)


class FaultError(Exception):
    """A sentence that says what submitted code does wrong."""


class Case(NamedTuple):
    """One test of a project.

    Args:
        name: What is tested, as the report shows it.
        run: Called with the submitted code; returns a sentence that says what is wrong (None
            if nothing is), or raises it as a :class:`FaultError`.
        needs: Names of tests without which this one would only repeat their fault.
    """

    name: str
    run: Callable[..., str | None]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """One test: its name, and what is wrong (None if nothing is).

    Args:
        name: What was tested.
        fault: A sentence, or None.
        ran: False if the test was put off until another one passes.
    """

    name: str
    fault: str | None = None
    ran: bool = True

    @property
    def passed(self) -> bool:
        """Whether the test was run and found nothing."""
        return self.ran and self.fault is None

    def __str__(self) -> str:
        if not self.ran:
            return f"· {self.name} (not run yet)"
        return f"✓ {self.name}" if self.passed else f"✗ {self.name}: {self.fault}"


@dataclass(frozen=True)
class Report:
    """What the grader found; printed as one line for each test.

    Args:
        results: One for each test, in order.
        note: A last line, such as what was not tested.
    """

    results: tuple[Result, ...]
    note: str = ""

    @property
    def faults(self) -> list[str]:
        """The sentences that say what is wrong."""
        return [r.fault for r in self.results if r.fault is not None]

    @property
    def passed(self) -> bool:
        """Whether every test was run and found nothing."""
        return all(r.passed for r in self.results)

    def __repr__(self) -> str:
        """One line for each test, and the count; a sentence that comes twice stands once."""
        lines: list[str] = []
        said: dict[str | None, str] = {}  # where a sentence stood first
        for r in self.results:
            again = r.fault and r.fault in said
            lines.append(f'✗ {r.name}: as at "{said[r.fault]}"' if again else str(r))
            said.setdefault(r.fault, r.name)
        good = sum(r.passed for r in self.results)
        count = f"{good} of {len(self.results)} tests passed"
        return "\n".join(filter(None, [*lines, count, self.note]))


def grade_by(
    tests: Sequence[Case],
    *submitted: Any,
    advice: Callable[[Exception], str] = lambda error: "",
    note: str = "",
) -> Report:
    """Run the tests of a project on submitted code; put off those that build on a failed one.

    Args:
        tests: In the order of the report.
        submitted: The reader's functions or classes, handed to each test.
        advice: A sentence for an exception that the reader's code raised, or "".
        note: The last line of the report.

    Returns:
        A report that prints itself.
    """
    results: dict[str, Result] = {}
    for test in tests:
        if all(results[name].passed for name in test.needs):
            results[test.name] = Result(test.name, _fault(test, submitted, advice))
        else:
            results[test.name] = Result(test.name, ran=False)
    return Report(tuple(results.values()), note)


def grade_parts(parts: Mapping[str, Sequence[Case]], *submitted: Any) -> Report:
    """Grade a project of several parts as far as it was handed in.

    Args:
        parts: The tests of each part, by its name in the report, in the order of ``submitted``.
        submitted: The reader's code for each part; None = this one and those after it are not
            tested yet.

    Returns:
        A report that prints itself; a test of a later part has not run.
    """
    given = submitted.index(None) if None in submitted else len(submitted)
    tests = list(parts.values())
    found = grade_by([case for part in tests[:given] for case in part], *submitted)
    later = [Result(case.name, ran=False) for part in tests[given:] for case in part]
    note = f"Not tested yet: {list(parts)[given]}." if later else ""
    return Report(found.results + tuple(later), note)


def advice_on_shapes(hint: str) -> Callable[[Exception], str]:
    """Advice that gives the hint for arrays whose shapes do not fit, and none for the rest."""

    def advice(error: Exception) -> str:
        fits_not = isinstance(error, ValueError) and re.search("broadcast|matmul", str(error))
        return hint if fits_not else ""

    return advice


def _fault(test: Case, submitted: Sequence, advice: Callable[[Exception], str]) -> str | None:
    """What a test says, or what the tested code raised and where."""
    try:
        with np.errstate(all="ignore"):
            return test.run(*submitted)
    except FaultError as fault:
        return str(fault)
    except NotImplementedError:
        return "something is not written yet: NotImplementedError was raised."
    except Exception as error:  # whatever the reader's code may raise
        where = _line(error)
        return (
            f"your code raised {type(error).__name__}{where}: {error}. {advice(error)}".strip()
        )
    return None


def _line(error: Exception) -> str:
    """The line of the reader's code that an exception passed last."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        ours = file.name in OURS or file.is_relative_to(PACKAGE)
        if not ours and "site-packages" not in file.parts:
            return f" in line {frame.lineno} of {frame.name}"
    return ""


__all__ = ["Case", "FaultError", "Report", "Result", "grade_by"]
