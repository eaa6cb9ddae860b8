import math

import pytest

from mathlm.errors import ConfigError
from mathlm.optim import noam, warmup_cosine


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


def test_noam_refuses_impossible_numbers():
    with pytest.raises(ConfigError, match="need d_model >= 1 and warmup >= 1, got 0 and 5"):
        noam(0, 5)


@pytest.mark.parametrize("eta", [warmup_cosine(0.5, 2, 9, final=0.1), noam(64, 10)])
def test_a_schedule_is_written_as_the_call_that_makes_it(eta):
    again = eval(repr(eta), {"warmup_cosine": warmup_cosine, "noam": noam})
    assert again == eta
    assert hash(again) == hash(eta)


@pytest.mark.parametrize("eta", [warmup_cosine(0.5, 2, 9), noam(64, 10)])
def test_steps_count_from_zero(eta):
    with pytest.raises(ConfigError, match="steps count from 0, got step=-1"):
        eta(-1)
