"""Double precision, fixed seeds and one thread setting for every test."""

import gc
import os
import sys
from collections import Counter
from pathlib import Path

import hypothesis
import jaxtyping
import numpy as np
import pytest
import torch

# jsonschema would compile a grammar of web addresses with it, for 2 s in each process
sys.modules.setdefault("rfc3987_syntax", None)
# the same examples in every run, and no time limit that a busy machine would miss
hypothesis.settings.register_profile("mathlm", derandomize=True, deadline=None)
hypothesis.settings.load_profile("mathlm")
os.environ.setdefault("MPLBACKEND", "Agg")
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))


pytest_plugins = ["cpu_time"]
WIRING = [Path(__file__).parent / name for name in ("faults", "lab", "recipes")]


CHECKED = 2  # cases of a test in which annotations are checked, which doubles their time
NUMBER = pytest.StashKey[int]()

gc.disable()  # until all modules and cases are there


def pytest_collection_finish(session):
    """Number the cases of each test.

    What is imported stays: the garbage collector need not walk it during the cases.
    """
    seen = Counter()
    for item in session.items:
        test = item.nodeid.partition("[")[0]
        item.stash[NUMBER] = seen[test]
        seen[test] += 1
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Annotations are checked at each call in the first cases of each test.

    They are not in slow cases nor in those of wiring: what those call is checked where it is
    tested itself, on small inputs.
    """
    wiring = not {*WIRING}.isdisjoint(item.path.parents)
    unchecked = wiring or item.get_closest_marker("slow") or item.stash[NUMBER] >= CHECKED
    jaxtyping.config.update("jaxtyping_disable", bool(unchecked))
    return (yield)


@pytest.fixture(autouse=True)
def float64():
    """Mathematics is checked in double precision."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def rng():
    """A fresh NumPy generator with seed 0."""
    return np.random.default_rng(0)


@pytest.fixture
def unchecked():
    """Annotations are not checked, as for a user: what the code itself says of a wrong type."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
