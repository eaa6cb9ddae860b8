"""The bill of a training run, by hand and against published bills."""

import math

import pytest

from mathlm.errors import InputError
from mathlm.scaling import (
    ASSUMED,
    DEVICES,
    KNOWN_RUNS,
    Span,
    flop_utilization,
    parameters_and_tokens,
    six_nd,
    text_share,
    training_bill,
    training_days,
)
from mathlm.scaling.budget import GPT_3_UTILIZATION

SURE = {"utilization": Span(0.5, 0.5, 0.5), "price": Span(3, 3, 3), "around": Span(2, 2, 2),
        "overhead": Span(1.5, 1.5, 1.5), "grams": Span(100, 100, 100)}  # fmt: skip


def test_a_budget_is_used_up_at_the_ratio():
    n, d = parameters_and_tokens(1.2e22, 20)
    assert (n, d) == pytest.approx((1e10, 2e11), rel=1e-12)
    assert six_nd(n, d) == pytest.approx(1.2e22, rel=1e-12)


def test_chinchilla_is_what_its_budget_buys():
    """Hoffmann et al. (2022): 70 billion parameters on 1.4 trillion tokens."""
    assert parameters_and_tokens(6 * 70e9 * 1.4e12) == pytest.approx((70e9, 1.4e12))


def test_a_bill_by_hand():
    """1000 hours of an A100 at half of 312 TFLOP/s; 400 W, three times as much around it."""
    bill = training_bill(1000 * 3600 * 156e12, "A100", 10, SURE)
    assert bill.hours.middle == pytest.approx(1000)
    assert bill.days.middle == pytest.approx(100 / 24)
    assert bill.dollars.middle == pytest.approx(3000)
    assert bill.energy.middle == pytest.approx(1200)
    assert bill.power.middle == pytest.approx(12_000)
    assert bill.carbon.middle == pytest.approx(0.12)


def test_days_are_those_of_training_days():
    bill = training_bill(3e23, "A100", 512)
    for got, use in zip(bill.days, (0.55, 0.40, GPT_3_UTILIZATION), strict=True):
        assert got == pytest.approx(training_days(3e23, 312e12, use, 512), rel=1e-12)


def test_the_least_utilization_is_that_of_gpt_3_by_its_hours_too():
    """6 N D over the peak of 10,000 V100 in 14.8 days: 0.197, as 24.6 of 125 TFLOP/s."""
    run = KNOWN_RUNS["GPT-3"]
    by_hours = 6 * 175e9 * 300e9 / (14.8 * 86_400 * 10_000 * 125e12)
    assert pytest.approx(by_hours, abs=5e-4) == GPT_3_UTILIZATION
    found = flop_utilization(six_nd(run.n, run.d), run.hours * 3600, 125e12)
    assert found == pytest.approx(by_hours, rel=1e-12)
    assert ASSUMED["utilization"].span.low == GPT_3_UTILIZATION


def test_a_bill_is_that_of_1024_h100_unless_others_are_asked_for():
    assert training_bill(3e23) == training_bill(3e23, "H100", 1024)


def test_the_whole_peak_may_be_used():
    whole = {"utilization": Span(1, 1, 1)}
    assert training_bill(3600 * 312e12, "A100", 1, whole).hours.middle == pytest.approx(1)


def test_the_low_end_has_every_factor_at_its_best():
    ends = {name: a.span for name, a in ASSUMED.items()}
    bill = training_bill(1e24, "H100")
    hours = 1e24 / 3600 / 989e12 / ends["utilization"].high
    watts = 700 * ends["around"].low * ends["overhead"].low
    assert bill.carbon.low == pytest.approx(hours * watts * ends["grams"].low / 1e9, rel=1e-12)


@pytest.mark.parametrize("name", KNOWN_RUNS)
def test_published_bills_lie_in_the_ranges(name):
    run = KNOWN_RUNS[name]
    bill = training_bill(six_nd(run.n, run.d), run.device)
    assert run.hours in bill.hours
    assert run.energy is None or run.energy in bill.energy
    assert run.carbon is None or run.carbon in bill.carbon


def test_gpt_3_took_the_energy_of_its_hours_and_watts():
    """Patterson et al. (2021), table 4: 330 W a processor, overhead 1.10, 1,287 MWh, 552 t."""
    run = KNOWN_RUNS["GPT-3"]
    assert run.hours * 0.330 * 1.10 == pytest.approx(run.energy, rel=0.005)
    assert run.energy * 429e-6 == pytest.approx(run.carbon, rel=0.005)


def test_bloom_took_the_energy_of_its_hours_and_its_idle_machines():
    """Luccioni et al. (2023): 0.4 kW an hour and 256,646 kWh idle, 57 g of CO2 a kWh."""
    run = KNOWN_RUNS["BLOOM"]
    assert run.hours * 0.4 + 256_646 == pytest.approx(run.energy, rel=1e-4)
    assert run.energy * 57e-6 == pytest.approx(run.carbon, rel=0.002)


def test_spans_multiply_and_divide_end_by_end():
    assert Span(1, 2, 4) * Span(3, 3, 5) == Span(3, 6, 20)
    assert 2 * Span(1, 2, 4) == Span(2, 4, 8)
    assert Span(1, 2, 4) / Span(1, 2, 8) == Span(0.125, 1.0, 4.0)
    assert 8 / Span(1, 2, 4) == Span(2.0, 4.0, 8.0)


def test_a_span_contains_its_ends():
    inside = [number in Span(1, 2, 4) for number in (0.9, 1, 3, 4, 4.1)]
    assert inside == [False, True, True, True, False]


def test_more_text_than_there_is_has_a_share_above_one():
    assert text_share(6e14).middle == pytest.approx(2)
    assert text_share(1e15).low == pytest.approx(1)


BAD = {
    "compute": (lambda: training_bill(0.0), "compute=0.0 must be a positive"),
    "device": (lambda: training_bill(1e20, "Z80"), "device='Z80' is unknown; there are V100"),
    "devices": (lambda: training_bill(1e20, devices=0), "devices=0 must be an integer"),
    "name": (lambda: training_bill(1e20, assumed={"prize": Span(1, 1, 1)}), r"\['prize'\] is"),
    "share": (lambda: training_bill(1e20, assumed={"utilization": Span(1, 1, 2)}), "=2 is a s"),
    "order": (lambda: Span(2, 1, 3), "low=2, middle=1, high=3 are not in order"),
    "zero": (lambda: Span(0, 1, 3), "low=0 must be a positive"),
    "middle": (lambda: Span(1, math.nan, 3), "middle=nan must be a positive"),
    "endless": (lambda: Span(1, 2, math.inf), "high=inf must be a positive"),
    "budget": (lambda: parameters_and_tokens(0), "compute=0 must be a positive"),
    "ratio": (lambda: parameters_and_tokens(1e20, -1), "tokens_per_parameter=-1 must be"),
    "tokens": (lambda: text_share(math.inf), "tokens=inf must be a positive"),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD.keys())
def test_what_makes_no_bill_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_each_assumption_names_its_source_and_each_device_has_positive_numbers():
    assert all(a.source and a.unit for a in ASSUMED.values())
    assert all(device.peak > 1e14 and device.watts > 0 for device in DEVICES.values())
