"""Some ways of tuning the GPT of the plays side by side, within seconds."""

from collections.abc import Mapping, Sequence
from typing import Any

from .fine_tuning_methods import METHODS
from .fine_tuning_run import Task, run
from .fine_tuning_tasks import SMALL, plays


def live(
    names: Sequence[str] = ("full", "LoRA 16"),
    steps: int = 30,
    step_sizes: Mapping[str, float] | None = None,
    task: Task | None = None,
) -> dict[str, dict[str, Any]]:
    """What :mod:`fine_tuning_study` runs, with fewer steps and less held-out text.

    Args:
        names: Methods.
        steps: Of each.
        step_sizes: Other step sizes than the usual ones.
        task: What is learned; None = the plays' GPT learns to answer.

    Returns:
        ``base``, the measures of the base and the task; for each method its model and curve.
    """
    task = task or plays(SMALL)
    at = sorted({steps // 6, steps // 3, steps})
    found: dict[str, dict[str, Any]] = {"base": {"task": task, **task.measures(task.base)}}
    for name in names:
        step_size = (step_sizes or {}).get(name, METHODS[name].step_size)
        model, result = run(task, name, step_size, steps, at)
        found[name] = {"model": model, **result}
    return found
