"""Reference solution of the project: the round of speculative decoding that is exact."""

import numpy as np
from numpy import ndarray


def verify(p: ndarray, q: ndarray, drafts: ndarray, accept: ndarray, u: float) -> list[int]:
    """What comes out of one round.

    Args:
        p: (γ + 1, V), the target's distribution after 0, 1, ..., γ draft tokens.
        q: (γ, V), the draft's distributions, from which the draft tokens were drawn.
        drafts: (γ,), the draft tokens.
        accept: (γ,), uniform numbers that decide about the draft tokens.
        u: A uniform number for the last token.

    Returns:
        One to γ + 1 tokens.
    """
    tokens: list[int] = []
    for i, x in enumerate(drafts):
        if accept[i] * q[i, x] >= p[i, x]:  # refused
            rest = np.maximum(p[i] - q[i], 0)
            return [*tokens, draw(rest / rest.sum(), u)]
        tokens.append(int(x))
    return [*tokens, draw(p[-1], u)]


def draw(p: ndarray, u: float) -> int:
    """The token in whose piece of the unit interval u falls."""
    return int(np.argmax(np.cumsum(p) > u))
