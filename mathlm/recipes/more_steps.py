"""Steps added to a run that has ended: ``--more-steps`` says what the learning rate does."""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ..errors import ConfigError
from ..optim import constant, followed_by, warmup_cosine
from ..train import Trainer, describe, newest_checkpoint
from ..train.checkpoint import read_state, refuse_changes, step_of
from ..train.distributed import rank
from ..train.log_line import power

log = logging.getLogger(__name__)
MoreSteps = Literal["stretch", "constant", "rewarm"]
KINDS: dict[str, Callable[..., Any]] = {
    "constant": constant,
    "followed_by": followed_by,
    "warmup_cosine": warmup_cosine,
}


def resume(trainer: Trainer, asked: MoreSteps | None, allow_change: bool = False) -> None:
    """Continue the run in the trainer's folder, with more steps than it had if that is asked.

    Raises:
        ConfigError: If the run had fewer steps and nothing is asked, or there is no run.
        CheckpointMismatchError: If the run differs in more than its steps.
    """
    newest = None if trainer.folder is None else newest_checkpoint(trainer.folder)
    if newest is None:
        if asked is not None:
            place = "without --out" if trainer.folder is None else f"in {trainer.folder}"
            raise ConfigError(f"--more-steps {asked}: there is no run {place} to add steps to")
        trainer.resume(allow_change=allow_change)
    elif asked is None:
        if not allow_change:
            require_same_length(trainer, newest)
        trainer.resume(allow_change=allow_change)
    else:
        add_steps(trainer, newest, asked)


def require_same_length(trainer: Trainer, checkpoint: Path) -> None:
    """Refuse more steps than the run had, and name what the learning rate may do."""
    saved, own = read_state(checkpoint)["config"].get("schedule"), trainer.config.schedule
    if not isinstance(saved, Mapping) or not isinstance(own, warmup_cosine):
        return
    had, step = saved.get("steps", own.steps), step_of(checkpoint)
    same = all(saved.get(name) == getattr(own, name) for name in ("peak", "final"))
    if saved.get("class") != "warmup_cosine" or not same or had >= own.steps:
        return
    old = rebuilt(saved)
    raise ConfigError(
        f"{checkpoint.parent} holds a run of {had} steps, and {own.steps} are asked for. Say "
        f"what the learning rate does from step {step} on: --more-steps stretch (the schedule "
        f"of {own.steps} steps: it jumps from {power(old(step))} to {power(own(step))}), "
        f"constant (it stays at {power(old(step))}), or rewarm (it rises to "
        f"{power(own.peak)} in {own.warmup} steps and falls once more). Or ask for the {had} "
        "steps, or give another --out"
    )


def add_steps(trainer: Trainer, checkpoint: Path, asked: MoreSteps) -> None:
    """Continue with another schedule; all else is as it was."""
    state = read_state(checkpoint)
    saved, own = state["config"], trainer.config.schedule
    if not (isinstance(own, warmup_cosine) and isinstance(saved.get("schedule"), Mapping)):
        raise ConfigError(f"--more-steps {asked} needs a run with a schedule of its own")
    updates = state["step"] - sum(int(r.get("skipped", 0)) for r in state["history"])
    found = schedule(saved["schedule"], own, asked, updates)
    trainer.config = replace(trainer.config, schedule=found)
    now = json.loads(json.dumps(trainer.describe()))
    if saved["schedule"] != now["schedule"]:
        require_more(state["step"], own.steps, asked)
    refuse_changes(saved | {"schedule": now["schedule"]}, now)
    if rank() == 0 and saved["schedule"] != now["schedule"]:
        log.info("%s", sentence(asked, rebuilt(saved["schedule"]), own, state["step"], updates))
    trainer.resume(allow_change=True)


def schedule(
    saved: Mapping[str, Any], own: warmup_cosine, asked: MoreSteps, updates: int
) -> Callable[[int], float]:
    """The schedule of the longer run; that of the run itself if it was prolonged so before.

    Args:
        saved: The schedule of the run, as its checkpoint describes it.
        own: That of a run of the new length.
        asked: What is to follow.
        updates: How many were done.
    """
    if asked == "stretch":
        return own
    if saved.get("class") == "followed_by":  # an interrupted run of more steps goes on
        before = continued(rebuilt(saved["first"]), own, asked, saved["start"])
        if describe(before) == saved:
            return before
    return continued(rebuilt(saved), own, asked, updates)


def require_more(done: int, steps: int, asked: str) -> None:
    """Refuse a run that has its steps already."""
    if done >= steps:
        raise ConfigError(
            f"--more-steps {asked}: the run is at step {done}, and {steps} are asked for. Give "
            "a larger number, by --steps, --epochs or --iterations; to resume a run that had "
            "steps added, give the options that it had then"
        )


def continued(
    old: Callable[[int], float], own: warmup_cosine, asked: str, start: int
) -> followed_by:
    """The old schedule until ``start``, then what is asked."""
    require_more(start, own.steps, asked)
    if asked == "constant":
        return followed_by(old, start, constant(old(start)))
    more = own.steps - start
    if own.warmup >= more:
        raise ConfigError(
            f"--more-steps rewarm rises for {own.warmup} steps, and {more} are left of "
            f"{own.steps}: give a smaller --warmup, or more steps"
        )
    return followed_by(old, start, replace(own, steps=more))


def rebuilt(saved: Mapping[str, Any]) -> Callable[[int], float]:
    """A schedule from its description in a checkpoint."""
    values = {name: value for name, value in saved.items() if name != "class"}
    inner = {n: rebuilt(x) for n, x in values.items() if isinstance(x, Mapping)}
    try:
        return KINDS[saved["class"]](**values | inner)
    except (KeyError, TypeError) as error:
        raise ConfigError(
            f"the run has a schedule that steps cannot be added to: {dict(saved)}"
        ) from error


def sentence(
    asked: MoreSteps, old: Callable[[int], float], own: warmup_cosine, step: int, updates: int
) -> str:
    """What the learning rate does."""
    last, end = power(old(max(updates - 1, 0))), f"step {own.steps}"
    if asked == "constant":
        return f"from step {step} on the learning rate stays at {power(old(updates))}, to {end}"
    if asked == "stretch":
        return (
            f"from step {step} on the learning rate is that of a run of {own.steps} steps: it "
            f"jumps from {last} to {power(own(updates))}, and falls to {power(own.final)} at "
            f"{end}"
        )
    return (
        f"from step {step} on the learning rate begins anew: from {last} it jumps to "
        f"{power(own(0))}, rises to {power(own.peak)} in {own.warmup} steps, and falls to "
        f"{power(own.final)} at {end}"
    )
