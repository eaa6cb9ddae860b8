"""Say in sentences what looks wrong in a run, by its record: ``mathlm diagnose``."""

import json
import logging
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ..train import Finding, RunHistory, diagnose, run_history
from ..train.diagnosis.expected import Kind
from .command import Maybe, execute, parse
from .plot import record_of

log = logging.getLogger(__name__)
WIDTH = 88  # of a line
NOTHING = "Nothing that this test knows looks wrong."


@dataclass(frozen=True, kw_only=True)
class DiagnoseConfig:
    """Is my run broken? What its record shows that a healthy run does not.

    The first values are compared with theory (ln V, ln 2, a divergence of 0), and the course
    of loss, gradient, step size, margins, rewards and lengths with that of healthy runs. The
    exit status is 1 if something is severe, else 0. A fault that changes no number of the
    record is not seen.

        mathlm diagnose runs/mine
        mathlm diagnose record.json --json
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """Folder of a run, of which the newest checkpoint is read, or a file of --record."""
    kind: Maybe[Kind] = None
    """Kind of run; None: read off the objective, which a loop of your own does not record."""
    json: bool = False
    """Write the findings as JSON."""


def look(config: DiagnoseConfig) -> tuple[RunHistory, list[Finding]]:
    """The run and what looks wrong in it.

    Raises:
        DataNotFoundError: If there is neither a checkpoint nor a record.
        ConfigError: If a file is none of --record, or the kind of run is not known.
        InputError: If the run has no record yet.
    """
    run = run_history(record_of(config.run), config.kind)
    return run, diagnose(run)


def as_text(run: RunHistory, findings: Sequence[Finding]) -> str:
    """What a person reads."""
    steps = max(record.get("step", 0) for record in run.history)
    records = f"{len(run.history)} record{'s' * (len(run.history) != 1)}"
    lines = [f"{run.kind}: {records} in {steps:.0f} step{'s' * (steps != 1)}"]
    lines += [first_values(run)] if run.expected and run.loss else []
    for finding in findings:
        title = f"{finding.severity.upper()}: {finding.name}"
        lines += ["", title, textwrap.fill(finding.sentences, WIDTH)]
    return "\n".join([*lines, *([] if findings else ["", NOTHING])])


def first_values(run: RunHistory) -> str:
    """The first loss beside what theory says."""
    said = f"loss {run.loss.values[0]:.4g} at step {run.loss.steps[0]:.0f}"
    if "loss" not in run.expected:
        return said
    expected = run.expected["loss"]
    return f"{said}; expected at the first step {expected.because} = {expected.value:.4g}"


def as_json(run: RunHistory, findings: Sequence[Finding]) -> str:
    """What a program reads."""
    content: dict[str, Any] = {"kind": run.kind, "records": len(run.history)}
    content["expected"] = {name: asdict(first) for name, first in run.expected.items()}
    content["findings"] = [asdict(one) | {"sentences": one.sentences} for one in findings]
    return json.dumps(content, indent=1, ensure_ascii=False)


def run(config: DiagnoseConfig) -> list[Finding]:
    """Write the findings to standard output; returns them."""
    history, findings = look(config)
    print((as_json if config.json else as_text)(history, findings))
    return findings


def main(argv: Sequence[str] | None = None) -> None:
    """The command ``mathlm diagnose``; ends with status 1 if a finding is severe."""
    findings = run(parse(DiagnoseConfig, argv, prog="mathlm diagnose"))
    if any(finding.severity == "severe" for finding in findings):
        sys.exit(1)


if __name__ == "__main__":
    execute(main)
