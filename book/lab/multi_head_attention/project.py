"""Grader of the project of this page: grouped-query attention with the online softmax."""

import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy import ndarray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by

Forward = Callable[..., Any]
Backward = Callable[..., Any]
LONG = 768  # queries and keys of the tests of memory
ON_SHAPES = advice_on_shapes(
    "Write down the shape of each factor. Queries (G, H/G, T, d) and keys (G, 1, S, d) "
    "broadcast against each other; the last block may be shorter than the others."
)


def grade(forward: Forward, backward: Backward) -> Report:
    """Test an implementation of causal grouped-query attention and of its backward pass.

    Values and gradients are compared with torch's automatic differentiation, and with what
    common mistakes give, so that the report can name the mistake. Memory is measured.

    Args:
        forward: ``forward(q, k, v, block)`` returns y (H, T, d_v) and a cache, for q
            (H, T, d), k (G, S, d) and v (G, S, d_v); query t sees keys up to t + S - T.
        backward: ``backward(dy, cache)`` returns dq, dk, dv.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, forward, backward, advice=ON_SHAPES)


def draw(
    H: int = 4, G: int = 4, T: int = 6, S: int = 6, d: int = 3, width: int = 2
) -> list[ndarray]:
    """Queries, keys, values and a gradient of the output, all of different sizes."""
    rng = np.random.default_rng(0)
    return [rng.normal(size=s) for s in ((H, T, d), (G, S, d), (G, S, width), (H, T, width))]


def right(
    q: ndarray, k: ndarray, v: ndarray, dy: ndarray, *, order: str = "in a row", late: int = 0,
    scale: float | None = None,
) -> list[ndarray]:  # fmt: skip
    """y, dq, dk, dv by torch, or of a layer with one thing changed.

    Args:
        q: Queries.
        k: Keys.
        v: Values.
        dy: Gradient of the loss in y.
        order: Query heads that share a key stand "in a row", or "in turn".
        late: Keys that a query sees in addition to those up to its own.
        scale: Factor of the scores in place of 1/√d.
    """
    tensors = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (q, k, v)]
    Q, group = tensors[0], len(q) // len(k)
    in_row = order == "in a row"
    K, V = (
        x.repeat_interleave(group, 0) if in_row else x.repeat(group, 1, 1) for x in tensors[1:]
    )
    T, S = q.shape[1], k.shape[1]
    seen = torch.ones(T, S, dtype=torch.bool).tril(S - T + late)
    scores = Q @ K.mT * (q.shape[2] ** -0.5 if scale is None else scale)
    lowest = torch.finfo(scores.dtype).min
    y = (scores.masked_fill(~seen, lowest).softmax(-1) * seen) @ V
    gradients = torch.autograd.grad(y, tensors, torch.as_tensor(dy, dtype=torch.float64))
    return [x.detach().numpy() for x in (y, *gradients)]


def _output(forward: Forward, q: ndarray, k: ndarray, v: ndarray, block: int) -> ndarray:
    """The y of a forward pass, once its form is right and its arguments are untouched."""
    before = [x.copy() for x in (q, k, v)]
    found = forward(q, k, v, block)
    for name, a, b in zip("qkv", (q, k, v), before, strict=True):
        if not np.array_equal(a, b):
            raise FaultError(f"your code changes its argument {name} in place.")
    if not isinstance(found, tuple) or len(found) != 2:
        kind = type(found).__name__
        raise FaultError(f"forward must return the pair (y, cache), it returned {kind}.")
    y, shape = np.asarray(found[0]), (*q.shape[:2], v.shape[2])
    if y.shape != shape:
        raise FaultError(f"y has shape {y.shape}; it must have {shape}, (H, T, d_v).")
    return y


def _compare(found: ndarray, wanted: ndarray, mistakes: Mapping[str, ndarray]) -> None:
    """Say which mistake gives ``found``, or how far it is from what is right."""
    if np.allclose(found, wanted, rtol=1e-8, atol=1e-10):
        return
    for sentence, wrong in mistakes.items():
        same = np.shape(wrong) == found.shape
        if same and np.allclose(np.nan_to_num(found), np.nan_to_num(wrong), rtol=1e-7):
            raise FaultError(sentence)
    if np.isnan(found).any():
        raise FaultError(f"{int(np.isnan(found).sum())} of {found.size} numbers are NaN.")
    gap = np.abs(found - wanted)
    place = tuple(int(i) for i in np.unravel_index(gap.argmax(), gap.shape))
    raise FaultError(f"it is off by up to {gap.max():.2g}, the most at {place}.")


# --- the forward pass -----------------------------------------------------------------------


def _plain(forward: Forward, _: Backward) -> None:
    q, k, v, dy = draw()
    mistakes = {
        "the scores are not divided by √d.": right(q, k, v, dy, scale=1.0)[0],
        "the scores are divided by d; divide by its square root.": (
            right(q, k, v, dy, scale=1 / 3)[0]
        ),
        "every query sees every key; query t may see keys up to t.": (
            right(q, k, v, dy, late=6)[0]
        ),
        "a query does not see its own key; query t sees keys up to t, itself included.": (
            right(q, k, v, dy, late=-1)[0]
        ),
        "the mixture is not divided by the sum λ at the end.": _careless(q, k, v, 6, divide=0),
    }
    _compare(_output(forward, q, k, v, 6), right(q, k, v, dy)[0], mistakes)


def _careless(
    q: ndarray, k: ndarray, v: ndarray, block: int, *, total: int = 1, mix: int = 1,
    divide: int = 1,
) -> ndarray:  # fmt: skip
    """The online softmax without one of its steps (0 leaves it out)."""
    mu, lam, o = -np.inf, 0.0, np.zeros(1)
    keys = np.arange(k.shape[1])
    scores = np.where(np.tri(len(keys), dtype=bool), q @ k.mT / np.sqrt(q.shape[2]), -np.inf)
    for j in range(0, len(keys), block):
        part = scores[..., j : j + block]
        new = np.maximum(mu, part.max(-1, keepdims=True))
        keep, powers = np.exp(mu - new), np.exp(part - new)
        lam = (keep if total else 1.0) * lam + powers.sum(-1, keepdims=True)
        o = (keep if mix else 1.0) * o + powers @ v[:, j : j + block]
        mu = new
    return o / lam if divide else o


def _blocks(forward: Forward, _: Backward) -> None:
    q, k, v, dy = draw()
    neither = _careless(q, k, v, 2, total=0, mix=0)
    mistakes = {
        "when a larger score arrives, the sum λ must be multiplied by e^(μ - μ').": (
            _careless(q, k, v, 2, total=0)
        ),
        "when a larger score arrives, the mixture o must be multiplied by e^(μ - μ').": (
            _careless(q, k, v, 2, mix=0)
        ),
        "when a larger score arrives, sum and mixture must be multiplied by "
        "e^(μ - μ').": neither,
    }
    _compare(_output(forward, q, k, v, 2), right(q, k, v, dy)[0], mistakes)


def _rest(forward: Forward, _: Backward) -> None:
    q, k, v, dy = draw(T=7, S=7)
    y, wanted = _output(forward, q, k, v, 3), right(q, k, v, dy)[0]
    if np.allclose(y[:, :6], wanted[:, :6]) and not np.allclose(y[:, 6], wanted[:, 6]):
        raise FaultError(
            "blocks of 3 do not divide 7 tokens: the last, shorter block is left out."
        )
    _compare(y, wanted, {})


def _large(forward: Forward, _: Backward) -> None:
    q, k, v, dy = draw()
    y = _output(forward, 1e4 * q, k, v, 2)
    if not np.isfinite(y).all():
        raise FaultError(
            "scores of some 10,000 overflow: subtract the running maximum of each row before "
            "the exponential."
        )
    _compare(y, right(1e4 * q, k, v, dy)[0], {})


def _aligned(forward: Forward, _: Backward) -> None:
    q, k, v, dy = draw(T=3, S=7)
    mistakes = {
        "the first query is aligned with the first key; with a cache the last query belongs "
        "to the last key: query t sees keys up to t + S - T.": right(q, k, v, dy, late=-4)[0]
    }
    _compare(_output(forward, q, k, v, 2), right(q, k, v, dy)[0], mistakes)


def _blind(forward: Forward, _: Backward) -> None:
    q, k, v, dy = draw(T=6, S=4)
    y = _output(forward, q, k, v, 2)
    if np.isnan(y[:, :2]).any():
        raise FaultError(
            "a query that sees no key gives NaN (∞ - ∞ or 0/0); its output must be 0."
        )
    if y[:, :2].any():
        raise FaultError("a query that sees no key must give exactly 0.")
    _compare(y, right(q, k, v, dy)[0], {})


def _grouped(forward: Forward, _: Backward) -> None:
    q, k, v, dy = draw(G=2)
    mistakes = {
        "query heads take the key heads in turn (h modulo G); heads that stand in a row share "
        "one: g = ⌊h G / H⌋.": right(q, k, v, dy, order="in turn")[0]
    }
    _compare(_output(forward, q, k, v, 2), right(q, k, v, dy)[0], mistakes)


def _arrays(thing: Any) -> list[ndarray]:
    """All arrays in a cache, however it is nested."""
    if isinstance(thing, ndarray):
        return [thing]
    if isinstance(thing, dict):
        thing = thing.values()
    elif not isinstance(thing, list | tuple):
        return []
    return [array for part in thing for array in _arrays(part)]


def _peak(run: Callable[[], Any]) -> tuple[Any, int]:
    tracemalloc.start()
    try:
        return run(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _memory(forward: Forward, _: Backward) -> None:
    q, k, v, _dy = draw(H=2, G=1, T=LONG, S=LONG)
    (_, cache), peak = _peak(lambda: forward(q, k, v, 64))
    if max((a.size for a in _arrays(cache)), default=0) >= LONG**2 // 2:
        raise FaultError(
            "the cache holds an array with an entry for each query and key; keep one number "
            "for each query, L = μ + log λ, instead of the weights."
        )
    if peak > 4 * LONG**2:
        raise FaultError(
            f"{LONG} queries and keys need {peak / 2**20:.1f} MiB: a matrix of all scores, of "
            "all weights or of the whole mask is made; work on one tile at a time."
        )


# --- the backward pass ----------------------------------------------------------------------


def _gradients(forward: Forward, backward: Backward, *args: Any) -> list[ndarray]:
    """The three gradients, once their form is right."""
    q, k, v, dy, block = args
    before = dy.copy()
    found = backward(dy, forward(q, k, v, block)[1])
    if not np.array_equal(dy, before):
        raise FaultError("your code changes its argument dy in place.")
    if not isinstance(found, tuple | list) or len(found) != 3:
        raise FaultError("backward must return the three gradients dq, dk, dv.")
    for name, gradient, argument in zip("qkv", found, (q, k, v), strict=True):
        shape = np.shape(gradient)
        if shape == argument.shape:
            continue
        if name != "q" and shape == (len(q), *argument.shape[1:]):
            raise FaultError(
                f"d{name} has a gradient for each query head, {shape}; the heads of a group "
                f"share one {name}, so theirs are added up: {argument.shape}."
            )
        raise FaultError(
            f"d{name} has shape {shape}; it must have that of {name}, {argument.shape}."
        )
    return [np.asarray(g) for g in found]


def _gradient(which: int) -> Callable[[Forward, Backward], None]:
    """A test of one gradient against automatic differentiation."""

    def test(forward: Forward, backward: Backward) -> None:
        q, k, v, dy = draw(H=4, G=2, T=5, S=7)
        found = _gradients(forward, backward, q, k, v, dy, 3)[which]
        _compare(found, right(q, k, v, dy)[1 + which], _wrong_gradients(q, k, v, dy, which))

    return test


def _wrong_gradients(
    q: ndarray, k: ndarray, v: ndarray, dy: ndarray, which: int
) -> dict[str, ndarray]:
    """Sentence -> the gradient that the mistake of this sentence gives."""
    y, *wanted = right(q, k, v, dy)
    (H, T, d), (G, S, _) = q.shape, k.shape
    K, V = k.repeat(H // G, 0), v.repeat(H // G, 0)
    scores = np.where(np.tri(T, S, S - T, dtype=bool), q @ K.mT / np.sqrt(d), -np.inf)
    A = np.exp(scores - scores.max(-1, keepdims=True))
    A /= A.sum(-1, keepdims=True)
    dA = dy @ V.mT
    delta = (dy * y).sum(-1, keepdims=True)
    no_delta, plus, dS = (A * (dA - c * delta) / np.sqrt(d) for c in (0, -1, 1))

    def group_sum(x: ndarray) -> ndarray:
        return x.reshape(G, H // G, *x.shape[1:]).sum(1)

    if which == 2:
        last = (A.mT @ dy).reshape(G, H // G, S, -1)[:, -1]
        return {"dv has the gradient of one head of each group only; add all of them.": last}
    read = (lambda z: z @ K) if which == 0 else (lambda z: group_sum(z.mT @ q))
    name = "dq" if which == 0 else "dk"
    single = f"{name} has the gradient of one head of each group only; add all of them."
    last = (dS.mT @ q).reshape(G, H // G, S, d)[:, -1]
    return {
        f"{name} lacks the factor 1/√d.": np.sqrt(d) * wanted[which],
        f"{name} has the factor 1/√d twice.": wanted[which] / np.sqrt(d),
        "δ is left out: dS = P ⊙ (dA - δ) with δ = rowsum(dY ⊙ Y).": read(no_delta),
        "δ has the wrong sign: dS = P ⊙ (dA - δ).": read(plus),
        single: last,
    }


def _blind_gradient(forward: Forward, backward: Backward) -> None:
    q, k, v, dy = draw(G=2, T=6, S=4)
    found = _gradients(forward, backward, q, k, v, dy, 2)
    if not all(np.isfinite(g).all() for g in found):
        raise FaultError(
            "a query that sees no key gives gradients that are not finite: e^(-∞ - L) must be "
            "0, so let L be +∞ for such a query."
        )
    for gradient, wanted in zip(found, right(q, k, v, dy)[1:], strict=True):
        _compare(gradient, wanted, {})


def _large_gradient(forward: Forward, backward: Backward) -> None:
    q, k, v, dy = draw(G=2)
    found = _gradients(forward, backward, 1e3 * q, k, v, dy, 2)
    if not all(np.isfinite(g).all() for g in found):
        raise FaultError(
            "large scores overflow in the backward pass: the weights are e^(S - L) with "
            "L = μ + log λ, so subtract before the exponential."
        )
    for gradient, wanted in zip(found, right(1e3 * q, k, v, dy)[1:], strict=True):
        _compare(gradient, wanted, {})


def _memory_backward(forward: Forward, backward: Backward) -> None:
    q, k, v, dy = draw(H=2, G=1, T=LONG, S=LONG)
    cache = forward(q, k, v, 64)[1]
    _, peak = _peak(lambda: backward(dy, cache))
    if peak > 4 * LONG**2:
        raise FaultError(
            f"the backward pass of {LONG} tokens needs {peak / 2**20:.1f} MiB: compute the "
            "weights of one tile again, use them, and let them go."
        )


def _again(forward: Forward, backward: Backward) -> None:
    q, k, v, dy = draw(G=2)
    cache = forward(q, k, v, 2)[1]
    first = [np.array(g) for g in backward(dy, cache)]
    if not all(map(np.allclose, first, backward(dy, cache))):
        raise FaultError("backward changes the cache: a second call gives other gradients.")


PLAIN, BLOCKS, GROUPED = "forward: one block", "forward: three blocks", "forward: groups"
ALIGNED, BLIND = "forward: fewer queries than keys", "forward: queries without a key"
DQ, DK, DV = (f"backward: {name} against autograd" for name in ("dq", "dk", "dv"))
TESTS = (
    Case(PLAIN, _plain),
    Case(BLOCKS, _blocks, (PLAIN,)),
    Case("forward: a shorter last block", _rest, (BLOCKS,)),
    Case("forward: large scores", _large, (BLOCKS,)),
    Case(ALIGNED, _aligned, (BLOCKS,)),
    Case(BLIND, _blind, (ALIGNED,)),
    Case(GROUPED, _grouped, (BLOCKS,)),
    Case("forward: memory and cache", _memory, (GROUPED,)),
    Case(DV, _gradient(2), (ALIGNED, GROUPED)),
    Case(DQ, _gradient(0), (ALIGNED, GROUPED)),
    Case(DK, _gradient(1), (ALIGNED, GROUPED)),
    Case("backward: queries without a key", _blind_gradient, (BLIND, DQ, DK, DV)),
    Case("backward: large scores", _large_gradient, (DQ, DK, DV)),
    Case("backward: memory", _memory_backward, (DQ, DK, DV)),
    Case("both: arguments and cache stay as they are", _again, (DQ, DK, DV)),
)
