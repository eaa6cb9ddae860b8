"""Grader of the project of this page: a decoder block and a tied decoder, backward by hand."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor
from torch.nn.functional import layer_norm, linear, scaled_dot_product_attention

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by

from . import open_block
from .gradient_faults import FAULTS, HEADS
from .layer_faults import NORM, Fault, after, norm
from .planted_gradient_faults import planted
from .reference_block import decoder_block, decoder_block_backward, module

Backward = Callable[..., Any]
Arrays = dict[str, ndarray]
D, H, F, N = 6, 2, 8, 5  # width, heads, inner width; as many source as target tokens
ON_SHAPES = advice_on_shapes(
    "Write down the shape of each factor: heads are (B, H, T, K), streams (B, T, D); "
    "`.mT` exchanges the last two axes."
)


def grade(block_backward: Backward, decoder_backward: Backward) -> Report:
    """Test the backward passes of ``open_block.block`` and ``open_block.decoder``.

    Gradients are compared with torch's automatic differentiation of the same functions, one
    sublayer at a time from the top, and with what common mistakes give, so that the report can
    name the mistake.

    Args:
        block_backward: ``block_backward(dy, w, cache)`` returns dy_in, dmemory and the
            gradients of the weights by name.
        decoder_backward: ``decoder_backward(dz, cache)`` returns dtable, dmemory.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, block_backward, decoder_backward, advice=ON_SHAPES)


# --- what is right ----------------------------------------------------------------------------


def weights(rng: np.random.Generator) -> Arrays:
    """All weights of a block, none of them 0 or 1."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name in ("attention", "cross_attention"):
        for n in "qkvo":
            shapes |= {f"{name}.W_{n}.weight": (D, D), f"{name}.W_{n}.bias": (D,)}
    for name, shape in (("W_in", (F, D)), ("W_out", (D, F))):
        shapes |= {f"feed_forward.{name}.weight": shape, f"feed_forward.{name}.bias": shape[:1]}
    w = {name: 0.6 * rng.normal(size=shape) for name, shape in shapes.items()}
    for name in ("attention_norm", "cross_attention_norm", "feed_forward_norm"):
        w |= {f"{name}.gamma": rng.normal(1, 0.3, D), f"{name}.beta": rng.normal(size=D)}
    return w


class Drawn:
    """A block, its masks, and a gradient of what it gives."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.y, self.memory, self.dy = rng.normal(size=(3, 2, N, D))
        self.w = weights(rng)
        self.mask = np.tri(N, dtype=bool)
        self.memory_mask = (np.arange(N) < np.array([[N], [N - 2]]))[:, None, None]
        self.table = rng.normal(size=(7, D)) / np.sqrt(D)
        self.ids = np.array([[1, 3, 3, 5, 2], [1, 6, 3, 2, 0]])
        self.blocks = [self.w, weights(rng)]
        self.dz = rng.normal(size=(2, N, 7))


def torch_block(y: Tensor, memory: Tensor, w: Mapping[str, Tensor], *masks: Any) -> Tensor:
    """The block in torch, for automatic differentiation."""
    maps = lambda x, n: linear(x, w[f"{n}.weight"], w[f"{n}.bias"])  # noqa: E731
    scaled = lambda r, n: layer_norm(r, (D,), w[f"{n}.gamma"], w[f"{n}.beta"])  # noqa: E731
    for name, mask in zip(("attention", "cross_attention"), masks, strict=True):
        source = y if name == "attention" else memory
        q, k, v = (
            maps(x, f"{name}.W_{n}").unflatten(-1, (H, -1)).transpose(1, 2)
            for x, n in zip((y, source, source), "qkv", strict=True)
        )
        seen = None if mask is None else torch.as_tensor(mask)
        o = scaled_dot_product_attention(q, k, v, seen).transpose(1, 2).flatten(-2)
        y = scaled(y + maps(o, f"{name}.W_o"), f"{name}_norm")
    f = maps(maps(y, "feed_forward.W_in").relu(), "feed_forward.W_out")
    return scaled(y + f, "feed_forward_norm")


def _leaves(arrays: Mapping[str, ndarray]) -> dict[str, Tensor]:
    return {n: torch.tensor(a, requires_grad=True) for n, a in arrays.items()}


@cache
def right_block() -> Arrays:
    """Gradients of the block by torch: "stream", "memory", and the weights by name."""
    drawn = Drawn()
    leaves = _leaves({"stream": drawn.y, "memory": drawn.memory} | drawn.w)
    out = torch_block(leaves["stream"], leaves["memory"], leaves, drawn.mask, drawn.memory_mask)
    found = torch.autograd.grad(out, list(leaves.values()), torch.tensor(drawn.dy))
    return {n: g.numpy() for n, g in zip(leaves, found, strict=True)}


@cache
def right_decoder() -> dict[str, Any]:
    """Gradients of the decoder by torch: "table", "memory", and shares of both."""
    drawn, blocks = Drawn(), [_leaves(w) for w in Drawn().blocks]
    table = {use: torch.tensor(drawn.table, requires_grad=True) for use in ("rows", "head")}
    memories = [torch.tensor(drawn.memory, requires_grad=True) for _ in blocks]
    y = D**0.5 * table["rows"][torch.tensor(drawn.ids)]
    for w, memory in zip(blocks, memories, strict=True):
        y = torch_block(y, memory, w, drawn.mask, None)
    leaves = [*table.values(), *memories]
    found = torch.autograd.grad(y @ table["head"].T, leaves, torch.tensor(drawn.dz))
    rows, head, *of_blocks = (g.numpy() for g in found)
    return {"rows": rows, "head": head, "blocks": of_blocks}


# --- what is wrong ----------------------------------------------------------------------------


def _first(factor: float) -> Any:
    return after(lambda dy, cache, out: (out[0] + factor * dy, *out[1:]))


def _to_stream(dy: Any, kept: Any, out: Any) -> Any:
    dx, gradients, dmemory = out
    return out if dmemory is None else (dx + dmemory, gradients, 0 * dmemory)


FEED = "feed_forward_backward"
MISTAKES: dict[str, Fault] = {
    "the first mean is missing in the LayerNorm: dr = (g - mean g - r̂ mean(g r̂)) / σ.": FAULTS[
        "mean of g forgotten"
    ],
    "the term r̂ mean(g r̂) is missing in the LayerNorm.": Fault(module, NORM, "", norm(along=0)),
    "the gain is left out of the LayerNorm: g = γ ⊙ dy.": FAULTS["gain forgotten"],
    "the ReLU lets every gradient pass; a unit that is off passes none.": FAULTS[
        "ReLU lets all pass"
    ],
    "the gradient of a bias is the sum over all positions, not their mean.": FAULTS[
        "db a mean"
    ],
    "the gradient of a square matrix is transposed: dW = dYᵀ X has the shape (out, in).": (
        FAULTS["dW transposed"]
    ),
    "a gradient passes a square matrix the wrong way round: Y = X Wᵀ gives dX = dY W.": (
        FAULTS["dx without the transpose"]
    ),
    "a residual copy is forgotten: add dR to what the attention returns.": Fault(
        module, HEADS, "", _first(-1)
    ),
    "a residual copy is counted twice.": Fault(module, HEADS, "", _first(1)),
    "the residual copy around the feed-forward network is forgotten: dC = dR + ffn*(dR).": (
        Fault(module, FEED, "", _first(-1))
    ),
    "W_o is passed by: the heads get dR W_o, not dR.": FAULTS["W_o passed by"],
    "the factor 1/√K is missing in dQ and dK.": FAULTS["√d forgotten"],
    "the softmax's backward pass lacks the row sum: dS = A ⊙ (dA - rowsum(A ⊙ dA)).": FAULTS[
        "softmax without its sum"
    ],
    "the memory gets the values' part only; add dK W_k.": FAULTS["encoder hears values only"],
    "the keys get no gradient.": FAULTS["keys learn nothing"],
    "keys and values of cross-attention send their gradient to the stream; it belongs to the "
    "memory, which they were made from.": Fault(module, HEADS, "", after(_to_stream)),
}


@cache
def wrong_blocks() -> dict[str, Arrays]:
    """What each mistake gives, by its sentence."""
    drawn, found = Drawn(), {}
    for sentence, fault in MISTAKES.items():
        with planted(fault):
            masks = drawn.mask, drawn.memory_mask
            kept = decoder_block(drawn.y, drawn.memory, drawn.w, H, *masks)[1]
            stream, memory, gradients = decoder_block_backward(drawn.dy, kept)
        found[sentence] = {"stream": stream, "memory": memory} | gradients
    return found


def _same(a: ndarray, b: ndarray) -> bool:
    return np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-8, atol=1e-10)


# --- the tests --------------------------------------------------------------------------------


def _block(backward: Backward) -> Arrays:
    """The reader's gradients of the block, once their form is right."""
    drawn = Drawn()
    masks = drawn.mask, drawn.memory_mask
    kept = open_block.block(drawn.y, drawn.memory, drawn.w, H, *masks)[1]
    found = backward(drawn.dy.copy(), drawn.w, kept)
    if not isinstance(found, tuple | list) or len(found) != 3 or not isinstance(found[2], dict):
        raise FaultError(
            "block_backward must return dy_in, dmemory and a dict of the weights' gradients."
        )
    gradients = {"stream": found[0], "memory": found[1]} | found[2]
    wanted = right_block()
    if missing := [n for n in wanted if n not in gradients]:
        raise FaultError(f"no gradient is given for {', '.join(missing)}.")
    for name, g in wanted.items():
        if np.shape(gradients[name]) != g.shape:
            raise FaultError(
                f"the gradient of {name} has shape {np.shape(gradients[name])}; it must have "
                f"that of its array, {g.shape}."
            )
    return gradients


def _shapes(backward: Backward, _: Backward) -> None:
    _block(backward)


def _part(*prefixes: str) -> Callable[[Backward, Backward], None]:
    """A test of the gradients whose names begin so."""

    def test(backward: Backward, _: Backward) -> None:
        found, right = _block(backward), right_block()
        names = [n for n in right if n.startswith(prefixes)]
        wrong = [n for n in names if not _same(found[n], right[n])]
        if not wrong:
            return
        for sentence, mistake in wrong_blocks().items():
            if all(_same(found[n], mistake[n]) for n in names):
                raise FaultError(sentence)
        off = {n: np.linalg.norm(found[n] - right[n]) / np.linalg.norm(right[n]) for n in wrong
               if np.linalg.norm(right[n]) > 1e-10}  # fmt: skip
        said = ", ".join(f"{n} by {e:.2g}" for n, e in off.items()) or ", ".join(wrong)
        raise FaultError(f"relative to torch's gradients these are off: {said}.")

    return test


def _zeros(backward: Backward, _: Backward) -> None:
    drawn = Drawn()
    masks = drawn.mask, drawn.memory_mask
    kept = open_block.block(drawn.y, drawn.memory, drawn.w, H, *masks)[1]
    drawn.dy[:, 3:] = 0
    dy, dmemory, _g = backward(drawn.dy, drawn.w, kept)
    if np.any(dmemory[1, -2:]):
        raise FaultError("padding of the memory has a gradient; it must be exactly 0.")
    if np.any(dy[:, 3:]):
        raise FaultError("a later position has a gradient although only earlier ones count.")


def _untouched(backward: Backward, _: Backward) -> None:
    drawn = Drawn()
    kept = open_block.block(drawn.y, drawn.memory, drawn.w, H)[1]
    before = drawn.dy.copy()
    first = [np.copy(g) for g in backward(drawn.dy, drawn.w, kept)[:2]]
    if not np.array_equal(before, drawn.dy):
        raise FaultError("your code changes its argument dy in place.")
    if not all(map(_same, backward(drawn.dy, drawn.w, kept)[:2], first)):
        raise FaultError("a second call gives other gradients: the cache or w was changed.")


def _decoder(backward: Backward) -> tuple[ndarray, ndarray]:
    """The reader's gradients of table and memory, once their form is right."""
    drawn = Drawn()
    kept = open_block.decoder(drawn.ids, drawn.memory, drawn.table, drawn.blocks, H)[1]
    found = backward(drawn.dz.copy(), kept)
    shapes = [drawn.table.shape, drawn.memory.shape]
    if not isinstance(found, tuple | list) or [np.shape(g) for g in found] != shapes:
        raise FaultError(f"decoder_backward must return dtable, dmemory of shapes {shapes}.")
    return found[0], found[1]


def _memory(_: Backward, backward: Backward) -> None:
    found, (low, top) = _decoder(backward)[1], right_decoder()["blocks"]
    if _same(found, low + top):
        return
    if _same(found, top) or _same(found, low):
        which = "top" if _same(found, top) else "bottom"
        raise FaultError(
            f"the memory gets the gradient of the {which} block only; every block attends to "
            "it, so their gradients add."
        )
    if _same(found, (low + top) / 2):
        raise FaultError("the gradients of the blocks in the memory add; they are no mean.")
    raise FaultError(
        "dmemory differs from torch's: are the blocks undone from the top to the bottom, each "
        "with the gradient that the one above sent down?"
    )


def _table(_: Backward, backward: Backward) -> None:
    found, right, drawn = _decoder(backward)[0], right_decoder(), Drawn()
    rows, head = right["rows"], right["head"]
    if _same(found, rows + head):
        return
    for sentence, wrong in {
        "the table gets the head's part only; add that of the rows looked up.": head,
        "the table gets the part of its rows only; the head uses it too.": rows,
        "the factor √D is missing in the gradient of the rows.": rows / D**0.5 + head,
    }.items():
        if _same(found, wrong):
            raise FaultError(sentence)
    once = [v for v in range(7) if (drawn.ids == v).sum() <= 1]
    if _same(found[once], (rows + head)[once]):
        raise FaultError(
            "tokens that occur once are right, repeated ones are not: dE[ids] += writes each "
            "row once; np.add.at adds at repeated indices."
        )
    raise FaultError("dtable differs from torch's.")


SHAPES, THIRD = "block: names and shapes", "block: feed-forward network and its norm"
SECOND, TO_MEMORY = "block: cross-attention and its norm", "block: the memory"
FIRST, STREAM = "block: self-attention and its norm", "block: the stream"
MEMORY = "decoder: the memory"
TESTS = (
    Case(SHAPES, _shapes),
    Case(THIRD, _part("feed_forward"), (SHAPES,)),
    Case(SECOND, _part("cross_attention"), (THIRD,)),
    Case(TO_MEMORY, _part("memory"), (SECOND,)),
    Case(FIRST, _part("attention"), (SECOND,)),
    Case(STREAM, _part("stream"), (FIRST,)),
    Case("block: exact zeros", _zeros, (TO_MEMORY, STREAM)),
    Case("block: arguments and cache stay as they are", _untouched, (SHAPES,)),
    Case(MEMORY, _memory, (TO_MEMORY, STREAM)),
    Case("decoder: the tied table", _table, (MEMORY,)),
)
__all__ = ["TESTS", "grade"]
