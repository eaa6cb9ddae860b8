"""Grader of the project of this page: attention with a mask and its backward pass, by hand."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by
from mathlm.reference import dot_product_attention, numerical_vjp, softmax

Forward = Callable[..., Any]
Backward = Callable[..., Any]
LOW, TOLERANCE = -np.inf, 1e-6
SOME = (np.arange(6) - np.arange(4)[:, None]) % 3 != 0  # in each row some True, some False
ON_SHAPES = advice_on_shapes(
    "Write down the shape of each factor: is a transpose missing? With leading axes "
    "`.T` reverses all axes; use `.mT`, which exchanges the last two."
)


def grade(forward: Forward, backward: Backward) -> Report:
    """Test an implementation of attention and of its backward pass.

    The forward pass is compared with the package's and with outputs of common mistakes, so
    that the report can name the mistake. The backward pass is compared with central
    differences of *your* forward pass. Tests are put off while one that they build on fails.

    Args:
        forward: ``forward(q, k, v, mask)`` returns y and a cache. ``mask`` is boolean, True
            where a query may attend, or None; a query that may read nothing gets y = 0.
        backward: ``backward(dy, cache)`` returns dq, dk, dv.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, forward, backward, advice=ON_SHAPES)


# --- the forward pass -----------------------------------------------------------------------


def _draw(*batch: int, T: int = 4, S: int = 6, K: int = 3, V: int = 2) -> list[ndarray]:
    """Queries, keys, values and a gradient of the output, all of different sizes."""
    rng = np.random.default_rng(0)
    return [rng.normal(size=(*batch, *s)) for s in ((T, K), (S, K), (S, V), (T, V))]


def _output(forward: Forward, *args: Any) -> ndarray:
    """The y of a forward pass, once its form is right and its arguments are untouched."""
    before = [np.copy(a) for a in args if a is not None]
    found = forward(*args, *[None] * (4 - len(args)))
    for name, a, b in zip(("q", "k", "v", "mask"), args, before, strict=False):
        if not np.array_equal(a, b, equal_nan=a.dtype != bool):
            raise FaultError(f"your code changes its argument {name} in place.")
    if not isinstance(found, tuple) or len(found) != 2:
        kind = type(found).__name__
        raise FaultError(f"forward must return the pair (y, cache), it returned {kind}.")
    shapes = [np.shape(a) for a in args[:3]]
    y, shape = np.asarray(found[0]), (*shapes[0][:-1], shapes[2][-1])
    if y.shape != shape:
        raise FaultError(
            f"y has shape {y.shape}; for q, k, v of shapes {shapes} it must have {shape}."
        )
    return y


def _compare(y: ndarray, right: ndarray, mistakes: Mapping[str, ndarray]) -> None:
    """Say which mistake gives y, or how far y is from what is right."""
    if np.allclose(y, right, rtol=TOLERANCE, atol=1e-9):
        return
    for sentence, wrong in mistakes.items():
        if np.shape(wrong) == y.shape and np.allclose(y, wrong, rtol=1e-6, equal_nan=True):
            raise FaultError(sentence)
    if np.isnan(y).any():
        raise FaultError(f"{int(np.isnan(y).sum())} of {y.size} numbers are NaN.")
    gap = np.abs(y - right)
    place = tuple(int(i) for i in np.unravel_index(gap.argmax(), gap.shape))
    raise FaultError(f"it is off by up to {gap.max():.2g}, the most at {place}.")


def _plain(forward: Forward, _: Backward) -> None:
    q, k, v, _dy = _draw()
    dots, root = q @ k.T, np.sqrt(3)
    powers = np.exp(dots / root)
    mistakes = {
        "the scores are not divided by √d_k.": softmax(dots) @ v,
        "the scores are divided by d_k; divide by its square root.": softmax(dots / 3) @ v,
        "the scores are divided by the root of d_v; d_k is the width of queries and keys.": (
            softmax(dots / np.sqrt(2)) @ v
        ),
        "the softmax runs over the queries (axis 0); each row, over the keys, must sum to 1.": (
            softmax(dots / root, axis=0) @ v
        ),
        "the weights of all queries together sum to 1; normalize each row by itself, with "
        "axis=-1 and keepdims=True.": powers / powers.sum() @ v,
        "the weights are not normalized: divide each row by its sum.": powers @ v,
        "without a mask every query may attend everywhere; here none may.": np.zeros((4, 2)),
    }
    _compare(_output(forward, q, k, v), dot_product_attention(q, k, v)[0], mistakes)


def _large(forward: Forward, _: Backward) -> None:
    q, k, v, _dy = _draw()
    q[0] *= 1e4
    y, right = _output(forward, q, k, v), dot_product_attention(q, k, v)[0]
    if not np.isfinite(y[0]).all():
        raise FaultError(
            "scores of some 10,000 overflow: subtract the largest score of each row before "
            "the exponential."
        )
    if not np.allclose(y[1:], right[1:]):
        raise FaultError(
            "a row of large scores spoils the others: subtract from each row its own maximum, "
            "not the maximum of the whole matrix."
        )
    _compare(y, right, {})


def _masked(forward: Forward, _: Backward) -> None:
    q, k, v, _dy = _draw()
    mask = SOME.copy()
    scores = q @ k.T / np.sqrt(3)
    mistakes = {
        "the mask is ignored.": softmax(scores) @ v,
        "the mask is read the wrong way round: True means that a query may attend.": (
            softmax(np.where(mask, LOW, scores)) @ v
        ),
        "forbidden scores are set to 0, which still gives them a weight of e⁰; set them to "
        "minus infinity.": softmax(scores * mask) @ v,
        "forbidden weights are set to 0 after the softmax, so the rows no longer sum to 1; "
        "mask the scores instead.": softmax(scores) * mask @ v,
    }
    right = dot_product_attention(q, k, v, mask)[0]
    _compare(_output(forward, q, k, v, mask), right, mistakes)


def _blind(forward: Forward, _: Backward) -> None:
    q, k, v, _dy = _draw()
    mask = np.ones((4, 6), dtype=bool)
    mask[2] = False
    y = _output(forward, q, k, v, mask)
    if np.isnan(y[2]).any():
        raise FaultError(
            "a query that may read nothing gives NaN (0/0, or ∞ - ∞); its output must be 0."
        )
    if np.allclose(y[2], v.mean(0)) or np.allclose(y[2], softmax(q @ k.T / np.sqrt(3))[2] @ v):
        raise FaultError(
            "a query that may read nothing averages the values that it may not read: a large "
            "negative number is not minus infinity. Its output must be 0."
        )
    _compare(y, dot_product_attention(q, k, v, mask)[0], {})


def _hidden(forward: Forward, _: Backward) -> None:
    q, k, v, _dy = _draw()
    mask = np.broadcast_to(np.arange(6) != 5, (4, 6))
    right = dot_product_attention(q, k, v, mask)[0]
    k[5], v[5] = np.nan, np.nan
    y = _output(forward, q, k, v, mask)
    if np.isnan(y).any():
        raise FaultError(
            "NaN in a key and value that no query may read reaches the output, because "
            "0 · NaN = NaN; replace such keys and values by 0 first."
        )
    _compare(y, right, {})


def _readable(forward: Forward, _: Backward) -> None:
    q, k, v, _dy = _draw()
    k[1, 0] = np.nan
    try:
        y = _output(forward, q, k, v, SOME)
    except ValueError:  # to refuse it is fine
        return
    if not np.isnan(y[SOME[:, 1]]).all():
        raise FaultError(
            "NaN in a key that a query reads must stay visible in its output; only what nobody "
            "may read is replaced by 0."
        )


def _batched(forward: Forward, _: Backward) -> None:
    q, k, v, _dy = _draw(2, 3)
    mask = np.tril(np.ones((4, 6), dtype=bool), 1)
    _compare(_output(forward, q, k, v, mask), dot_product_attention(q, k, v, mask)[0], {})


def _padded(forward: Forward, _: Backward) -> None:
    q, k, v, _dy = _draw(2)
    mask = np.arange(6) < np.array([6, 4])[:, None, None]  # (2, 1, 6): lengths 6 and 4
    right = dot_product_attention(q, k, v, mask)[0]
    k[1, 4:], v[1, 4:] = np.nan, np.nan
    y = _output(forward, q, k, v, mask)
    if np.isnan(y).any():
        raise FaultError(
            "NaN in the padding of one sequence reaches its output: whether a key may be read "
            "is a question for each sequence of the batch."
        )
    _compare(y, right, {})


def _untouched(forward: Forward, backward: Backward) -> None:
    q, k, v, dy = _draw()
    before, cache = dy.copy(), forward(q, k, v, None)[1]
    first = [np.array(g) for g in backward(dy, cache)]
    if not np.array_equal(dy, before):
        raise FaultError("your code changes its argument dy in place.")
    if not all(map(np.allclose, first, backward(dy, cache))):
        raise FaultError("backward changes the cache: a second call gives other gradients.")


# --- the backward pass ----------------------------------------------------------------------


def _gradients(forward: Forward, backward: Backward, *args: Any) -> list[ndarray]:
    """The three gradients, once their form is right."""
    q, k, v, dy, mask = args
    found = backward(dy, forward(q, k, v, mask)[1])
    if not isinstance(found, tuple | list) or len(found) != 3:
        raise FaultError("backward must return the three gradients dq, dk, dv.")
    shapes = [np.shape(g) for g in found]
    if shapes != [q.shape, k.shape, v.shape]:
        raise FaultError(
            f"the gradients have shapes {shapes}, the arguments q, k, v have "
            f"{[q.shape, k.shape, v.shape]}; each gradient has the shape of its argument."
        )
    return [np.asarray(g) for g in found]


def _form(forward: Forward, backward: Backward) -> None:
    _gradients(forward, backward, *_draw(), None)


def _gradient(which: int) -> Callable[[Forward, Backward], None]:
    """A test of one gradient against central differences of the reader's forward pass."""

    def test(forward: Forward, backward: Backward) -> None:
        q, k, v, dy = _draw()
        mask = SOME.copy()
        found = _gradients(forward, backward, q, k, v, dy, mask)[which]
        args = (q, k, v)
        right = numerical_vjp(lambda *a: np.asarray(forward(*a, mask)[0]), args, dy)[which]
        _compare(found, right, _wrong_gradients(q, k, v, dy, mask)[which])

    return test


def _wrong_gradients(
    q: ndarray, k: ndarray, v: ndarray, dy: ndarray, mask: ndarray
) -> list[dict[str, ndarray]]:
    """For dq, dk and dv: sentence -> what the mistake of this sentence gives."""
    root = np.sqrt(q.shape[-1])
    A = softmax(np.where(mask, q @ k.T / root, LOW))
    dA = dy @ v.T
    mean = (A * dA).sum(-1, keepdims=True)
    right = A * (dA - mean)
    faulty = {  # of dS
        "the softmax's Jacobian is left out: dS is not dA.": dA,
        "the softmax's backward pass lacks the row sum: dS = A ⊙ (dA - rowsum(A ⊙ dA)).": A
        * dA,
        "the row sum runs over the queries; it must run over the keys, axis=-1.": (
            A * (dA - (A * dA).sum(0, keepdims=True))
        ),
        "the row sum is one number for the whole matrix; each row has its own.": (
            A * (dA - (A * dA).sum())
        ),
        "the factor A before the bracket is missing in dS = A ⊙ (dA - rowsum(A ⊙ dA)).": dA
        - mean,
    }
    dq = {s: dS @ k / root for s, dS in faulty.items()}
    dk = {s: dS.T @ q / root for s, dS in faulty.items()}
    divide = "the factor 1/√d_k is missing: the scores are divided, so their gradients are too."
    twice = "the factor 1/√d_k is applied twice."
    dq |= {divide: right @ k, twice: right @ k / root**2}
    dk |= {divide: right.T @ q, twice: right.T @ q / root**2}
    return [dq, dk, {"dv = Aᵀ dY needs the weights, not the scores.": (q @ k.T / root).T @ dy}]


def _blind_gradient(forward: Forward, backward: Backward) -> None:
    q, k, v, dy = _draw()
    mask = np.ones((4, 6), dtype=bool)
    mask[2], mask[:, 5] = False, False
    dq, dk, dv = _gradients(forward, backward, q, k, v, dy, mask)
    if not all(np.isfinite(g).all() for g in (dq, dk, dv)):
        raise FaultError("a query that may read nothing gives gradients that are not finite.")
    if dq[2].any() or dk[5].any() or dv[5].any():
        raise FaultError(
            "a query that may read nothing, or a key and value that nobody may read, has a "
            "gradient; it must be exactly 0."
        )


def _hidden_gradient(forward: Forward, backward: Backward) -> None:
    q, k, v, dy = _draw()
    mask = np.broadcast_to(np.arange(6) != 5, (4, 6))
    k[5], v[5] = np.nan, np.nan
    if not all(np.isfinite(g).all() for g in _gradients(forward, backward, q, k, v, dy, mask)):
        raise FaultError(
            "NaN in a key and value that no query may read reaches the gradients: keep the "
            "cleaned keys and values in the cache, not the ones that were passed in."
        )


def _batched_gradient(forward: Forward, backward: Backward) -> None:
    q, k, v, dy = _draw(2, 3)
    found = _gradients(forward, backward, q, k, v, dy, None)
    for i in np.ndindex(2, 3):
        alone = _gradients(forward, backward, q[i], k[i], v[i], dy[i], None)
        if not all(np.allclose(g[i], a) for g, a in zip(found, alone, strict=True)):
            raise FaultError(
                "leading axes are mixed: a batch must give what each of its members gives "
                "alone. Transpose the last two axes with .mT."
            )


PLAIN, MASKED, FORM = "forward: y without a mask", "forward: a mask", "backward: shapes"
HIDDEN, BATCHED = "forward: NaN where nobody may read", "forward: leading axes"
DQ, DK, DV = (f"backward: {name} against central differences" for name in ("dq", "dk", "dv"))
TESTS = (
    Case(PLAIN, _plain),
    Case("forward: large scores", _large, (PLAIN,)),
    Case(MASKED, _masked, (PLAIN,)),
    Case("forward: a query that may read nothing", _blind, (MASKED,)),
    Case(HIDDEN, _hidden, (MASKED,)),
    Case("forward: NaN that may be read", _readable, (MASKED,)),
    Case(BATCHED, _batched, (MASKED,)),
    Case("forward: padding of each sequence", _padded, (HIDDEN, BATCHED)),
    Case(FORM, _form, (PLAIN,)),
    Case(DV, _gradient(2), (MASKED, FORM)),
    Case(DQ, _gradient(0), (MASKED, FORM)),
    Case(DK, _gradient(1), (MASKED, FORM)),
    Case("backward: a query that may read nothing", _blind_gradient, (DQ, DK, DV)),
    Case("backward: NaN where nobody may read", _hidden_gradient, (HIDDEN, DQ, DK, DV)),
    Case("backward: leading axes", _batched_gradient, (DQ, DK, DV)),
    Case("both: arguments and cache stay as they are", _untouched, (DQ, DK, DV)),
)
