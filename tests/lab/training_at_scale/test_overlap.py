"""Times of sending against times of computing, by hand."""

import pytest

from lab.training_at_scale.overlap import tensor_parallel_overhead, tokens_to_hide
from mathlm.errors import InputError


def test_sending_takes_as_long_as_the_backward_pass_at_the_limit():
    """1e9 parameters, 4 devices of 1e14 FLOP/s, 1e10 bytes/s, gradients of 4 bytes.

    Sent: 2 · 3/4 · 4e9 bytes = 6e9 bytes, 0.6 s. Backward: 4 · 1e9 FLOP a token, 4e-5 s.
    """
    assert tokens_to_hide(1e14, 1e10, 4, bytes_per_number=4) == pytest.approx(0.6 / 4e-5)


def test_a_block_by_hand():
    """D = 1000 on 2 devices of 1e14 FLOP/s and 1e10 bytes/s, 2 bytes a number.

    A token: 72e6 FLOP / 2 devices = 0.36 µs; 4 sums, 2 · 1/2 · 2000 bytes each: 0.8 µs.
    """
    assert tensor_parallel_overhead(1e14, 1e10, 2, 1000) == pytest.approx(0.8 / 0.36)


def test_one_device_sends_nothing():
    assert tokens_to_hide(1e14, 1e10, 1) == 0
    assert tensor_parallel_overhead(1e14, 1e10, 1, 512) == 0


@pytest.mark.parametrize("f", [tokens_to_hide, lambda *a: tensor_parallel_overhead(*a, 64)])
@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((0, 1e10, 2), "flops_per_second=0 must be a positive, finite number"),
        ((1e14, float("nan"), 2), "bytes_per_second=nan must be a positive, finite number"),
        ((1e14, 1e10, 0), "devices=0 must be an integer of at least 1"),
    ],
)
def test_numbers_out_of_range_are_refused(f, args, message):
    with pytest.raises(InputError, match=message):
        f(*args)


def test_a_width_out_of_range_is_refused():
    with pytest.raises(InputError, match="width=0 must be an integer of at least 1"):
        tensor_parallel_overhead(1e14, 1e10, 2, 0)
