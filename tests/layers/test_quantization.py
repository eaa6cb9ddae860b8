import copy

import pytest
import torch
from torch import nn

from mathlm.errors import InputError
from mathlm.functional.quantized_product import byte_kernel, nibble_kernel
from mathlm.layers import ByteLinear, NibbleLinear, QuantizedEmbedding, fused_rows


def maps(outputs=(96, 32), inputs=64, dtype=None, bias=True):
    """Maps of 8 bits, and of 4, that read the same inputs."""
    w = [torch.randn(o, inputs, dtype=dtype) for o in outputs]
    b = [torch.randn(o, dtype=dtype) if bias else None for o in outputs]
    bytes_ = [ByteLinear.of(*pair) for pair in zip(w, b, strict=True)]
    return bytes_, [NibbleLinear.of(*pair, group=32) for pair in zip(w, b, strict=True)]


@pytest.mark.parametrize("kind", [0, 1])
def test_a_map_is_the_product_with_its_weights(kind):
    m = maps()[kind][0]
    x = torch.randn(2, 3, 64)
    expected = nn.functional.linear(x, m.weights(torch.float64), m.bias)
    torch.testing.assert_close(m(x), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [ByteLinear, NibbleLinear])
def test_the_bias_is_a_copy_that_no_gradient_reaches(kind):
    linear = nn.Linear(64, 8)
    m = kind.of(linear.weight, linear.bias)
    kept = m.bias.clone()
    linear.bias.data += 1
    assert torch.equal(m.bias, kept)
    assert not m(torch.randn(1, 64)).requires_grad


def test_bytes_are_within_half_a_step_of_the_weights():
    w = torch.randn(20, 64)
    m = ByteLinear.of(w)
    step = w.abs().amax(1, keepdim=True) / 127
    assert ((m.weights() - w).abs() <= step / 2 * (1 + 1e-9)).all()


def test_nibbles_are_within_half_a_step_of_the_weights():
    """The steps of 15 intervals, rounded up to bfloat16: at most 2^-7 larger."""
    w = torch.randn(20, 64)
    error = (
        (NibbleLinear.of(w, group=32).weights(torch.float64) - w).unflatten(1, (2, 32)).abs()
    )
    low, high = w.unflatten(1, (2, 32)).aminmax(dim=-1, keepdim=True)
    assert (error <= (high - low) / 30 * 1.05).all()


@pytest.mark.parametrize(("kind", "digits"), [(0, 2**-20), (1, 2**-7)])
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_the_kernel_agrees_with_the_weights_written_out(kind, digits, rows):
    m = maps(dtype=torch.float32)[kind][0]
    x = torch.randn(rows, 64, dtype=torch.float32)
    ready = (byte_kernel, nibble_kernel)[kind]()  # not every processor has them
    assert m.fits(x) == (ready and rows < 100)
    expected = nn.functional.linear(x.double(), m.weights(torch.float64), m.bias.double())
    assert (m(x) - expected).norm() < digits * expected.norm()
    assert m(x).dtype == torch.float32


@pytest.mark.parametrize("inputs", [40, 100])
def test_inputs_that_groups_do_not_divide_are_met_rightly(inputs):
    w, x = torch.randn(48, inputs).float(), torch.randn(1, inputs).float()
    m = NibbleLinear.of(w, group=32)
    assert m.weights().shape == (48, inputs)
    expected = x.double() @ m.weights(torch.float64).T
    for y in (m(x), fused_rows([m])(x)):
        assert (y - expected).norm() < 2**-7 * expected.norm()
    torch.testing.assert_close(m(x.double()), expected)


def test_rows_in_a_batch_are_what_they_are_alone():
    for m in (maps(dtype=torch.float32)[kind][0] for kind in (0, 1)):
        x = torch.randn(3, 64, dtype=torch.float32)
        alone = torch.cat([m(row) for row in x.split(1)])
        torch.testing.assert_close(m(x), alone, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [0, 1])
def test_inputs_get_a_gradient(kind):
    m = maps(dtype=torch.float32)[kind][0]
    x = torch.randn(1, 64, dtype=torch.float32, requires_grad=True)
    m(x).sum().backward()
    torch.testing.assert_close(x.grad[0], m.weights(torch.float32).sum(0))


def test_scaled_columns_meet_divided_inputs():
    w, x, s = torch.randn(8, 64), torch.randn(5, 64), torch.rand(64) + 0.5
    for m in (ByteLinear.of(w, scale=s), NibbleLinear.of(w, scale=s, group=32)):
        torch.testing.assert_close(m(x), (x / s) @ m.weights(torch.float64).T)
    torch.testing.assert_close(ByteLinear.of(w, scale=s)(x), x @ w.T, rtol=0.1, atol=0.2)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("outputs", [(96, 32), (96, 96), (64, 128, 64), (64,), (50, 50)])
def test_fused_maps_give_what_they_give_one_by_one(kind, dtype, outputs):
    parts = maps(outputs, dtype=dtype)[kind]
    x = torch.randn(4, 64, dtype=dtype)
    before = torch.cat([m(x) for m in parts], -1)
    fused = fused_rows(parts)
    torch.testing.assert_close(fused(x), before)
    torch.testing.assert_close(fused(x[:1]), before[:1], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(torch.cat([m(x) for m in parts], -1), before)


def test_fused_codes_are_in_memory_once():
    parts = maps((96, 192))[0]
    fused_rows(parts)
    a, b = (m.blocks for m in parts)
    assert a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    assert b.data_ptr() == a.data_ptr() + a.nbytes


def test_maps_of_other_scales_or_without_bias_are_fused_rightly():
    w, s = torch.randn(2, 64, 64, dtype=torch.float32), torch.rand(64, dtype=torch.float32) + 1
    scaled = [ByteLinear.of(w[0], scale=s), ByteLinear.of(w[1])]
    biased = [ByteLinear.of(w[0], torch.ones(64, dtype=torch.float32)), ByteLinear.of(w[1])]
    x = torch.randn(1, 64, dtype=torch.float32)
    for parts in (scaled, biased):
        before = torch.cat([m(x) for m in parts], -1)
        torch.testing.assert_close(fused_rows(parts)(x), before, rtol=1e-5, atol=1e-5)


def test_a_copy_of_fused_maps_stands_alone():
    parts = maps((64, 64))[0]
    fused_rows(parts)
    copied, x = copy.deepcopy(parts[1]), torch.randn(1, 64)
    parts[1].blocks.zero_()
    assert not torch.equal(copied(x), parts[1](x))


def test_rows_of_a_table_are_its_weights():
    table = ByteLinear.of(torch.randn(100, 64))
    ids = torch.tensor([[3, 99], [0, 3]])
    embedding = QuantizedEmbedding(table)
    assert torch.equal(embedding(ids), table.weights()[ids])
    assert torch.equal(embedding.weight, table.weights())


def test_inputs_of_another_width_are_refused():
    (m, _), _ = maps()
    with pytest.raises(InputError, match=r"x has shape \(2, 32\), and this map .* 64 numbers"):
        m(torch.randn(2, 32))
    with pytest.raises(InputError, match=r"these read \[32, 64\]"):
        fused_rows([m, ByteLinear.of(torch.randn(4, 32))])
