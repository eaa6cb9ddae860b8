"""Grader of the project of this page: a mixture of experts that balances itself."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy import ndarray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by

Code = Callable[..., Any]
ON_SHAPES = advice_on_shapes(
    "Write down the shape of each factor: x is (N, D), W_router (E, D), W (E, D, D) and "
    "gates (N, E)."
)


def grade(forward: Code, backward: Code, step: Code) -> Report:
    """Test a layer with sigmoid gates, its backward pass and the step of its bias.

    Values and gradients are compared with torch's automatic differentiation, and with what
    common mistakes give.

    Args:
        forward: ``forward(x, W_router, bias, W, k)`` returns y (N, D) and a cache; expert e is
            the linear map W[e].
        backward: ``backward(dy, cache)`` returns dx, dW_router and dW.
        step: ``step(bias, load, rate)`` returns the next bias.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, forward, backward, step, advice=ON_SHAPES)


def draw() -> tuple[ndarray, ...]:
    """Tokens, router, bias, experts and a gradient of the output."""
    rng = np.random.default_rng(3)
    shapes = ((7, 4), (5, 4), (5,), (5, 4, 4), (7, 4))
    x, W_router, bias, W, dy = (rng.normal(size=s) for s in shapes)
    return x, W_router, bias, W, dy


def right(
    x: ndarray,
    W_router: ndarray,
    bias: ndarray,
    W: ndarray,
    dy: ndarray,
    k: int = 2,
    *,
    gates: str = "sigmoid",
    choose: str = "biased",
    total: str = "sum",
    path: str = "both",
) -> list[ndarray]:
    """y, dx, dW_router and dW by torch, or of a layer with one thing changed.

    Args:
        x: Tokens.
        W_router: Router.
        bias: Bias of the choice.
        W: Experts.
        dy: Gradient of the loss in y.
        k: Experts for each token.
        gates: "sigmoid", "softmax", or "biased": sigmoids with the bias added.
        choose: By "biased" scores, or "plain" ones.
        total: Gates are divided by their "sum", by a "held" sum without gradient, or by "one".
        path: x has a gradient through "both", or through the "experts" only.
    """
    X, R, maps = (torch.tensor(a, requires_grad=True) for a in (x, W_router, W))
    b = torch.tensor(bias)
    z = (X.detach() if path == "experts" else X) @ R.T
    s = z.softmax(-1) if gates == "softmax" else z.sigmoid()
    chosen = (s + b if choose == "biased" else s).topk(k, -1).indices
    s = s + b if gates == "biased" else s
    kept = torch.zeros_like(s).scatter(-1, chosen, s.gather(-1, chosen))
    by = kept.sum(-1, keepdim=True)
    by = {"sum": by, "held": by.detach(), "one": torch.ones_like(by)}[total]
    y = ((kept / by)[..., None] * torch.einsum("nd,eod->neo", X, maps)).sum(1)
    gradients = torch.autograd.grad(y, (X, R, maps), torch.tensor(dy))
    return [a.detach().numpy() for a in (y, *gradients)]


def _compare(found: Any, wanted: ndarray, mistakes: Mapping[str, ndarray]) -> None:
    """Say which mistake gives ``found``, or how far it is from what is right."""
    found = np.asarray(found)
    if found.shape != wanted.shape:
        raise FaultError(f"it has shape {found.shape}; it must have {wanted.shape}.")
    if np.allclose(found, wanted, rtol=1e-8, atol=1e-10):
        return
    for sentence, wrong in mistakes.items():
        if np.allclose(found, wrong, rtol=1e-7):
            raise FaultError(sentence)
    raise FaultError(f"it is off by up to {np.abs(found - wanted).max():.2g}.")


def _forward(forward: Code, *args: Any) -> tuple[Any, Any]:
    """Output and cache, once their form is right and the arguments are untouched."""
    before = [np.copy(a) for a in args]
    found = forward(*args)
    if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(args, before, strict=True)):
        raise FaultError("your code changes one of its arguments in place.")
    if not isinstance(found, tuple) or len(found) != 2:
        raise FaultError(
            f"forward must return the pair (y, cache), it returned {type(found).__name__}."
        )
    return found


def _plain(forward: Code, _: Code, __: Code) -> None:
    x, R, b, W, dy = draw()
    y, _cache = _forward(forward, x, R, 0 * b, W, 2)
    mistakes = {
        "the gates of a token are not divided by their sum.": right(
            x, R, 0 * b, W, dy, total="one"
        )[0],
        "the gates come from a softmax; take a sigmoid of each score.": right(
            x, R, 0 * b, W, dy, gates="softmax"
        )[0],
        "every expert is used; only the k largest scores count.": right(x, R, 0 * b, W, dy, 5)[
            0
        ],
        "one expert fewer than k is used.": right(x, R, 0 * b, W, dy, 1)[0],
    }
    _compare(y, right(x, R, 0 * b, W, dy)[0], mistakes)


def _biased(forward: Code, _: Code, __: Code) -> None:
    x, R, b, W, dy = draw()
    mistakes = {
        "the bias changes the gates; it may take part in the choice only.": right(
            x, R, b, W, dy, gates="biased"
        )[0],
        "the bias has no effect; add it to the sigmoids before the choice.": right(
            x, R, b, W, dy, choose="plain"
        )[0],
    }
    _compare(_forward(forward, x, R, b, W, 2)[0], right(x, R, b, W, dy)[0], mistakes)


def _unused(forward: Code, _: Code, __: Code) -> None:
    x, R, b, W, dy = draw()
    b = b - 100 * (np.arange(5) == 3)  # nobody chooses expert 3
    broken = W.copy()
    broken[3] = np.nan
    y = np.asarray(_forward(forward, x, R, b, broken, 2)[0])
    if np.isnan(y).any():
        raise FaultError(
            "an expert that no token chose is computed all the same: its NaN reached y. Let "
            "each expert see its own tokens only."
        )
    _compare(y, right(x, R, b, W, dy)[0], {})


def _gradient(which: int) -> Callable[[Code, Code, Code], None]:
    """A test of one gradient against automatic differentiation."""

    def test(forward: Code, backward: Code, _: Code) -> None:
        x, R, b, W, dy = draw()
        found = backward(dy, _forward(forward, x, R, b, W, 2)[1])
        if not isinstance(found, tuple | list) or len(found) != 3:
            raise FaultError("backward must return dx, dW_router and dW.")
        held = right(x, R, b, W, dy, total="held")[which]
        mistakes = {
            "the sum of the gates is treated as a constant; every score changes it.": held
        }
        if which == 1:
            path = right(x, R, b, W, dy, path="experts")[1]
            mistakes["it lacks the way through the router: add dz W_router."] = path
        if which == 2:
            mistakes["it has the wrong sign."] = -right(x, R, b, W, dy)[2]
        _compare(found[which - 1], right(x, R, b, W, dy)[which], mistakes)

    return test


def _step(_: Code, __: Code, step: Code) -> None:
    bias, load = np.array([0.5, 0.0, -1.0, 0.0]), np.array([9.0, 4.0, 1.0, 2.0])
    up = np.sign(load.mean() - load)
    mistakes = {
        "the sign is wrong: the bias of an overloaded expert must fall.": bias - 0.1 * up,
        "the step is proportional to the load; only its sign counts.": bias + 0.1 * (4 - load),
        "the bias before the step is lost; add to it.": 0.1 * up,
    }
    wanted = bias + 0.1 * up
    _compare(step(bias, load, 0.1), wanted, mistakes)
    if not np.array_equal(bias, [0.5, 0.0, -1.0, 0.0]):
        raise FaultError("step changes its argument in place; return a new bias.")


PLAIN, BIASED = "forward: without a bias", "forward: with a bias"
TESTS = (
    Case(PLAIN, _plain),
    Case(BIASED, _biased, (PLAIN,)),
    Case("forward: an expert without tokens", _unused, (BIASED,)),
    Case("backward: dW against autograd", _gradient(3), (BIASED,)),
    Case("backward: dW_router against autograd", _gradient(2), (BIASED,)),
    Case("backward: dx against autograd", _gradient(1), (BIASED,)),
    Case("step: the bias moves against the load", _step),
)
