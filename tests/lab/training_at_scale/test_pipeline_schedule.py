"""Schedules of a pipeline: their order, their idle time and what they hold."""

from itertools import pairwise

import pytest

from lab.training_at_scale.pipeline_schedule import idle_share, most_held, pipeline_tasks
from mathlm.errors import InputError

SIZES = [(1, 1), (1, 4), (2, 1), (2, 3), (4, 8), (3, 2), (5, 5)]


@pytest.mark.parametrize("order", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("p", "m"), SIZES)
def test_the_idle_share_is_the_bubble(p, m, order):
    """GPipe, section 2.3: (p - 1) / (m + p - 1); the same for 1F1B."""
    assert idle_share(pipeline_tasks(p, m, order)) == pytest.approx((p - 1) / (m + p - 1))


def test_two_stages_and_two_micro_batches_by_hand():
    """Forward 0-1, 1-2 and 1-2, 2-3; backward of stage 1 from 3, of stage 0 two later."""
    tasks = pipeline_tasks(2, 2)
    assert [(t.micro_batch, t.backward, t.start) for t in tasks if t.stage == 0] == [
        (0, False, 0), (1, False, 1), (0, True, 5), (1, True, 7),
    ]  # fmt: skip
    assert [(t.micro_batch, t.backward, t.start) for t in tasks if t.stage == 1] == [
        (0, False, 1), (1, False, 2), (0, True, 3), (1, True, 5),
    ]  # fmt: skip


@pytest.mark.parametrize("order", ["gpipe", "1f1b"])
def test_every_pass_is_done_once_and_after_what_it_needs(order):
    tasks = {(t.stage, t.micro_batch, t.backward): t for t in pipeline_tasks(3, 4, order)}
    assert len(tasks) == 3 * 4 * 2
    for (s, j, backward), task in tasks.items():
        if backward:
            assert task.start >= tasks[s, j, False].end
        other = (s + 1, j, True) if backward else (s - 1, j, False)
        assert other not in tasks or task.start >= tasks[other].end


@pytest.mark.parametrize("order", ["gpipe", "1f1b"])
def test_a_stage_does_one_thing_at_a_time(order):
    tasks = pipeline_tasks(4, 6, order)
    for s in range(4):
        own = [t for t in tasks if t.stage == s]
        assert all(a.end <= b.start for a, b in pairwise(own))


def test_one_forward_one_backward_holds_no_more_than_the_stages_behind():
    """Stage s of p holds min(m, p - s) instead of m."""
    tasks = pipeline_tasks(4, 8, "1f1b")
    assert [most_held(tasks, s) for s in range(4)] == [4, 3, 2, 1]
    assert most_held(pipeline_tasks(4, 8), 0) == 8


BAD = {
    "stages": ((0, 1), "stages=0 must be an integer of at least 1"),
    "micro-batches": ((1, 0), "micro_batches=0 must be an integer of at least 1"),
}


@pytest.mark.parametrize(("args", "message"), BAD.values(), ids=BAD.keys())
def test_numbers_out_of_range_are_refused(args, message):
    with pytest.raises(InputError, match=message):
        pipeline_tasks(*args)


def test_no_tasks_are_refused():
    with pytest.raises(InputError, match="without tasks"):
        idle_share([])
