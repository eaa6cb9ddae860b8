"""Nine checks that an implementation of causal self-attention must pass.

Each takes ``attend(x, W_q, W_k, W_v, mask) -> (y, weights)`` and says whether it passes.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy import ndarray

from mathlm.functional import attention_weights, fused_attention

Attend = Callable[[ndarray, ndarray, ndarray, ndarray, ndarray], tuple[ndarray, ndarray]]


def _problem(T: int = 5, D: int = 4) -> list[ndarray]:
    """x, three square matrices and a causal mask."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(3, D, D)) / np.sqrt(D)
    return [rng.normal(size=(T, D)), *W, np.tril(np.ones((T, T), dtype=bool))]


def _padded_problem() -> list[ndarray]:
    """The same with padding at position 0, which sees itself alone and which no other sees."""
    x, *W, mask = _problem()
    mask[1:, 0] = False
    return [x, *W, mask]


def _rows(attend: Attend) -> bool:
    return np.allclose(attend(*_problem())[1].sum(-1), 1)


def _triangle(attend: Attend) -> bool:
    return not attend(*_problem())[1][np.triu_indices(5, 1)].any()


def _moves(attend: Attend, problem: list[ndarray], changed: slice, watched: slice) -> bool:
    """Whether outputs move when other inputs are overwritten."""
    before, _ = attend(problem[0].copy(), *problem[1:])
    problem[0][changed] = 7.0
    return not np.allclose(attend(*problem)[0][watched], before[watched])


def _hand(attend: Attend) -> bool:
    """The three tokens of chapter 11, with c = e^√2."""
    x = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]])
    W_q, W_v = np.array([[[1.0, 0, 1, 0], [0, 1, 0, 1]], [[1, 0, 0, 1], [1, 0, 1, 0]]])
    y, _ = attend(x, W_q, W_q[::-1], W_v, np.ones((3, 3), dtype=bool))
    c = np.exp(np.sqrt(2))
    second = np.array([2 + c, 2 * c**2 + c, 1 + c + c**2]) / (1 + c + c**2)
    return np.allclose(y, np.stack([np.ones(3), second], 1))


def _spread(attend: Attend) -> bool:
    weights = attend(*_problem(T=64, D=256))[1][-1]
    return bool(0.5 < np.log(np.maximum(weights, 1e-300)).std() < 1.5)


def _finite(attend: Attend) -> bool:
    x, *rest = _problem()
    return bool(np.isfinite(attend(*[100 * x, *rest])[0]).all())


def _unchanged(attend: Attend) -> bool:
    problem = _padded_problem()
    before = problem[0].copy()
    attend(*problem)
    return np.array_equal(problem[0], before)


def _torch(attend: Attend) -> bool:
    x, *W, mask = _problem()
    q, k, v, seen = (torch.from_numpy(a)[None] for a in (*(x @ w.T for w in W), mask))
    theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    return np.allclose(attend(*[x, *W, mask])[0], theirs[0])


CHECKS: dict[str, Callable[[Attend], bool]] = {
    "rows sum to 1": _rows,
    "upper triangle is 0": _triangle,
    "future moves nothing": lambda a: not _moves(a, _problem(), slice(3, None), slice(3)),
    "padding moves nothing": lambda a: not _moves(a, _padded_problem(), slice(1), slice(1, 5)),
    "example by hand": _hand,
    "spread at width 256": _spread,
    "finite at large scores": _finite,
    "input unchanged": _unchanged,
    "equal to torch": _torch,
}


def fused(*inputs: ndarray) -> tuple[ndarray, ndarray]:
    """Self-attention by :func:`mathlm.functional.fused_attention`."""
    x, *W, mask = (torch.from_numpy(np.ascontiguousarray(a)) for a in inputs)
    q, k, v = (x @ w.mT for w in W)
    return fused_attention(q, k, v, mask).numpy(), attention_weights(q, k, mask).numpy()
