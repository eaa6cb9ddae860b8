"""Two and three processes over gloo compute what one computes."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from train import rank_run
from train.tiny_runs import tiny_model

from mathlm.errors import InputError
from mathlm.train import checkpoints, load_checkpoint

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def start(n, *arguments):
    """Run ``rank_run`` in ``n`` processes; returns exit codes, outputs and errors."""
    shared = {"WORLD_SIZE": str(n), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    shared |= {"PYTHONPATH": f"{TESTS}:{TESTS.parent}", "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "train.rank_run", *map(str, arguments)],
            env=os.environ | shared | {"RANK": str(r), "LOCAL_RANK": str(r)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for r in range(n)
    ]
    texts = [process.communicate(timeout=120) for process in processes]
    return [p.returncode for p in processes], [out for out, _ in texts], [e for _, e in texts]


def results(n, *arguments):
    """What each of ``n`` ranks computed."""
    codes, outputs, errors = start(n, *arguments)
    assert codes == [0] * n, errors
    return [json.loads(output.splitlines()[-1]) for output in outputs]


@pytest.fixture(scope="module", params=[2, 3])
def several(request):
    """What each of two and of three ranks computed."""
    return results(request.param, "undisturbed")


def test_ranks_with_unequal_numbers_of_targets_give_the_gradient_of_one_process(several):
    one = rank_run.step_of_unequal_ranks()
    expected = torch.tensor(one["gradient"])
    for rank in several:
        assert rank["step"]["loss"] == pytest.approx(one["loss"], rel=1e-12)
        gradient = torch.tensor(rank["step"]["gradient"])
        torch.testing.assert_close(gradient, expected, rtol=1e-12, atol=1e-15)


def test_every_rank_computes_the_same_bit_for_bit(several):
    assert all(rank == several[0] for rank in several)


def test_a_run_of_several_ranks_logs_the_losses_of_one(several):
    for record, own in zip(several[0]["run"], rank_run.whole_run(), strict=True):
        assert record == pytest.approx(own, rel=1e-12)


def test_a_weight_that_one_rank_uses_is_updated_on_all_and_an_idle_one_is_not(several):
    one = rank_run.unused_weight()
    assert several[0]["unused"] == one
    assert one["idle"] == [1.0, 1.0]
    assert one["spare"] != [1.0, 1.0]


def test_a_killed_rank_stops_the_others_and_no_checkpoint_is_written_without_it(tmp_path):
    codes, _, errors = start(2, "disturbed", "kill", tmp_path)
    assert codes[1] == -9
    assert codes[0] > 0
    assert "rank 1 did not answer within 60 s at step 3" in errors[0]
    assert [path.name for path in checkpoints(tmp_path)] == ["step_000001", "step_000002"]
    load_checkpoint(tmp_path, tiny_model())


def test_a_signal_to_one_rank_stops_all_after_the_same_step(tmp_path):
    codes, _, errors = start(2, "disturbed", "term", tmp_path)
    assert codes == [143, 143]
    assert all("interrupted at step 3" in error for error in errors)
    assert [path.name for path in checkpoints(tmp_path)] == ["step_000002", "step_000003"]


def test_nan_on_one_rank_is_an_error_on_all_that_names_it(tmp_path):
    codes, _, errors = start(2, "disturbed", "nan", tmp_path)
    assert codes == [1, 1]
    for error in errors:
        assert "non-finite loss at step 3, rank 1, micro-batch 0 (samples" in error
    assert "are named by rank 1" in errors[0]


def test_a_step_without_targets_is_an_error_in_one_process():
    trainer = rank_run.unequal()
    trainer.data = lambda step: rank_run.BATCH | {"targets": torch.full((2, 4), -100)}
    with pytest.raises(InputError, match="no target token contributes to the loss"):
        trainer.fit()
