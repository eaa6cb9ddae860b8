"""Plugin of the tests: a case that takes long carries the mark ``slow``.

Processor time is counted, of all threads and of the processes that a case has waited for, so
that a busy machine changes little. A case counts with the fixtures that it is the first to use.
"""

import os

import pytest

LONG, TOO_LONG = 2, 6  # [s]; between them it is only said, since processors differ
START = pytest.StashKey[float]()


def cpu_seconds():
    """Processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.stash[START] = cpu_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    result = yield
    took = cpu_seconds() - item.stash[START]
    item.user_properties.append(("cpu_seconds", took))
    alone = os.environ.get("OMP_NUM_THREADS") == "1"  # several threads spin while they wait
    if took > TOO_LONG and alone and not item.get_closest_marker("slow"):
        pytest.fail(
            f"the case took {took:.1f} s of processor time: "
            "make it smaller, or mark it with @pytest.mark.slow",
            pytrace=False,
        )
    return result


def pytest_terminal_summary(terminalreporter):
    """Says how long the cases took, and which are long and not marked."""
    passed = terminalreporter.getreports("passed")
    times = [(dict(r.user_properties).get("cpu_seconds", 0), r) for r in passed]
    slow = sum(took for took, report in times if "slow" in report.keywords)
    total = sum(took for took, _ in times)
    if passed:
        terminalreporter.write_line(f"{total:.0f} s of processor time, slow cases {slow:.0f} s")
    for took, report in sorted(times, key=lambda pair: -pair[0]):
        if took > LONG and "slow" not in report.keywords:
            terminalreporter.write_line(f"{took:.1f} s and not marked slow: {report.nodeid}")
