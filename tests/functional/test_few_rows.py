import pytest
import torch

from mathlm.functional.few_rows import FEW, LARGE, NARROW, SLICES, sliced_product, slices_pay

SHAPES = [(1024, 128), (1023, 130), (256, 2048), (515, 256)]  # 1023 and 515 leave a rest
ROWS = [1, 2, 3, 5, FEW, FEW + 1]


@pytest.mark.parametrize(("outputs", "inputs"), SHAPES)
@pytest.mark.parametrize("rows", ROWS)
def test_a_product_in_slices_is_the_product(outputs, inputs, rows):
    W, x = torch.randn(outputs, inputs), torch.randn(rows, inputs)
    expected = x.double() @ W.double().T
    y = sliced_product(W.float())(x.float())
    assert y.shape == expected.shape
    rounding = torch.finfo(torch.float32).eps * inputs**0.5  # of sums in any order
    assert (y.double() - expected).norm() < rounding * expected.norm()


def test_the_shapes_above_take_every_way():
    wide = {rows * inputs > NARROW for _, inputs in SHAPES for rows in ROWS if rows <= FEW}
    assert wide == {False, True}
    assert {bool(outputs % SLICES) for outputs, _ in SHAPES} == {False, True}


def test_vectors_side_by_side_give_the_same():
    W, x = torch.randn(512, 256).float(), torch.randn(256, 3).float().T
    torch.testing.assert_close(sliced_product(W)(x), sliced_product(W)(x.contiguous()))


def test_the_matrix_is_read_where_it_is():
    W, x = torch.zeros(512, 256).float(), torch.ones(1, 256).float()
    product = sliced_product(W)
    W[-1] = 1.0
    assert product(x)[0, -1] == 256


def test_slices_pay_for_large_matrices_of_float32():
    side = 2 * int(LARGE**0.5)
    W = torch.zeros(side, side, dtype=torch.float32)
    assert slices_pay(W) == torch.backends.mkl.is_available()
    for other in (W.double(), W.bfloat16(), W.T[:, : side // 2], W[:64].clone(), W[:, :8]):
        assert not slices_pay(other)
    few = torch.zeros(8, LARGE, dtype=torch.float32)  # a slice would be none
    assert not slices_pay(few)


@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="torch has no MKL here")
def test_from_which_size_on():
    rows = 8 * SLICES
    sizes = (rows, LARGE // rows), (rows, LARGE // rows - 1), (rows - 1, 2 * LARGE // rows)
    assert [slices_pay(torch.zeros(s, dtype=torch.float32)) for s in sizes] == [
        True,
        False,
        False,
    ]
