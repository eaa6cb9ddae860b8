"""What can be said of a model before it is trained: its input, its first and least losses."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference import Transformer, TransformerConfig
from mathlm.reference.statistics.information import entropy


def word_share(d_model: int, factor: float | int) -> float:
    """Share of the word in the squared length of word plus sinusoidal position.

    Implements eq-transformer-share::

        c² / (c² + D/2)   for a word vector of expected squared length 1, times c

    Word and position are taken to be uncorrelated; the position has squared length D/2.

    Args:
        d_model: D, even.
        factor: c ≥ 0, by which the word is multiplied.

    Returns:
        Between 0 and 1.

    Raises:
        InputError: If D is odd or less than 2, or the factor is negative or not finite.

    Example:
        >>> round(word_share(512, 512**0.5), 4)
        0.6667
    """
    if d_model < 2 or d_model % 2:
        raise InputError(f"d_model={d_model} must be even and at least 2: sines and cosines")
    if not 0 <= factor < math.inf:
        raise InputError(f"factor={factor} must be a finite number, 0 or more")
    return factor**2 / (factor**2 + d_model / 2)


def initial_loss(n_classes: int, variance: float | int = 1.0) -> float:
    """Cross-entropy to expect of a model whose logits are still noise.

    Implements eq-transformer-initial::

        E[ln Σ_v exp(z_v) - z_y] ≈ ln V + σ²/2,   z_v ~ N(0, σ²) independent

    The mean of the logarithm is taken for the logarithm of the mean, which is right for large V
    and too large by about (exp(σ²) - 1) / (2 V).

    Args:
        n_classes: V.
        variance: σ² of the logits.

    Returns:
        Loss [nats].

    Raises:
        InputError: If V is less than 1 or σ² is negative or not finite.
    """
    if n_classes < 1:
        raise InputError(f"n_classes={n_classes} must be at least 1")
    if not 0 <= variance < math.inf:
        raise InputError(f"variance={variance} must be a finite number, 0 or more")
    return math.log(n_classes) + variance / 2


def smoothing_floor(n_classes: int, smoothing: float | int) -> tuple[float, float]:
    """Least label-smoothed cross-entropy, and the gap of logits at which it is reached.

    Implements eq-smoothing-floor::

        loss = H(q),   gap = z_y - z_v = ln(1 + (1 - ε) V / ε),   q_v = (1 - ε) 1[v = y] + ε/V

    Args:
        n_classes: V, at least 2.
        smoothing: ε in [0, 1]. At 0 the least loss is 0, at an infinite gap.

    Returns:
        The loss [nats] and the gap.

    Raises:
        InputError: If V is less than 2 or ε is outside [0, 1].

    Example:
        >>> [round(x, 3) for x in smoothing_floor(2, 0.5)]
        [0.562, 1.099]
    """
    if n_classes < 2:
        raise InputError(f"n_classes={n_classes} must be at least 2: there is a gap to others")
    if not 0 <= smoothing <= 1:
        raise InputError(
            f"smoothing={smoothing} is outside 0..1: it is the share spread evenly"
        )
    if smoothing == 0:
        return 0.0, math.inf
    rest = smoothing / n_classes
    q = np.full(n_classes, rest)
    q[0] += 1 - smoothing
    return float(entropy(q)), math.log1p((1 - smoothing) / rest)


def look_alikes(keys: Sequence[Hashable]) -> tuple[float, float]:
    """How well inputs can be told apart of which only a key is seen, all equally likely.

    Computes::

        share = mean over inputs n of 1 / k_n,   loss = mean of ln k_n
        k_n: inputs with the key of n

    Args:
        keys: What is seen of each input.

    Returns:
        The share that is right at best, choosing among equal keys blindly, and the least
        cross-entropy of the inputs [nats].

    Raises:
        InputError: If there is no key.

    Example:
        >>> look_alikes("aab")[0]
        0.6666666666666666
    """
    if not len(keys):
        raise InputError("there are no keys: give one for each input")
    count = Counter(keys)
    k = np.array([count[key] for key in keys])
    return float((1 / k).mean()), float(np.log(k).mean())


def first_losses(
    pairs: tuple[ndarray, ndarray],
    config: TransformerConfig,
    seeds: int,
    head_std: float | int | None = None,
) -> ndarray:
    """Loss before any training, of models that are drawn with the seeds 0, 1, ...

    Args:
        pairs: Ids of sources and of whole targets, 0 at padding.
        config: Sizes and choices of the models.
        seeds: How many models.
        head_std: Standard deviation of a normal head; None = as the model draws it.

    Returns:
        One loss for each seed [nats/word].
    """
    losses = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        model = Transformer(config, rng)
        if head_std is not None:
            shape = model.weights["head.weight"].shape
            model.weights["head.weight"] = rng.normal(0.0, head_std, shape)
        losses.append(model.loss(*pairs, pairs[0] != 0, pairs[1] != 0)[0])
    return np.array(losses)


__all__ = ["first_losses", "initial_loss", "look_alikes", "smoothing_floor", "word_share"]
