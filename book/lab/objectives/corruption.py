"""What a perfect reader of a corrupted text would answer."""

import numpy as np
from numpy import ndarray

from mathlm.errors import DataError, InputError
from mathlm.reference.arrays import Numbers, finite_array
from mathlm.reference.statistics.chains import distribution
from mathlm.shapes import Float


def masked_posterior(
    prior: Numbers, seen: int | None, shares: tuple[float | int, float | int, float | int]
) -> Float[ndarray, " V"]:
    """Distribution of the token at a chosen place, given what is shown there.

    Implements eq-masked-posterior::

        p(x | shown w) ∝ p(x) · (s_keep [x = w] + s_random / V),    p(x | shown [MASK]) = p(x)

    p(x) is what the rest of the text says. With s_random = 0 the answer is w, whatever p says;
    with s_keep = 0 it is p, whatever w says.

    Args:
        prior: p(x), V probabilities: the token given everything but the place itself.
        seen: Token w that is shown, or None for ``[MASK]``.
        shares: Probability that a chosen token is masked, replaced by a token drawn evenly
            from all V, or kept; they sum to 1.

    Returns:
        The V probabilities that make the expected loss at chosen places smallest.

    Raises:
        InputError: If p or the shares are no distribution, or w is outside the vocabulary.
        DataError: If a chosen place never shows this: the objective asks nothing there, and
            every answer is as good.

    Example:
        >>> masked_posterior([0.5, 0.5], 0, (0.8, 0.1, 0.1)).tolist()
        [0.75, 0.25]
    """
    p, s = distribution(prior, "prior"), finite_array(shares, "shares")
    if s.shape != (3,) or s.min() < 0 or abs(s.sum() - 1) > 1e-9:
        raise InputError(f"shares {shares} must be three, at least 0, and sum to 1")
    if seen is not None and not 0 <= seen < len(p):
        raise InputError(f"seen={seen} is outside 0..{len(p) - 1}")
    weight = np.full(len(p), s[0] if seen is None else s[1] / len(p))
    if seen is not None:
        weight[seen] += s[2]
    joint = p * weight
    if joint.sum() == 0:
        shown = "[MASK]" if seen is None else f"token {seen}"
        raise DataError(
            f"a chosen place never shows {shown} with shares {tuple(s.tolist())} and this "
            "prior: the objective asks nothing there"
        )
    return joint / joint.sum()


def topic_guess(topics: int) -> float:
    """Share of pairs judged rightly by whoever sees the topics of two sentences and no more.

    Implements eq-topic-guess::

        ½ · 1 + ½ (1 - 1/K) = 1 - 1 / (2 K)

    Half of the pairs follow each other and share a topic; the others are drawn independently.

    Args:
        topics: K equally likely topics, at least 1.

    Returns:
        The share.

    Raises:
        InputError: If there is no topic.

    Example:
        >>> topic_guess(2)
        0.75
    """
    if topics < 1:
        raise InputError(f"topics={topics} must be at least 1")
    return 1 - 1 / (2 * topics)


__all__ = ["masked_posterior", "topic_guess"]
