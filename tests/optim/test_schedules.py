import math

import pytest

from mathlm.errors import ConfigError
from mathlm.optim import (
    constant,
    cosine_restarts,
    followed_by,
    linear_decay,
    noam,
    warmup,
    warmup_cosine,
    warmup_stable_decay,
)


def test_warmup_cosine_at_its_corners():
    eta = warmup_cosine(peak=1.0, warmup=4, steps=12, final=0.1)
    assert [eta(t) for t in (0, 4, 8, 12, 99)] == pytest.approx([0.2, 1.0, 0.55, 0.1, 0.1])


def test_warmup_cosine_rises_then_falls():
    eta = warmup_cosine(peak=1.0, warmup=10, steps=50)
    values = [eta(t) for t in range(51)]
    assert values[:11] == sorted(values[:11])
    assert values[10:] == sorted(values[10:], reverse=True)
    assert values[-1] == 0


def test_warmup_cosine_without_warmup_starts_at_its_peak():
    assert warmup_cosine(0.3, 0, 10)(0) == 0.3


def test_warmup_cosine_matches_torch_after_the_warmup():
    import torch

    optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20, eta_min=0.1)
    eta = warmup_cosine(0.5, 0, 20, final=0.1)
    for t in range(20):
        assert eta(t) == pytest.approx(theirs.get_last_lr()[0], rel=1e-12)
        optimizer.step()
        theirs.step()


def test_noam_is_equation_three_of_the_paper():
    eta = noam(d_model=512, warmup=4000)
    for t in (1, 100, 4000, 4001, 100_000):
        paper = 512**-0.5 * min(t**-0.5, t * 4000**-1.5)
        assert eta(t - 1) == pytest.approx(paper, rel=1e-15)
    assert eta(3999) == pytest.approx(1 / math.sqrt(512 * 4000), rel=1e-15)
    assert eta(3999) > max(eta(3998), eta(4000))


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((1.0, 5, 5), "need 0 <= warmup < steps, got warmup=5, steps=5"),
        ((1.0, -1, 5), "need 0 <= warmup < steps, got warmup=-1, steps=5"),
        ((0.0, 1, 5), "need 0 <= final <= peak and 0 < peak, got final=0.0, peak=0.0"),
        ((1.0, 1, 5, 2.0), "got final=2.0, peak=1.0"),
        ((math.nan, 1, 5), "peak=nan"),
    ],
)
def test_warmup_cosine_refuses_impossible_numbers(numbers, text):
    with pytest.raises(ConfigError, match=text):
        warmup_cosine(*numbers)


def test_the_least_numbers_that_are_allowed():
    """noam: (1 · 1)^(-1/2). A cosine from its peak to the same number is flat.

    Without a rise, and with a fall of one step, a stable schedule is a plateau.
    """
    assert noam(1, 1)(0) == 1
    assert warmup_cosine(0.3, 0, 1, final=0.3)(0) == 0.3
    assert [*map(warmup_stable_decay(0.3, 0, 3, 1), range(4))] == [0.3, 0.3, 0.3, 0.0]
    assert followed_by(constant(0.3), 0, constant(0.2))(0) == 0.2


def test_noam_refuses_impossible_numbers():
    with pytest.raises(ConfigError, match="need d_model >= 1 and warmup >= 1, got 0 and 5"):
        noam(0, 5)


EVERY = [
    warmup_cosine(0.5, 2, 9, final=0.1),
    noam(64, 10),
    constant(0.1),
    warmup(3, constant(0.1)),
    followed_by(constant(0.2), 3, constant(0.1)),
    cosine_restarts(0.5, 4, 2),
    warmup_stable_decay(0.5, 2, 9, 3, final=0.1),
]


@pytest.mark.parametrize("eta", EVERY)
def test_a_schedule_is_written_as_the_call_that_makes_it(eta):
    again = eval(repr(eta), globals())
    assert again == eta
    assert hash(again) == hash(eta)


@pytest.mark.parametrize("eta", EVERY)
def test_steps_count_from_zero(eta):
    with pytest.raises(ConfigError, match="steps count from 0, got step=-1"):
        eta(-1)


def test_a_constant_is_constant():
    assert {constant(0.3)(t) for t in (0, 1, 10_000)} == {0.3}


def test_a_warmup_rises_to_the_schedule_that_follows():
    """then = 1, 3/4, 1/2, ...: five equal parts up to 1, then down from 1."""
    eta = warmup(4, linear_decay(1.0, 4))
    expected = [0.2, 0.4, 0.6, 0.8, 1, 0.75, 0.5, 0.25, 0, 0]
    assert [eta(t) for t in range(10)] == pytest.approx(expected)


def test_a_warmup_before_a_cosine_is_the_warmup_cosine():
    parts = warmup(5, cosine_restarts(0.5, 20, final=0.1))
    whole = warmup_cosine(0.5, 5, 25, final=0.1)
    assert [parts(t) for t in range(25)] == pytest.approx([whole(t) for t in range(25)])


def test_a_warmup_of_no_steps_is_the_schedule_itself():
    assert [warmup(0, noam(64, 10))(t) for t in range(30)] == [
        noam(64, 10)(t) for t in range(30)
    ]


@pytest.mark.parametrize(("first", "growth"), [(5, 1), (3, 2), (2, 3), (1, 1)])
def test_restarts_are_those_of_torch(first, growth):
    import torch

    optimizer = torch.optim.SGD([torch.ones(1)], lr=0.5)
    theirs = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(
        optimizer, first, growth, eta_min=0.1
    )
    eta = cosine_restarts(0.5, first, growth, final=0.1)
    for t in range(60):
        assert eta(t) == pytest.approx(theirs.get_last_lr()[0], rel=1e-12)
        optimizer.step()
        theirs.step()


def test_restarts_long_after_the_start_take_no_time():
    """10⁹ is 6 more than a multiple of 7."""
    eta = cosine_restarts(1.0, 7)
    assert 10**9 % 7 == 6
    assert eta(10**9) == eta(6)


@pytest.mark.parametrize(
    ("make", "numbers", "text"),
    [
        (constant, (0.0,), "0 < peak, got final=0.0, peak=0.0"),
        (constant, (math.nan,), "peak=nan"),
        (constant, (math.inf,), "peak=inf"),
        (warmup, (-1, constant(1.0)), "steps=-1 must not be negative"),
        (cosine_restarts, (1.0, 0), "need first >= 1 and growth >= 1, got 0 and 1"),
        (cosine_restarts, (1.0, 5, 0), "got 5 and 0"),
        (cosine_restarts, (1.0, 5, 1, 2.0), "got final=2.0, peak=1.0"),
    ],
)
def test_other_impossible_numbers_are_refused(make, numbers, text):
    with pytest.raises(ConfigError, match=text):
        make(*numbers)


def test_a_stable_schedule_by_hand():
    """Rise in fifths, 1 until step 8 of 12, then to 0.2 in four equal parts."""
    eta = warmup_stable_decay(1.0, 4, 12, 4, final=0.2)
    expected = [0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, 0.2]
    assert [eta(t) for t in range(14)] == pytest.approx(expected)


def test_a_longer_stable_run_begins_as_the_shorter_one():
    short, long = (warmup_stable_decay(1.0, 5, steps, 10) for steps in (40, 400))
    assert [short(t) for t in range(30)] == [long(t) for t in range(30)]


def test_a_stable_schedule_without_a_stable_part_is_a_warmup_before_a_line():
    whole, parts = warmup_stable_decay(0.5, 4, 12, 8), warmup(4, linear_decay(0.5, 8))
    assert [whole(t) for t in range(14)] == pytest.approx([parts(t) for t in range(14)])


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((1.0, 5, 9, 5), "got warmup=5, decay=5, steps=9"),
        ((1.0, -1, 9, 5), "got warmup=-1, decay=5, steps=9"),
        ((1.0, 1, 9, 0), "got warmup=1, decay=0, steps=9"),
        ((1.0, 1, 9, 2, 3.0), "got final=3.0, peak=1.0"),
    ],
)
def test_a_stable_schedule_refuses_impossible_numbers(numbers, text):
    with pytest.raises(ConfigError, match=text):
        warmup_stable_decay(*numbers)


def test_a_schedule_that_follows_counts_from_its_begin():
    first, then = warmup_cosine(1.0, 2, 6), warmup_cosine(0.5, 1, 4)
    eta = followed_by(first, 6, then)
    assert [eta(t) for t in range(10)] == [*map(first, range(6)), *map(then, range(4))]
    with pytest.raises(ConfigError, match="start=-1 must not be negative"):
        followed_by(first, -1, then)
