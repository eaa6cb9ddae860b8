"""Recorded runs: the form of the record, and what is said of each."""

import math

import pytest

from lab.broken_runs.columns import entries, load, names_of, packed, unpacked, verdict
from lab.broken_runs.faults import FAULTS
from lab.broken_runs.healthy import HEALTHY

TWINS, BROKEN = load()
MISSED = {  # as far as chance goes: a reward that falls, a loss that falls by 2.5 %
    ("grpo", "advantages without a baseline"): 1,
    ("sft", "step size / 1000"): 1,
}


def test_a_table_comes_back_from_its_columns():
    table = [{"step": 1, "loss": 2.5}, {"step": 2, "loss": math.inf, "lr": 1e-3}]
    record = {"kind": "sft", "history": table}
    assert packed(record)["history"]["lr"] == "- 0.001"
    assert unpacked(packed(record)) == record
    assert entries({}) == []


def test_all_faults_are_recorded_from_as_many_seeds_as_their_twins():
    assert [one.fault for one in BROKEN] == [*FAULTS]
    assert {len(one.runs) for one in BROKEN} == {len(runs) for runs in TWINS.values()}


@pytest.mark.parametrize("kind", [*HEALTHY])
def test_nothing_is_found_in_healthy_twins(kind):
    assert not any(names_of(run) for run in TWINS[kind])


@pytest.mark.parametrize("one", BROKEN, ids=lambda b: f"{b.fault.kind} {b.fault.name}")
def test_a_fault_is_named_in_every_run_or_said_to_be_unseen(one):
    found = verdict(one)
    seen = found.runs - MISSED.get((one.fault.kind, one.fault.name), 0)
    assert found.named == (seen if one.fault.shows else 0)
