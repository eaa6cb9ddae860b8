import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.functional import causal_mask, influence
from mathlm.layers import Block, FeedForward, LayerNorm, PostNormBlock, RMSNorm, SelfAttention

T, D = 5, 6


def by_loop(f, x):
    """One entry of the output at a time."""
    x = x.clone().requires_grad_()
    y = f(x)
    squares = torch.zeros(len(y), len(x))
    for t in range(len(y)):
        for d in range(y.shape[1]):
            (gradient,) = torch.autograd.grad(y[t, d], x, retain_graph=True)
            squares[t] += gradient.square().sum(-1)
    return squares.sqrt()


def single(layer):
    return lambda x: layer(x[None])[0]


def make(kind):
    attention = SelfAttention(D, 2, causal=kind != "open")
    if kind in ("attention", "open"):
        return attention
    if kind == "window":
        return SelfAttention(D, 2, window=2)
    block = PostNormBlock if kind == "post-norm" else Block
    return block(LayerNorm(D), attention, RMSNorm(D), FeedForward(D, 7))


@pytest.mark.parametrize("kind", ["attention", "open", "window", "pre-norm", "post-norm"])
def test_it_equals_a_loop_over_the_entries_of_the_output(kind):
    f, x = single(make(kind)), torch.randn(T, D)
    torch.testing.assert_close(influence(f, x), by_loop(f, x), rtol=1e-12, atol=1e-14)


def test_a_map_to_another_length_and_width_by_hand():
    """y₁ = 3 x₁ + 4 x₂ in one feature, and its double: ∂y₁/∂x = 3, 4, 0; y₂ gives 6, 8, 0."""
    x = torch.randn(3, 1)
    W = torch.tensor([[3.0, 4.0, 0.0], [6.0, 8.0, 0.0]])
    torch.testing.assert_close(influence(lambda x: W @ x, x), W, rtol=1e-14, atol=0)


def test_a_block_of_the_jacobian_is_measured_by_its_frobenius_norm():
    """Each position is mapped by [[1, 2], [2, 4]]: √(1 + 4 + 4 + 16) = 5; others: 0."""
    W = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    expected = 5 * torch.eye(3)
    torch.testing.assert_close(influence(lambda x: x @ W, torch.randn(3, 2)), expected)


@pytest.mark.parametrize(
    ("kind", "mask"),
    [
        ("attention", causal_mask(T, T)),
        ("window", causal_mask(T, T, window=2)),
        ("open", torch.ones(T, T, dtype=torch.bool)),
        ("pre-norm", causal_mask(T, T)),
        ("post-norm", causal_mask(T, T)),
    ],
)
def test_it_is_exactly_zero_where_the_mask_hides_and_nowhere_else(kind, mask):
    assert torch.equal(influence(single(make(kind)), torch.randn(T, D)) > 0, mask)


def test_it_is_computed_where_the_input_lies_whatever_the_default():
    x = torch.ones(3, 1)
    with torch.device("meta"):
        matrix = influence(lambda x: x.cumsum(0), x)
    assert torch.equal(matrix, torch.ones(3, 3).tril())


def test_weights_and_input_are_left_as_they_are():
    layer, x = make("pre-norm"), torch.randn(T, D, requires_grad=True)
    matrix = influence(single(layer), x)
    assert x.grad is None
    assert all(p.grad is None for p in layer.parameters())
    assert not matrix.requires_grad


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("f", "x", "error", "message"),
    [
        (
            abs,
            torch.ones(2, 3, 4),
            InputError,
            r"x has shape \(2, 3, 4\), expected \(positions",
        ),
        (abs, torch.ones(0, 4), InputError, r"x has shape \(0, 4\)"),
        (abs, torch.tensor([[1, 2]]), InputTypeError, "x has dtype torch.int64"),
        (abs, torch.tensor([[float("nan")]]), InputError, "x holds 1 NaN"),
        (lambda x: x[0], torch.ones(2, 3), InputError, r"f\(x\) has shape \(3,\)"),
        (torch.log, torch.zeros(1, 2), InputError, r"f\(x\) holds 2 NaN or infinite"),
        (lambda x: (x, x), torch.ones(2, 3), InputTypeError, r"f\(x\) is a tuple"),
    ],
)
def test_what_has_no_such_matrix_is_refused(f, x, error, message):
    with pytest.raises(error, match=message):
        influence(f, x)
