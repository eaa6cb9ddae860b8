"""A record of a run as a line for a person."""

import pytest

from mathlm.train import LogLines
from mathlm.train.log_line import duration, log_line, number, rate

RECORD = {"step": 120, "loss": 2.314159, "grad_norm": 0.9217, "lr": 3e-4}


def test_a_line_by_hand():
    line = log_line(RECORD, 500, 12345.0, 170.0, LogLines(unit="tokens"))
    assert line == (
        "step 120 of 500  loss 2.314  lr 3.0e-4  grad norm 0.9217  12.3k tokens/s  3 min left"
    )


def test_the_expected_value_stands_beside_the_first_loss_alone():
    style = LogLines(first_loss=5.545177, because="ln 256")
    first, later = (log_line(RECORD | {"step": n}, 9, 1.0, 1.0, style) for n in (1, 2))
    assert "  loss 2.314 (expected about ln 256 = 5.545)  lr" in first
    assert "expected" not in later
    assert "(expected about 1)" in log_line(
        RECORD | {"step": 1}, 9, 1.0, 1.0, LogLines(first_loss=1)
    )
    assert "expected" not in log_line(RECORD | {"step": 1}, 9, 1.0, 1.0, LogLines())


def test_other_numbers_of_a_record_follow_by_name():
    record = RECORD | {"loss_scale": 1024.0, "margin": 0.25, "chosen_change": 3.0}
    line = log_line(record, 500, 1.0, 1.0, LogLines())
    assert "grad norm 0.9217  loss scale 1024  margin 0.25  1 targets/s" in line
    assert "chosen" not in line


def test_a_step_that_was_skipped_says_why():
    line = log_line({"step": 3, "loss": 2.0, "skipped": 1, "lr": 0.0}, 3, 1.0, 0.0, LogLines())
    assert line == ("step 3 of 3  loss 2  lr 0  skipped: the gradient overflowed  1 targets/s")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (3599, "1 h 00 min"),
        (3 * 3600 + 5 * 60, "3 h 05 min"),
        (47.9 * 3600, "47 h 54 min"),
        (72 * 3600, "3 days"),
    ],
)
def test_a_time_is_told_in_its_unit(seconds, said):
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("x", "said"), [(0.0, "0"), (999.4, "999"), (999.6, "1k"), (75600.0, "75.6k"), (2e6, "2M")]
)
def test_a_rate_has_three_digits(x, said):
    assert rate(x) == said


@pytest.mark.parametrize(
    ("x", "said"),
    [(0.0, "0"), (0.69314718, "0.6931"), (1024.0, "1024"), (2.5e-5, "2.5e-5"), (1e6, "1.0e6")],
)
def test_a_number_has_four_digits_or_a_power_of_ten(x, said):
    assert number(x) == said
    assert number(-x).lstrip("-") == said


def test_what_is_not_finite_is_named():
    assert [number(float(x)) for x in ("nan", "inf")] == ["nan", "inf"]
