"""What a run shares with the same run in another process, and on another machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]
TOLERANCES = pytest.mark.parametrize(("dtype", "rel"), [("float32", 1e-4), ("float64", 1e-10)])


def started(hash_seed, threads, **environment):
    """A process that trains with other hashes, threads or kernels."""
    own = {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": f"{TESTS}:{TESTS.parent}"}
    own |= {"OMP_WAIT_POLICY": "passive"}  # threads that wait leave the processor to others
    return subprocess.Popen(
        [sys.executable, "-m", "train.same_run", str(threads)],
        env=os.environ | own | {"OMP_NUM_THREADS": str(threads)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def runs():
    """One run; again under another hash seed; and with the kernels of an older processor."""
    processes = [
        started(0, 1),
        started(1, 1),
        started(2, 2, ATEN_CPU_CAPABILITY="default", ONEDNN_MAX_CPU_ISA="SSE41"),
    ]
    texts = [process.communicate(timeout=200) for process in processes]
    assert [p.returncode for p in processes] == [0, 0, 0], texts
    return [json.loads(out.splitlines()[-1]) for out, _ in texts]


def test_two_processes_compute_the_same_weights_bit_for_bit(runs):
    assert runs[0] == runs[1]


@TOLERANCES
def test_losses_on_another_processor_differ_by_rounding_alone(runs, dtype, rel):
    one, other = runs[0], runs[2]
    assert other["kernels"] == "DEFAULT"
    assert other["threads"] == 2
    assert other[dtype]["loss"] == pytest.approx(one[dtype]["loss"], rel=rel)


@TOLERANCES
def test_the_order_of_the_data_is_the_same_everywhere(runs, dtype, rel):
    assert len({run[dtype]["order"] for run in runs}) == 1
