"""The graders' common part: order, what is put off, where an exception was raised."""

from types import FunctionType

import numpy as np
import pytest

import mathlm
from lab.grading import (
    Case,
    FaultError,
    Report,
    Result,
    advice_on_shapes,
    grade_by,
    grade_parts,
)


def wrong(*submitted):
    raise FaultError("it is wrong.")


def calls(function):
    return function()


def test_a_test_waits_for_those_it_needs():
    tests = Case("a", lambda: None), Case("b", wrong, ("a",)), Case("c", wrong, ("b",))
    report = grade_by([Case("d", wrong), *tests][1:], note="Part 2 was not tested.")
    assert str(report).splitlines() == [
        "✓ a",
        "✗ b: it is wrong.",
        "· c (not run yet)",
        "1 of 3 tests passed",
        "Part 2 was not tested.",
    ]
    assert not report.passed
    assert report.faults == ["it is wrong."]


def test_parts_are_graded_as_far_as_they_are_handed_in():
    parts = {"first": [Case("a", lambda *_: None)], "second": [Case("b", wrong)]}
    some = grade_parts(parts, calls, None)
    assert str(some).splitlines()[1:] == [
        "· b (not run yet)",
        "1 of 2 tests passed",
        "Not tested yet: second.",
    ]
    assert not some.passed
    both = grade_parts(parts, calls, calls)
    assert both.faults == ["it is wrong."]
    assert both.note == ""


def test_a_sentence_may_be_returned():
    assert grade_by([Case("a", lambda: "it is late.")]).faults == ["it is late."]


def test_a_sentence_that_comes_twice_stands_once():
    report = Report((Result("a", "wrong."), Result("b", "wrong.")))
    assert str(report).splitlines()[:2] == ["✗ a: wrong.", '✗ b: as at "a"']


def test_an_exception_is_said_with_its_line_and_advice():
    def divides():
        return 1 / 0

    def advice(error):
        return "Is the count 0?" if isinstance(error, ZeroDivisionError) else ""

    report = grade_by([Case("a", calls)], divides, advice=advice)
    line = divides.__code__.co_firstlineno + 1
    said = f"your code raised ZeroDivisionError in line {line} of divides: division by zero."
    assert report.faults == [f"{said} Is the count 0?"]


def test_the_hint_on_shapes_is_for_shapes_that_do_not_fit():
    advice = advice_on_shapes("Print the shapes.")
    for misfit in (lambda: np.ones(2) + np.ones(3), lambda: np.ones(2) @ np.ones(3)):
        (said,) = grade_by([Case("a", calls)], misfit, advice=advice).faults
        assert said.endswith("Print the shapes.")
    (said,) = grade_by([Case("a", calls)], lambda: int("two"), advice=advice).faults
    assert "Print the shapes" not in said


def test_the_line_is_the_readers_if_the_package_raised():
    def takes_a_matrix():
        return mathlm.reference.softmax("abc")

    (said,) = grade_by([Case("a", calls)], takes_a_matrix).faults
    line = takes_a_matrix.__code__.co_firstlineno + 1
    assert f" in line {line} of takes_a_matrix: " in said


def test_no_line_is_named_if_none_is_the_readers():
    def run(f):
        return mathlm.reference.softmax(f())

    # this file stands for a project's: what it raises by itself has no line of a reader
    code = run.__code__.replace(co_filename="project.py")
    (said,) = grade_by([Case("a", FunctionType(code, run.__globals__))], lambda: "abc").faults
    assert " in line " not in said


def test_an_interrupt_is_not_taken_for_a_fault():
    def stops():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade_by([Case("a", calls)], stops)
