import numpy as np
import pytest

from lab.self_attention import attention_memory as memory
from mathlm.errors import ConfigError
from mathlm.scaling.measured import exponents


@pytest.fixture(scope="module")
def rows():
    return memory.numpy_cost([256, 512, 1024], d_head=16, repeats=1)


def test_both_forms_give_the_same_gradients(rng):
    numbers = rng.normal(size=(4, 50, 8))
    for a, b in zip(memory.plain(*numbers), memory.flash(*numbers, block=16), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_the_plain_form_holds_the_weights_and_its_memory_grows_with_the_square(rows):
    plain = [row for row in rows if row["form"] == "plain"]
    assert all(row["peak_bytes"] > 8 * row["length"] ** 2 for row in plain)
    assert exponents(rows, "peak_bytes")["plain"] == pytest.approx(2, abs=0.1)


def test_memory_of_tiles_grows_no_faster_than_the_length(rows):
    assert 0.3 < exponents(rows, "peak_bytes")["flash"] < 1.1
    assert rows[2]["form"] == "flash"
    assert rows[2]["peak_bytes"] < 8 * 1024**2 / 2


def test_time_of_both_forms_is_positive_and_rows_are_in_order(rows):
    assert [(row["form"], row["length"]) for row in rows] == [
        (form, T) for form in ("flash", "plain") for T in (256, 512, 1024)
    ]
    assert all(row["seconds"] > 0 for row in rows)


@pytest.mark.parametrize(
    "options", [{"lengths": []}, {"lengths": [0]}, {"block": 0}, {"repeats": 0}]
)
def test_sizes_that_measure_nothing_are_refused(options):
    with pytest.raises(ConfigError, match="must be positive"):
        memory.numpy_cost(**{"lengths": [8]} | options)
