import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm import functional as F
from mathlm.errors import InputError

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
ROTATIONS = pytest.mark.parametrize("rotate", [F.rotate_half_split, F.rotate_interleaved])
places = st.integers(0, 200)


def test_sinusoidal_table_is_its_formula():
    table = F.sinusoidal_table(7, 6)
    for t in range(7):
        for i in range(3):
            angle = t / 10_000 ** (2 * i / 6)
            found = table[t, 2 * i : 2 * i + 2].tolist()
            assert found == pytest.approx([math.sin(angle), math.cos(angle)], rel=1e-12)


def test_a_shift_of_sinusoidal_positions_is_one_rotation_for_all():
    """Vectors at t and t + 3 have the same inner product wherever t is."""
    table = F.sinusoidal_table(20, 16)
    products = (table[3:] * table[:-3]).sum(-1)
    torch.testing.assert_close(products, products[:1].expand(17), **TIGHT)


@ROTATIONS
@given(places, places, places)
@settings(deadline=None, derandomize=True, max_examples=50)
def test_rotated_inner_products_depend_on_the_distance_only(rotate, m, n, shift):
    torch.manual_seed(0)
    q, k = torch.randn(2, 8, dtype=torch.float64)
    cos, sin = (x.double() for x in F.rotary_table(500, 8))
    product = rotate(q, cos[m], sin[m]) @ rotate(k, cos[n], sin[n])
    m, n = m + shift, n + shift
    moved = rotate(q, cos[m], sin[m]) @ rotate(k, cos[n], sin[n])
    assert abs(product - moved) <= 1e-10


@ROTATIONS
def test_rotation_keeps_lengths_and_position_0_turns_nothing(rotate):
    x, (cos, sin) = torch.randn(3, 5, 8), F.rotary_table(5, 8)
    y = rotate(x, cos, sin)
    torch.testing.assert_close(y.norm(dim=-1), x.norm(dim=-1), **TIGHT)
    assert torch.equal(y[:, 0], x[:, 0])


def test_rotation_is_multiplication_of_complex_numbers():
    x, (cos, sin) = torch.randn(5, 8), F.rotary_table(5, 8, base=100.0)
    a, b = x.chunk(2, -1)
    angles = torch.arange(5.0)[:, None] / 100.0 ** (torch.arange(0.0, 8.0, 2) / 8)
    turned = torch.complex(a, b) * torch.polar(torch.ones(5, 4), angles)
    expected = torch.cat((turned.real, turned.imag), -1)
    torch.testing.assert_close(F.rotate_half_split(x, cos, sin), expected, **TIGHT)


def test_reordering_turns_interleaved_rotation_into_half_split():
    x, (cos, sin) = torch.randn(3, 5, 8), F.rotary_table(5, 8)
    order = F.half_split_order(8)
    interleaved = F.rotate_interleaved(x, cos, sin)
    assert torch.equal(interleaved[..., order], F.rotate_half_split(x[..., order], cos, sin))


def test_half_split_order_of_six_features_and_its_inverse():
    order = F.half_split_order(6)
    assert order.tolist() == [0, 2, 4, 1, 3, 5]
    assert order[order.argsort()].tolist() == list(range(6))


def test_reordered_projections_give_equal_scores_under_the_other_pairing():
    """The rows of W_q and W_k are reordered, head by head."""
    x, (cos, sin), order = torch.randn(5, 12), F.rotary_table(5, 8), F.half_split_order(8)
    W_q, W_k = torch.randn(2, 3, 8, 12)  # three heads
    q, k = x @ W_q.mT, x @ W_k.mT
    theirs = F.rotate_interleaved(q, cos, sin) @ F.rotate_interleaved(k, cos, sin).mT
    q, k = x @ W_q[:, order].mT, x @ W_k[:, order].mT
    ours = F.rotate_half_split(q, cos, sin) @ F.rotate_half_split(k, cos, sin).mT
    torch.testing.assert_close(ours, theirs, **TIGHT)


def test_rotary_tables_hold_cosines_and_sines_of_their_angles():
    """Base 10 000 unless another is given; cosines and sines carry the factor of a scaling."""
    half = F.RopeScaling(kind="linear", factor=2, attention_factor=1.5)
    for scaling, rate, size in ((None, 1, 1), (half, 0.5, 1.5)):
        cos, sin = F.rotary_table(7, 6, scaling=scaling)
        for t in range(7):
            angles = [rate * t / 10_000 ** (2 * i / 6) for i in range(3)]
            assert cos[t].tolist() == pytest.approx([size * math.cos(a) for a in angles])
            assert sin[t].tolist() == pytest.approx([size * math.sin(a) for a in angles])


def test_tables_are_computed_in_double_precision_and_rounded_to_the_default():
    exact = (F.sinusoidal_table(999, 6), *F.rotary_table(999, 6))
    torch.set_default_dtype(torch.float32)  # conftest sets it anew for each test
    for found, right in zip(
        (F.sinusoidal_table(999, 6), *F.rotary_table(999, 6)), exact, strict=True
    ):
        assert found.dtype == torch.float32
        assert torch.equal(found, right.float())


@ROTATIONS
def test_vectors_of_16_bits_are_turned_in_the_precision_of_the_table_and_rounded_once(rotate):
    x, table = torch.randn(5, 8).bfloat16(), F.rotary_table(5, 8)
    turned = rotate(x, *table)
    assert turned.dtype == torch.bfloat16
    assert torch.equal(turned, rotate(x.double(), *table).bfloat16())


def test_one_pair_of_features_and_no_position_are_enough():
    assert F.half_split_order(2).tolist() == [0, 1]
    assert F.sinusoidal_table(0, 4).shape == (0, 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.sinusoidal_table(4, 5),
        lambda: F.rotary_table(4, 5),
        lambda: F.half_split_order(5),
    ],
)
def test_odd_widths_are_refused(call):
    with pytest.raises(InputError, match="width 5 must be even"):
        call()
