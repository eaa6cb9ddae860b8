"""Grader of the project of this page: one block of GPT-2, from weights as its file has them."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.reference import gelu, gelu_tanh, layer_norm, softmax

Block = Callable[[ndarray, dict[str, ndarray], int], ndarray]
Weights = dict[str, ndarray]
TOLERANCE, D, H, T = 1e-5, 24, 3, 7
SHAPES = {
    "ln_1.weight": (D,), "ln_1.bias": (D,),
    "attn.c_attn.weight": (D, 3 * D), "attn.c_attn.bias": (3 * D,),
    "attn.c_proj.weight": (D, D), "attn.c_proj.bias": (D,),
    "ln_2.weight": (D,), "ln_2.bias": (D,),
    "mlp.c_fc.weight": (D, 4 * D), "mlp.c_fc.bias": (4 * D,),
    "mlp.c_proj.weight": (4 * D, D), "mlp.c_proj.bias": (D,),
}  # fmt: skip


def draw_weights(seed: int = 0) -> Weights:
    """Random weights with the names, the shapes and the storage (in, out) of GPT-2's file.

    Args:
        seed: Of the draw.

    Returns:
        Name -> array, for one block of width 24.
    """
    rng = np.random.default_rng(seed)
    drawn = {}
    for name, shape in SHAPES.items():
        size = shape[0] ** -0.5 if len(shape) == 2 else 0.5
        drawn[name] = size * rng.normal(size=shape) + (name in ("ln_1.weight", "ln_2.weight"))
    return drawn


def grade(block: Block) -> Report:
    """Test a block of GPT-2 against the package's parts and against common mistakes.

    The tests switch parts of the block off by setting weights to 0, so that a mistake is found
    in the part that makes it. The last ones run everything together.

    Args:
        block: ``block(x, weights, n_heads)``, the stream (T, D) after the block.

    Returns:
        A report that prints itself, one sentence for each test that fails.
    """
    return grade_by(TESTS, block, advice=_advice)


def _advice(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"The names of the weights are {', '.join(SHAPES)}."
    if "matmul" in str(error):
        return "GPT-2 stores its matrices (in, out): x @ W, without a transpose."
    return ""


def _stream(seed: int = 1, length: int = T) -> ndarray:
    return np.random.default_rng(seed).normal(size=(length, D))


def _without(weights: Weights, *parts: str) -> Weights:
    """The same weights with all that begins with one of the names set to 0."""
    return {n: w * (not n.startswith(parts)) for n, w in weights.items()}


# --- what the block should give, and what mistakes give --------------------------------------


def _norm(x: ndarray, weights: Weights, name: str) -> ndarray:
    return layer_norm(x, weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-5)[0]


def _attend(
    h: ndarray,
    weights: Weights,
    heads: int = H,
    *,
    order: str = "qkv",
    causal: bool = True,
    divide: float | None = None,
    mix: bool = False,
    transpose: bool = False,
) -> ndarray:
    """Attention of GPT-2; each option is a mistake."""
    t, width = len(h), D // heads
    fused = h @ weights["attn.c_attn.weight"] + weights["attn.c_attn.bias"]
    thirds = dict(zip(order, np.split(fused, 3, axis=1), strict=True))
    if mix:
        split = {n: m.reshape(heads, t, width) for n, m in thirds.items()}
    else:
        split = {n: m.reshape(t, heads, width).transpose(1, 0, 2) for n, m in thirds.items()}
    scores = split["q"] @ split["k"].mT / (np.sqrt(width) if divide is None else divide)
    seen = np.tril(np.ones((t, t), dtype=bool)) | (not causal)
    y = softmax(np.where(seen, scores, -np.inf)) @ split["v"]
    y = y.reshape(t, D) if mix else y.transpose(1, 0, 2).reshape(t, D)
    W = weights["attn.c_proj.weight"]
    return y @ (W.T if transpose else W) + weights["attn.c_proj.bias"]


def _feed(h: ndarray, weights: Weights, f: Callable[..., tuple] = gelu_tanh) -> ndarray:
    hidden = f(h @ weights["mlp.c_fc.weight"] + weights["mlp.c_fc.bias"])[0]
    return hidden @ weights["mlp.c_proj.weight"] + weights["mlp.c_proj.bias"]


def _right(x: ndarray, weights: Weights, heads: int = H) -> ndarray:
    u = x + _attend(_norm(x, weights, "ln_1"), weights, heads)
    return u + _feed(_norm(u, weights, "ln_2"), weights)


def _output(block: Block, x: ndarray, weights: Weights, heads: int = H) -> ndarray:
    """What the reader's block returns, once its form is right."""
    before = x.copy(), {n: w.copy() for n, w in weights.items()}
    y = np.asarray(block(x, weights, heads))
    if y.shape != x.shape:
        raise FaultError(f"the output has shape {y.shape}; it is the stream again, {x.shape}.")
    same = all(np.array_equal(weights[n], w) for n, w in before[1].items())
    if not (same and np.array_equal(x, before[0])):
        raise FaultError("your code changes x or the weights in place.")
    return y


def _compare(y: ndarray, right: ndarray, mistakes: dict[str, ndarray]) -> None:
    """Say which of the mistakes gives y, if y is not right."""
    if not np.isfinite(y).all():
        raise FaultError("the output is not finite.")
    if np.abs(y - right).max() <= TOLERANCE:
        return
    for sentence, wrong in mistakes.items():
        if np.abs(y - wrong).max() <= TOLERANCE:
            raise FaultError(sentence)
    raise FaultError(f"it is off by up to {np.abs(y - right).max():.2g}.")


# --- tests -----------------------------------------------------------------------------------

ATTENTION, FEED = ("attn.",), ("mlp.",)


def _identity(block: Block) -> None:
    x, weights = _stream(), _without(draw_weights(), "attn.", "mlp.")
    y = _output(block, x, weights)
    mistakes = {
        "with both sublayers giving 0 the block must return x: the residual connections "
        "are missing.": 0 * x,
        "with both sublayers giving 0 the block must return x, but your stream is normalized: "
        "GPT-2 is pre-norm, and normalizes what a sublayer reads.": _norm(
            _norm(x, weights, "ln_1"), weights, "ln_2"
        ),
    }
    _compare(y, x, mistakes)


def _layer_norm(block: Block) -> None:
    """Where all hidden units are far on, every activation is linear, and the norm shows."""
    weights = _without(draw_weights(), *ATTENTION) | {"mlp.c_fc.bias": np.full(4 * D, 20.0)}
    x = 0.01 * _stream()
    y, gain, bias = _output(block, x, weights), weights["ln_2.weight"], weights["ln_2.bias"]
    c, var = x - x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    wrong = {
        "the variance in LayerNorm divides by D, not by D - 1 (ddof=0).": c
        / np.sqrt(x.var(-1, keepdims=True, ddof=1) + 1e-5),
        "ε stands under the root, √(variance + ε), not after it.": c / (np.sqrt(var) + 1e-5),
        "ε of GPT-2's LayerNorm is 1e-5.": c / np.sqrt(var + 1e-6),
        "ε is missing under the root of LayerNorm.": c / np.sqrt(var),
        "LayerNorm must subtract the mean.": x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5),
        "LayerNorm runs over the features of one position, axis=-1.": (x - x.mean(0))
        / np.sqrt(x.var(0) + 1e-5),
    }
    mistakes = {s: x + _feed(gain * h + bias, weights) for s, h in wrong.items()}
    hat = c / np.sqrt(var + 1e-5)
    mistakes |= {
        "the gain and bias of ln_2 are not used.": x + _feed(hat, weights),
        "the bias of ln_2 is not used.": x + _feed(gain * hat, weights),
        "what the feed-forward network reads is not normalized.": x + _feed(x, weights),
        "ln_1 and ln_2 are exchanged.": x + _feed(_norm(x, weights, "ln_1"), weights),
        "the biases of the feed-forward network are not used.": x
        + _feed(gain * hat + bias, weights | {"mlp.c_fc.bias": np.zeros(4 * D)}),
    }
    _compare(y, x + _feed(_norm(x, weights, "ln_2"), weights), mistakes)


def _feed_forward(block: Block) -> None:
    x, weights = _stream(), _without(draw_weights(), *ATTENTION)
    h = _norm(x, weights, "ln_2")
    relu = lambda z: (np.maximum(z, 0),)  # noqa: E731
    mistakes = {
        "GPT-2 was trained with the tanh approximation of GELU, not with the exact one.": x
        + _feed(h, weights, gelu),
        "the activation is GELU, not ReLU.": x + _feed(h, weights, relu),
        "a bias of the feed-forward network is not used.": x
        + _feed(h, weights | {"mlp.c_fc.bias": np.zeros(4 * D)}),
        "the bias of mlp.c_proj is not used.": x
        + _feed(h, weights | {"mlp.c_proj.bias": np.zeros(D)}),
        "the activation between the two matrices is missing.": x
        + _feed(h, weights, lambda z: (z,)),
    }
    _compare(_output(block, x, weights), x + _feed(h, weights), mistakes)


def _attention(block: Block) -> None:
    x, weights = _stream(), _without(draw_weights(), *FEED)
    attend = partial(_attend, _norm(x, weights, "ln_1"), weights)
    no_bias = weights | {"attn.c_attn.bias": np.zeros(3 * D)}
    mistakes = {
        "the causal mask is missing: a position may read itself and earlier ones.": attend(
            causal=False
        ),
        "the scores are not divided by the root of the width of a head.": attend(divide=1.0),
        "the scores are divided by √D; it is the width of a head, D / H, that counts.": attend(
            divide=np.sqrt(D)
        ),
        "attn.c_proj is used transposed: GPT-2 stores matrices (in, out), "
        "x @ W; a square matrix does not complain.": attend(transpose=True),
        "heads are cut in the wrong place: reshape to (T, H, D/H), then move the axis of heads "
        "to the front.": attend(mix=True),
        "all features are one head; they are to be divided among n_heads.": attend(heads=1),
        "the bias of attn.c_attn is not used.": _attend(_norm(x, weights, "ln_1"), no_bias),
        "what attention reads is not normalized.": _attend(x, weights),
        "attention reads ln_2; its norm is ln_1.": _attend(_norm(x, weights, "ln_2"), weights),
    }
    for order in ("kqv", "vqk", "vkq", "qvk", "kvq"):
        sentence = "the three parts of attn.c_attn are queries, keys, values, in this order."
        mistakes[sentence + " " * len(mistakes)] = attend(order=order)
    found = {sentence.rstrip(): x + wrong for sentence, wrong in mistakes.items()}
    found["what attention gives is lost: the second sum must add to the stream after it."] = x
    orders = [x + wrong for s, wrong in mistakes.items() if s.endswith(" ")]
    y = _output(block, x, weights)
    if any(np.abs(y - wrong).max() <= TOLERANCE for wrong in orders):
        raise FaultError(sentence)
    _compare(y, x + attend(), found)


def _together(block: Block) -> None:
    x, weights = _stream(), draw_weights()
    u = x + _attend(_norm(x, weights, "ln_1"), weights)
    parallel = u + _feed(_norm(x, weights, "ln_2"), weights)
    mistakes = {
        "the feed-forward network reads x; it must read the stream after attention was "
        "added.": parallel,
    }
    _compare(_output(block, x, weights), _right(x, weights), mistakes)


def _other_lengths(block: Block) -> None:
    for length, heads in ((1, H), (12, H), (5, 8)):
        x, weights = _stream(length, length), draw_weights(length)
        try:
            _compare(_output(block, x, weights, heads), _right(x, weights, heads), {})
        except FaultError as fault:
            raise FaultError(f"with {length} positions and {heads} heads: {fault}") from None


def _earlier(block: Block) -> None:
    x, weights = _stream(), draw_weights()
    moved = x.copy()
    moved[4] += 1
    change = np.abs(_output(block, moved, weights) - _output(block, x, weights)).max(-1)
    if change[:4].any():
        raise FaultError("a change of position 4 reaches earlier positions.")
    if not change[4:].all():
        raise FaultError("a change of position 4 does not reach every later position.")


NONE, NORM = "sublayers that give 0", "LayerNorm of a small stream"
FEED_FORWARD, ATTEND, ALL = "feed-forward network", "attention", "the whole block"
TESTS = (
    Case(NONE, _identity),
    Case(NORM, _layer_norm, (NONE,)),
    Case(FEED_FORWARD, _feed_forward, (NORM,)),
    Case(ATTEND, _attention, (NORM,)),
    Case(ALL, _together, (FEED_FORWARD, ATTEND)),
    Case("one position, twelve, eight heads", _other_lengths, (ALL,)),
    Case("what a change reaches", _earlier, (ALL,)),
)
