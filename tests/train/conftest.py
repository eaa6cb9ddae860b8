"""Runs of several ranks, made once for all tests that look at them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def pytest_collection_modifyitems(items):
    """Cases that look at groups of ranks come first, so that one worker has them all."""
    for item in items:
        if "groups" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: "groups" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def groups(tmp_path_factory):
    """How each group of ranks ended and what it found; the folder holds its checkpoints."""
    return ranks_of(tmp_path_factory.mktemp("groups"))


def ranks_of(folder, *which):
    """Run ``train.forked``; what it left in the folder, and the folder."""
    shared = {
        "PYTHONPATH": f"{TESTS}:{TESTS.parent}:{TESTS.parent / 'book'}",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "train.forked", str(folder), *which],
        env=os.environ | shared,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "found.json").read_text()) | {"folder": folder}


@pytest.fixture(params=["2 ranks", "3 ranks"])
def several(request, groups):
    """What each of two and of three ranks computed."""
    group = groups[request.param]
    assert set(group["codes"]) == {0}, group["errors"]
    return group["results"]


@pytest.fixture
def two(groups):
    """What the first of two ranks computed."""
    return groups["2 ranks"]["results"][0]


@pytest.fixture
def three(groups):
    """What each of three ranks computed by hand."""
    return [result["by hand"] for result in groups["3 ranks"]["results"]]


@pytest.fixture(scope="session")
def eight(tmp_path_factory):
    """How a group of eight ranks ended and what it found."""
    return ranks_of(tmp_path_factory.mktemp("eight"), "eight")
