"""A case that takes long carries the mark ``slow``: the plugin under a false clock."""

import itertools

import cpu_time
import pytest

pytest_plugins = "pytester"
CASES = """
import pytest

def test_short(): pass

@pytest.mark.slow
def test_marked(): pass
"""


@pytest.fixture
def outcome(pytester, monkeypatch):
    """What the two cases end as when each takes ``seconds`` of processor time."""
    pytester.makepyfile(CASES)
    pytester.makeini("[pytest]\nmarkers = slow: long")

    def run(seconds, threads="1"):
        clock = itertools.count(0, seconds)  # looked at once before a case and once after it
        with monkeypatch.context() as patch:
            patch.setattr(cpu_time, "cpu_seconds", lambda: next(clock))
            patch.setenv("OMP_NUM_THREADS", threads)
            return pytester.runpytest_inprocess("-p", "cpu_time", "-p", "no:cacheprovider")

    return run


def test_a_case_of_seven_seconds_fails_unless_it_is_marked(outcome):
    result = outcome(7)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["the case took 7.0 s of *mark it with @pytest.mark.slow"])


def test_no_case_fails_where_several_threads_spin(outcome):
    outcome(7, threads="2").assert_outcomes(passed=2)


def test_a_case_of_three_seconds_is_named_unless_it_is_marked(outcome):
    result = outcome(3)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["3.0 s and not marked slow: *::test_short"])
    result.stdout.no_fnmatch_line("*not marked slow: *::test_marked")
    result.stdout.fnmatch_lines(["6 s of processor time, slow cases 3 s"])


def test_a_case_of_a_second_is_not_named(outcome):
    result = outcome(1)
    result.assert_outcomes(passed=2)
    result.stdout.no_fnmatch_line("*not marked slow*")


def test_time_of_a_child_counts_once_it_has_ended(pytester):
    before = cpu_time.cpu_seconds()
    pytester.run("python", "-c", "import time\nwhile time.process_time() < 0.3: pass")
    assert cpu_time.cpu_seconds() - before >= 0.3
