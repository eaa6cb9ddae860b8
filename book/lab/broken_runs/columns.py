"""Histories as columns of text, and what ``mathlm diagnose`` says of the recorded runs."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mathlm.train import diagnose, run_history

from .faults import FAULTS, Fault
from .healthy import HEALTHY

RECORD = Path(__file__).parents[2] / "results" / "broken-runs.json"
TABLES = ("history", "rollouts")
MISSING = "-"


def packed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose tables are columns: a name, and the numbers in one line."""
    return {name: columns(value) if name in TABLES else value for name, value in record.items()}


def columns(table: Sequence[Mapping[str, float]]) -> dict[str, str]:
    """Each number of the records as a line of five digits each."""
    names = dict.fromkeys(name for entry in table for name in entry)
    return {
        name: " ".join(f"{e[name]:.5g}" if name in e else MISSING for e in table)
        for name in names
    }


def unpacked(record: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`packed` was given, to five digits."""
    return {name: entries(value) if name in TABLES else value for name, value in record.items()}


def entries(table: Mapping[str, str]) -> list[dict[str, float]]:
    """The records of a table."""
    rows = zip(*(line.split() for line in table.values()), strict=True)
    return [
        {n: float(x) for n, x in zip(table, row, strict=True) if x != MISSING} for row in rows
    ]


class Broken(NamedTuple):
    """A fault, and its runs as recorded."""

    fault: Fault
    runs: list[dict[str, Any]]


def load(path: Path = RECORD) -> tuple[dict[str, list[dict[str, Any]]], list[Broken]]:
    """The healthy runs by kind, and the broken ones by fault."""
    found = json.loads(path.read_text(encoding="utf-8"))
    twins = found["healthy"]
    healthy = {kind: [*map(unpacked, twins[kind])] for kind in HEALTHY if kind in twins}
    known = {(fault.kind, fault.name): fault for fault in FAULTS}
    broken = [
        Broken(known[entry["kind"], entry["name"]], [*map(unpacked, entry["runs"])])
        for entry in found["broken"]
    ]
    return healthy, broken


def names_of(record: Mapping[str, Any]) -> list[str]:
    """What is found in a run."""
    return [finding.name for finding in diagnose(run_history(record))]


class Verdict(NamedTuple):
    """How often a fault was named, in how many runs, and what was said at all."""

    named: int
    runs: int
    said: tuple[str, ...]


def verdict(broken: Broken) -> Verdict:
    """What the diagnosis says of the runs of a fault."""
    said = [names_of(run) for run in broken.runs]
    named = sum(bool(broken.fault.shows & set(names)) for names in said)
    every = dict.fromkeys(name for names in said for name in names)
    return Verdict(named, len(said), tuple(every))
