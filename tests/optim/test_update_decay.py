import math

import pytest
import torch

from mathlm.errors import ConfigError
from mathlm.optim import (
    exponential_decay,
    linear_decay,
    polynomial_decay,
    step_decay,
)

FALLS = [
    exponential_decay(0.5, 0.9),
    linear_decay(0.5, 20, 0.1),
    polynomial_decay(0.5, 20, 2.0, 0.1),
    step_decay(0.5, 0.1, 7),
]
NAMES = {type(eta).__name__: type(eta) for eta in FALLS}


def torch_rates(make, peak, steps):
    """Step sizes of a scheduler of torch."""
    optimizer = torch.optim.SGD([torch.ones(1)], lr=peak)
    scheduler, rates = make(optimizer), []
    for _ in range(steps):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return rates


S = torch.optim.lr_scheduler


@pytest.mark.parametrize(
    ("eta", "make"),
    [
        (linear_decay(0.5, 20), lambda o: S.LinearLR(o, 1.0, 0.0, 20)),
        (linear_decay(0.5, 20, 0.1), lambda o: S.LinearLR(o, 1.0, 0.2, 20)),
        (polynomial_decay(0.5, 20, 2.0), lambda o: S.PolynomialLR(o, 20, 2.0)),
        (polynomial_decay(0.5, 20, 0.5), lambda o: S.PolynomialLR(o, 20, 0.5)),
        (exponential_decay(0.5, 0.9), lambda o: S.ExponentialLR(o, 0.9)),
        (step_decay(0.5, 0.1, 7), lambda o: S.StepLR(o, 7, 0.1)),
    ],
)
def test_step_sizes_are_those_of_torch(eta, make):
    ours = [eta(t) for t in range(40)]
    assert ours == pytest.approx(torch_rates(make, 0.5, 40), rel=1e-10, abs=1e-15)


def test_values_by_hand():
    assert [linear_decay(1.0, 4, 0.2)(t) for t in range(6)] == pytest.approx(
        [1, 0.8, 0.6, 0.4, 0.2, 0.2]
    )
    assert [polynomial_decay(1.0, 4, 2.0)(t) for t in (0, 1, 2, 4, 9)] == [
        1,
        9 / 16,
        1 / 4,
        0,
        0,
    ]
    assert [exponential_decay(8.0, 0.5)(t) for t in range(4)] == [8, 4, 2, 1]
    assert [step_decay(8.0, 0.5, 3)(t) for t in (0, 2, 3, 5, 6)] == [8, 8, 4, 4, 2]
    assert [step_decay(8.0, 0.5, 1)(t) for t in range(4)] == [8, 4, 2, 1]
    assert [exponential_decay(8.0, 1.0)(t) for t in range(3)] == [8, 8, 8]
    assert [linear_decay(8.0, 1)(t) for t in range(3)] == [8, 0, 0]


@pytest.mark.parametrize("eta", FALLS, ids=NAMES)
def test_all_of_them_only_fall(eta):
    values = [eta(t) for t in range(30)]
    assert values == sorted(values, reverse=True)
    assert values[0] == 0.5
    assert values[-1] < 0.5


@pytest.mark.parametrize("eta", FALLS, ids=NAMES)
def test_a_schedule_is_written_as_the_call_that_makes_it(eta):
    assert eval(repr(eta), NAMES) == eta
    assert hash(eta) == hash(eval(repr(eta), NAMES))


@pytest.mark.parametrize("eta", FALLS, ids=NAMES)
def test_steps_count_from_zero(eta):
    with pytest.raises(ConfigError, match="steps count from 0, got step=-1"):
        eta(-1)


@pytest.mark.parametrize(
    ("make", "numbers", "text"),
    [
        (linear_decay, (1.0, 0), "need steps > 0 and power > 0, got steps=0"),
        (linear_decay, (1.0, 5, 2.0), "need 0 <= final <= peak and 0 < peak, got final=2.0"),
        (polynomial_decay, (1.0, 5, 0.0), "got steps=5, power=0.0"),
        (polynomial_decay, (1.0, 5, math.inf), "got steps=5, power=inf"),
        (polynomial_decay, (math.nan, 5), "peak=nan"),
        (exponential_decay, (0.0, 0.5), "peak=0.0"),
        (exponential_decay, (1.0, 1.1), r"factor=1.1 must lie in \(0, 1\]"),
        (step_decay, (1.0, 0.0, 5), r"factor=0.0 must lie in \(0, 1\]"),
        (step_decay, (1.0, 0.5, 0), "every=0 must be positive"),
        (step_decay, (math.inf, 0.5, 1), "peak=inf"),
    ],
)
def test_impossible_numbers_are_refused(make, numbers, text):
    with pytest.raises(ConfigError, match=text):
        make(*numbers)
