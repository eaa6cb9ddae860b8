"""Who works when, in a model that is cut between its layers."""

from typing import Literal, NamedTuple

from mathlm.checks import require_counts
from mathlm.errors import InputError

Order = Literal["gpipe", "1f1b"]


class Task(NamedTuple):
    """One pass of one micro-batch through one stage.

    Args:
        stage: Device, from 0.
        micro_batch: From 0.
        backward: Whether it is the backward pass.
        start: When it begins; a forward pass lasts 1.
        end: When it is done.
    """

    stage: int
    micro_batch: int
    backward: bool
    start: int
    end: int


def pipeline_tasks(
    stages: int, micro_batches: int, order: Order = "gpipe", backward_time: int = 2
) -> list[Task]:
    """When each stage works on each micro-batch, forward and backward, with sending for free.

    Computes the earliest times at which

        forward (s, j) follows forward (s - 1, j), backward (s, j) follows backward (s + 1, j),

    and each stage does one thing at a time, in its order: under "gpipe" all forward passes and
    then all backward ones; under "1f1b" stage s takes at most p - s forward passes ahead, then
    one backward for one forward.

    Args:
        stages: p.
        micro_batches: m of a step.
        order: Which.
        backward_time: Time of a backward pass, where a forward pass takes 1.

    Returns:
        Tasks, sorted by stage and time.

    Raises:
        InputError: If a number is less than 1 or the order is not known.

    References:
        Huang et al. (2019), GPipe, arXiv:1811.06965; Narayanan et al. (2019), PipeDream.
    """
    require_counts(1, stages=stages, micro_batches=micro_batches, backward_time=backward_time)
    if order not in ("gpipe", "1f1b"):
        raise InputError(f"order={order!r} is neither 'gpipe' nor '1f1b'")
    ahead = [micro_batches if order == "gpipe" else stages - s for s in range(stages)]
    waiting = [turns(micro_batches, n) for n in ahead]
    done = dict[tuple[int, int, bool], int]()
    tasks = list[Task]()
    while any(waiting):
        for s in range(stages):
            while waiting[s] and (needed := before(s, *waiting[s][0], stages)) <= done.keys():
                j, backward = waiting[s].pop(0)
                free = max((t.end for t in tasks if t.stage == s), default=0)
                start = max(free, *(done[key] for key in needed), 0)
                end = start + (backward_time if backward else 1)
                done[s, j, backward] = end
                tasks.append(Task(s, j, backward, start, end))
    return sorted(tasks, key=lambda t: (t.stage, t.start))


def idle_share(tasks: list[Task]) -> float:
    """Share of the devices' time in which they wait.

    Implements eq-scale-bubble::

        (p - 1) / (m + p - 1)   for the schedules of :func:`pipeline_tasks`
    """
    if not tasks:
        raise InputError("a schedule without tasks has no idle share")
    busy = sum(t.end - t.start for t in tasks)
    stages = 1 + max(t.stage for t in tasks)
    return 1 - busy / (stages * max(t.end for t in tasks))


def most_held(tasks: list[Task], stage: int) -> int:
    """Most micro-batches whose activations a stage holds at once."""
    own = sorted((t for t in tasks if t.stage == stage), key=lambda t: t.start)
    held = most = 0
    for task in own:
        held += -1 if task.backward else 1
        most = max(most, held)
    return most


def turns(micro_batches: int, ahead: int) -> list[tuple[int, bool]]:
    """What a stage does, in its order: micro-batch, and whether backward."""
    first = min(ahead, micro_batches)
    order = [(j, False) for j in range(first)]
    for j in range(micro_batches):
        order.append((j, True))
        order += [(j + first, False)] if j + first < micro_batches else []
    return order


def before(stage: int, micro_batch: int, backward: bool, stages: int) -> set:
    """What must be done before a task, as (stage, micro-batch, backward)."""
    if not backward:
        return {(stage - 1, micro_batch, False)} if stage else set()
    own = {(stage, micro_batch, False)}
    return own | ({(stage + 1, micro_batch, True)} if stage < stages - 1 else set())
