import pytest
import torch

from mathlm.functional import quantized_product as q

SIZES = [(96, 32), (192, 64), (50, 32), (7, 64), (130, 128)]


def random_codes(outputs, inputs, half):
    return torch.randint(-half, half, (outputs, inputs), dtype=torch.int8)


@pytest.mark.parametrize(("outputs", "inputs"), SIZES)
def test_packed_codes_come_back(outputs, inputs):
    bytes_, nibbles = random_codes(outputs, inputs, 128), random_codes(outputs, inputs, 8)
    assert torch.equal(q.unpack_bytes(q.pack_bytes(bytes_), outputs), bytes_)
    assert torch.equal(q.unpack_nibbles(q.pack_nibbles(nibbles), outputs), nibbles)


def test_a_nibble_takes_half_a_byte():
    assert q.pack_nibbles(random_codes(128, 64, 8)).nbytes == 128 * 64 // 2


@pytest.mark.parametrize(("outputs", "inputs"), SIZES)
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_the_product_with_bytes_is_the_product_with_what_they_stand_for(outputs, inputs, rows):
    codes, x = random_codes(outputs, inputs, 128), torch.randn(rows, inputs)
    step = torch.rand(outputs)
    expected = x @ (codes.double() * step[:, None]).T
    y = q.byte_product(x.float(), q.pack_bytes(codes), step.float()).double()
    assert (y - expected).norm() < 1e-5 * expected.norm()


def grids(outputs, inputs, group):
    """Grids of every output, and zeros for the outputs that fill the last block."""
    padded = -(-outputs // q.nibble_block()) * q.nibble_block()
    grid = torch.rand(inputs // group, padded, 2).bfloat16()
    grid[:, outputs:] = 0
    return grid


@pytest.mark.skipif(not q.nibble_kernel(), reason="torch has no kernel of 4 bits here")
@pytest.mark.parametrize(("outputs", "inputs"), SIZES)
@pytest.mark.parametrize("rows", [1, 5])
def test_the_product_with_nibbles_is_right_to_eight_binary_digits(outputs, inputs, rows):
    codes, grid = random_codes(outputs, inputs, 8), grids(outputs, inputs, 32)
    x = torch.randn(rows, inputs)
    step, zero = grid[:, :outputs].double().transpose(0, 1).unbind(-1)  # (O, groups)
    w = codes.double().unflatten(1, (-1, 32)) * step[..., None] + zero[..., None]
    expected = x.bfloat16().double() @ w.flatten(1).T
    y = q.nibble_product(x.float(), q.pack_nibbles(codes), grid)[:, :outputs].double()
    assert (y - expected).norm() < 2**-8 * expected.norm()


def test_codes_are_packed_where_they_lie():
    codes = random_codes(7, 4, 128).to("meta")
    assert q.pack_bytes(codes).is_meta


@pytest.mark.parametrize("outputs", [50, 130, 192])
def test_one_row_of_bytes_goes_the_same_way(outputs):
    """Part of one block, of three, and all of two."""
    codes, x = random_codes(outputs, 64, 128), torch.randn(1, 64).float()
    blocks, step = q.pack_bytes(codes), torch.rand(outputs).float()
    product = q.byte_row_product(blocks, step)
    first = q.byte_product(x, blocks, step)
    assert torch.equal(product(x), first)
    assert torch.equal(product(2 * x), 2 * first)  # nothing of the row before is left


@pytest.mark.parametrize("modes", [(True, False), (False, True)])
def test_one_row_of_bytes_is_read_in_whatever_mode_its_map_was_made(modes):
    codes, x = random_codes(50, 64, 128), torch.randn(1, 64).float()
    blocks, step = q.pack_bytes(codes), torch.rand(50).float()
    with torch.inference_mode(modes[0]):
        product = q.byte_row_product(blocks, step)
    with torch.inference_mode(modes[1]):
        assert torch.equal(product(x), q.byte_product(x, blocks, step))


@pytest.mark.skipif(not q.nibble_kernel(), reason="torch has no kernel of 4 bits here")
@pytest.mark.parametrize(("outputs", "missing"), [(50, 0), (64, 10), (64, 1)])
def test_one_row_of_nibbles_goes_the_same_way(outputs, missing):
    """Inputs that the last group lacks are zeros."""
    codes, grid = random_codes(outputs, 64, 8), grids(outputs, 64, 32)
    x, blocks = torch.randn(1, 64 - missing).float(), q.pack_nibbles(codes)
    filled = torch.cat((x, torch.zeros(1, missing).float()), 1)
    expected = q.nibble_product(filled, blocks, grid)[:, :outputs]
    assert expected.dtype == torch.float32
    row = q.nibble_row_product(blocks, grid, 64 - missing, outputs)
    assert torch.equal(row(x), expected)


def test_blocks_waste_the_fewest_outputs():
    """576 = 6 · 96; 128 = 2 · 64 without waste, where 96 would waste 64; 100 in 7 · 16."""
    assert [q.byte_block(n) for n in (576, 192, 128, 49_152, 100)] == [96, 96, 64, 96, 16]


@pytest.mark.parametrize(
    ("capability", "outputs"), [("AVX512", 64), ("AVX2", 32), ("DEFAULT", 32)]
)
def test_a_block_of_nibbles_is_as_wide_as_the_processor_wants_it(
    monkeypatch, capability, outputs
):
    """torch's int4mm_kernel.cpp: blocks of 64 outputs with AVX512, of 32 with AVX2."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert q.nibble_block.__wrapped__() == outputs


def test_the_kernel_of_nibbles_is_used_where_torch_lays_codes_out_as_we_do():
    codes = random_codes(128, 64, 8)
    theirs = torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes.int() + 8, 1)
    same = torch.equal(theirs.flatten(), q.pack_nibbles(codes).flatten())
    assert q.nibble_kernel.__wrapped__() == same


def test_there_is_no_kernel_of_nibbles_without_wide_registers(monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    assert not q.nibble_kernel.__wrapped__()


@pytest.mark.parametrize(("dimension", "size"), [(0, 64), (1, 32)])
def test_the_kernel_of_nibbles_is_not_used_with_another_layout(monkeypatch, dimension, size):
    """Neither outputs nor inputs may stand in another order; all 16 codes are tried."""
    pack = q.pack_nibbles

    def rolled(codes):
        assert codes.unique().tolist() == list(range(-8, 8))
        return pack(codes.roll(shift, dimension))

    monkeypatch.setattr(q, "pack_nibbles", rolled)
    for shift in range(1, size):
        assert not q.nibble_kernel.__wrapped__(), shift


def test_each_sum_takes_the_rows_of_one_block():
    """Two blocks of three inputs, for two rows of x; a block of one input is one row."""
    ids, ends = q.bags.__wrapped__(2, 3, 2)
    assert ids.tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5]
    assert ends.tolist() == [0, 3, 6, 9, 12]
    ids, ends = q.bags.__wrapped__(2, 1, 1)
    assert (ids.tolist(), ends.tolist()) == ([0, 1], [0, 1, 2])
