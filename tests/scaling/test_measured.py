import json

import numpy as np
import pytest
import torch

from mathlm.errors import ConfigError
from mathlm.scaling import measured as costs


@pytest.mark.parametrize("power", [-1, 0.5, 2])
def test_a_power_law_has_its_power_as_exponent(power):
    sizes = [10, 30, 70, 200]
    found = costs.fitted_exponent(sizes, [7 * n**power for n in sizes])
    assert found == pytest.approx(power, rel=1e-12)


def test_an_exponent_of_two_points_by_hand():
    """Four times the cost at twice the size; of operations there are more than 2⁶⁴."""
    assert costs.fitted_exponent([8, 16], [3, 12]) == pytest.approx(2)
    assert costs.fitted_exponent([8, 16], [3 * 10**30, 12 * 10**30]) == pytest.approx(2)


def test_each_form_has_its_own_exponent_from_the_given_length_on():
    rows = [{"form": "a", "length": n, "bytes": n**2 if n > 1 else 50} for n in (1, 2, 4, 8)]
    rows += [{"form": "b", "length": n, "bytes": 3 * n} for n in (2, 4)]
    found = costs.exponents(rows, "bytes", start=2)
    assert found == {"a": pytest.approx(2), "b": pytest.approx(1)}


def test_no_length_is_left_out_unless_asked_for():
    rows = [{"form": "a", "length": n, "bytes": 1 + n} for n in (0, 1, 2)]
    with pytest.raises(ConfigError, match=r"sizes \[0, 1, 2\] .* must all be positive"):
        costs.exponents(rows, "bytes")


@pytest.mark.parametrize(
    ("sizes", "values", "message"),
    [
        ([2], [2], "1 sizes and 1 costs"),
        ([2, 2], [2, 3], "2 sizes and 2 costs"),
        ([2, 3], [2], "2 sizes and 1 costs"),
        ([2, 3], [0, 1], "must all be positive"),
        ([2, 3], [1.0, np.nan], "must all be positive"),
    ],
)
def test_points_without_an_exponent_are_refused(sizes, values, message):
    with pytest.raises(ConfigError, match=message):
        costs.fitted_exponent(sizes, values)


def test_a_traced_peak_is_that_of_two_arrays_at_once():
    """Two arrays of 8 x 100,000 bytes live together, the third comes after them."""

    def work():
        a = np.zeros(100_000)
        b = a + 1
        del a, b
        np.zeros(50_000)

    assert costs.traced_peak(work) == pytest.approx(1_600_000, rel=0.01)


def test_a_traced_peak_does_not_count_what_was_there_before():
    kept = np.zeros(1_000_000)
    assert costs.traced_peak(lambda: kept.sum()) < 20_000


def test_a_profiled_peak_is_that_of_two_tensors_at_once():
    """Two tensors of 8 x 100,000 bytes live together, the third comes after them."""

    def work():
        a = torch.ones(100_000)
        b = a + 1
        del a, b
        torch.ones(50_000)

    assert costs.profiled_peak(work) == pytest.approx(1_600_000, rel=0.01)


def test_a_profiled_peak_of_one_tensor_is_its_size():
    assert costs.profiled_peak(lambda: torch.empty(1000, dtype=torch.float64)) == 8_000
    assert costs.profiled_peak(lambda: None) == 0


def test_saved_bytes_count_each_storage_once():
    """A product keeps both factors, here one tensor twice: 8 x 1,000 bytes."""
    x = torch.randn(1000, requires_grad=True)
    assert costs.saved_bytes(lambda: x * x) == 8_000
    assert costs.saved_bytes(lambda: x + x) == 0
    assert costs.saved_bytes(lambda: (x * x).sum().backward()) == 8_000


def test_cpu_seconds_are_those_of_the_fastest_turn(monkeypatch):
    """Clock 0, 8, 8, 12: turns of 8 and 4 seconds with two calls each."""
    clock = iter([0.0, 8.0, 8.0, 12.0])
    monkeypatch.setattr(costs.time, "process_time", lambda: next(clock))
    made = []
    assert costs.cpu_seconds(lambda: made.append(1), repeats=2, calls=2) == 2.0
    assert len(made) == 4


def test_a_turn_is_one_call_unless_told():
    made = []
    costs.cpu_seconds(lambda: made.append(1), repeats=3)
    assert len(made) == 3


def test_command_line_fits_a_record(tmp_path, capsys):
    rows = [{"form": "a", "length": n, "seconds": n**2.5} for n in (1, 2, 4)]
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"torch": rows, "numpy": rows}))
    costs.main([str(path), "--start", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("{")[0] for line in lines] == ["torch seconds ", "numpy seconds "]
    assert "'a': 2.5" in lines[0] or "'a': 2.49999" in lines[0]


def test_command_line_says_what_it_measures_and_where_it_begins(capsys):
    with pytest.raises(SystemExit):
        costs.main(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "What a piece of work costs: CPU time, memory," in said
    assert "--start START least length that counts" in said


def test_command_line_begins_at_1024(tmp_path, capsys):
    """Eight times the cost at twice the length, from there on."""
    rows = [
        {"form": "a", "length": n, "bytes": b} for n, b in [(512, 9), (1024, 2), (2048, 16)]
    ]
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"torch": rows, "numpy": rows}))
    costs.main([str(path)])
    found = capsys.readouterr().out.splitlines()[0].split("'a': ")[1]
    assert float(found.strip("}")) == pytest.approx(3)
