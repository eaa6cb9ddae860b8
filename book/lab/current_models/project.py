"""Grader of the project of this page: one attention with window, cap and sinks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by

from .project_solution import attend as solution

Attend = Callable[..., Any]
ON_SHAPES = advice_on_shapes(
    "Queries are (H, T, K), keys and values (G, S, K). Repeat each key head H/G times with "
    "np.repeat along the first axis, and give the sinks the axes (H, 1, 1)."
)
PLAIN: dict[str, Any] = {"scale": 0.5, "window": None, "cap": None, "sinks": None}


def grade(attend: Attend) -> Report:
    """Test an attention that has the options of several current models.

    Args:
        attend: ``attend(q, k, v, scale, window, cap, sinks)`` returns what each head reads,
            (H, T, K), for q (H, T, K), k and v (G, S, K); the last query sees the last key.
            ``window``, ``cap`` and ``sinks`` (H,) may be None.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, attend, advice=ON_SHAPES)


def draw(H: int = 4, G: int = 2, T: int = 5, S: int = 7, K: int = 3) -> tuple[ndarray, ...]:
    """Queries, keys and values, all of different sizes."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=s) for s in ((H, T, K), (G, S, K), (G, S, K)))
    return 2 * q, 2 * k, v


def changed(q: ndarray, k: ndarray, v: ndarray, options: dict[str, Any], how: str) -> ndarray:
    """The same attention with one mistake."""
    H, G, (T, S) = len(q), len(k), (q.shape[1], k.shape[1])
    scale, window, cap, sinks = (options[n] for n in ("scale", "window", "cap", "sinks"))
    order = np.arange(H) % G if how == "in turn" else np.arange(H) // (H // G)
    z = q @ k[order].mT * (1.0 if how == "cap of q·k" else scale)
    late = 0 if how == "first aligned" else S - T
    ahead = np.arange(S) - np.arange(T)[:, None] - late
    reach = S if window is None else window + {"one more": 1, "one less": -1}.get(how, 0)
    seen = (ahead <= (S if how == "no order" else 0)) & (ahead > -reach)
    low = -1e30 if how == "cap after mask" else -np.inf
    z = np.where(seen, z, low) if how == "cap after mask" else z
    z = z if cap is None or how == "no cap" else cap * np.tanh(z / cap)
    z = z * scale if how == "cap of q·k" else z
    z = z if how == "cap after mask" else np.where(seen, z, -np.inf)
    b = np.full((H, 1, 1), -np.inf) if sinks is None else sinks[:, None, None]
    b = np.full_like(b, b.mean()) if how == "one sink" else b
    top = np.maximum(z.max(-1, keepdims=True), b)
    e, own = np.exp(z - top), np.exp(b - top)
    total = e.sum(-1, keepdims=True)
    A = e / (total if how == "no sink" else total + own)
    y = A @ v[order]
    return y + own / (total + own) if how == "sink of value 1" else y


SENTENCES = {
    "in turn": "query heads share key heads in turn; those of a group stand in a row.",
    "first aligned": "the first query sees the first key; with a cache the last sees the last.",
    "no order": "queries see keys that come after them.",
    "one more": "a query sees one key more than the window, which counts the query's own.",
    "one less": "a query sees one key less than the window, which counts the query's own.",
    "cap after mask": "the cap comes after the mask, so hidden keys are back with score -c.",
    "cap of q·k": "the cap squeezes q·k before the scale; it belongs to the scaled scores.",
    "no cap": "the scores are not capped.",
    "one sink": "all heads have one sink; each has a logit of its own.",
    "no sink": "the weights sum to 1; the sink must take its share of the denominator.",
    "sink of value 1": "the sink adds to what is read; it has no value.",
}


def compare(
    attend: Attend, options: dict[str, Any], *, sizes: dict[str, int] | None = None
) -> None:
    """Say which mistake gives what was found, or how far it is from what is right."""
    q, k, v = draw(**(sizes or {}))
    before = [x.copy() for x in (q, k, v)]
    found = attend(q, k, v, **options)
    if any((x != y).any() for x, y in zip((q, k, v), before, strict=True)):
        raise FaultError("the arguments are changed in place; the caller still needs them.")
    right = solution(q, k, v, **options)
    if np.shape(found) != right.shape:
        raise FaultError(f"the result has shape {np.shape(found)}, expected {right.shape}.")
    if np.allclose(found, right, rtol=1e-9, atol=1e-9):
        return
    for how, sentence in SENTENCES.items():
        wrong = changed(q, k, v, options, how)
        if not np.allclose(wrong, right) and np.allclose(found, wrong, rtol=1e-6, atol=1e-9):
            raise FaultError(sentence)
    far = np.abs(np.asarray(found, float) - right).max()
    raise FaultError(f"the largest difference from what is right is {far:.3g}.")


def _plain(attend: Attend) -> None:
    compare(attend, PLAIN, sizes={"G": 4, "S": 5})


def _grouped(attend: Attend) -> None:
    compare(attend, PLAIN, sizes={"S": 5})


def _late(attend: Attend) -> None:
    compare(attend, PLAIN)


def _window(attend: Attend) -> None:
    compare(attend, PLAIN | {"window": 3})


def _cap(attend: Attend) -> None:
    compare(attend, PLAIN | {"cap": 1.5})


def _sinks(attend: Attend) -> None:
    compare(attend, PLAIN | {"sinks": np.array([-1.0, 0.0, 1.0, 2.0])})


def _large(attend: Attend) -> None:
    q, k, v = draw()
    sinks = np.array([-1e4, 0.0, 1e4, 2e4])
    for options in (PLAIN, PLAIN | {"sinks": sinks}):
        with np.errstate(all="ignore"):
            found = attend(1e3 * q, 1e3 * k, v, **options)
        if not np.isfinite(found).all():
            raise FaultError(
                "large scores or sinks give NaN; subtract the largest of both first."
            )
        if not np.allclose(found, solution(1e3 * q, 1e3 * k, v, **options)):
            raise FaultError(
                "with large scores the values are wrong; subtract the largest first."
            )


def _split(attend: Attend) -> None:
    options = PLAIN | {"window": 3, "cap": 2.0, "sinks": np.array([-1.0, 0.0, 1.0, 2.0])}
    q, k, v = draw(T=7)
    whole = solution(q, k, v, **options)
    for t in range(7):
        first = max(0, t - 2)  # all that a rolling cache still holds
        row = attend(q[:, t : t + 1], k[:, first : t + 1], v[:, first : t + 1], **options)
        if not np.allclose(row[:, 0], whole[:, t]):
            raise FaultError(
                f"query {t} alone, with the keys of its window, reads other values."
            )


BASIC = ("causal order", "grouped heads", "fewer queries than keys")
TESTS = (
    Case(BASIC[0], _plain),
    Case(BASIC[1], _grouped, needs=BASIC[:1]),
    Case(BASIC[2], _late, needs=BASIC[:2]),
    Case("window", _window, needs=BASIC),
    Case("cap", _cap, needs=BASIC),
    Case("sinks", _sinks, needs=BASIC),
    Case("large scores", _large, needs=(*BASIC, "sinks")),
    Case("a rolling cache", _split, needs=(*BASIC, "window", "cap", "sinks")),
)
