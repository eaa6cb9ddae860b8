"""Eight processes train as one does: in the weekly run, for they share two cores."""

import pytest
import torch
from train import parallel_run

KINDS = pytest.mark.parametrize("kind", ["sum", "ddp", "fsdp"])
pytestmark = [pytest.mark.weekly, pytest.mark.slow]


def near(found, expected, rtol):
    torch.testing.assert_close(
        torch.tensor(found), torch.tensor(expected), rtol=rtol, atol=rtol / 1e3
    )


def test_no_rank_fails(eight):
    assert eight["codes"] == [0] * 8, eight["errors"]


@KINDS
@pytest.mark.parametrize("cut", ["step", "cut"])
def test_loss_and_gradient_of_two_rows_are_those_of_one_process(eight, kind, cut):
    """Six or seven ranks have no row, and add nothing to the sum."""
    one = parallel_run.unequal_step("sum")
    for rank in eight["results"]:
        assert rank[kind][cut]["loss"] == pytest.approx(one["loss"], rel=1e-12)
        near(rank[kind][cut]["gradient"], one["gradient"], 1e-9)


@KINDS
def test_five_clipped_steps_are_those_of_one_process(eight, kind):
    one = parallel_run.five_steps("sum")
    found = eight["results"][0][kind]["run"]
    near(found["weights"], one["weights"], 1e-8)
    norms = [record["grad_norm"] for record in one["history"]]
    assert [r["grad_norm"] for r in found["history"]] == pytest.approx(norms, rel=1e-9)


@KINDS
def test_evaluation_counts_each_sample_once(eight, kind):
    one = parallel_run.evaluation("sum")
    found = [rank[kind]["evaluation"] for rank in eight["results"]]
    assert found == pytest.approx([one] * 8, rel=1e-12)


@KINDS
def test_one_process_goes_on_from_what_eight_saved(eight, kind):
    one = parallel_run.trainer("sum", steps=6, **parallel_run.EVALUATED)
    one.fit()
    found = parallel_run.resumed("sum", eight["folder"] / "eight" / "saved" / kind)
    near(found["weights"], parallel_run.state(one.model), 1e-8)
