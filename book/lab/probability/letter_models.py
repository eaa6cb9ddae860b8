"""Five tragedies, a model of letters for each, and the passages that have to be named."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy import ndarray

from mathlm.text import corpus, letters

ALPHABET = " abcdefghijklmnopqrstuvwxyz"  # letters 0 to 26
PLAYS = {"Hamlet": 32, "King Lear": 33, "Macbeth": 34, "Othello": 35, "Romeo": 36}
ORDER, STRENGTH = 4, 4.0


def tragedies() -> dict[str, ndarray]:
    """Name -> letters of the play, 0 for a space and 1 to 26 for a to z."""
    texts = corpus.documents("shakespeare")
    return {name: letters(texts[place]) for name, place in PLAYS.items()}


def first_and_last(play: ndarray) -> tuple[ndarray, ndarray]:
    """The first four fifths of a play, and the last fifth."""
    cut = len(play) * 4 // 5
    return play[:cut], play[cut:]


def letter_model(text: ndarray, order: int = ORDER, strength: float = STRENGTH) -> ndarray:
    """Probability of the next letter after every history of ``order`` − 1 letters.

    Implements eq-prob-letters::

        qₙ(x | h) = (c(hx) + α qₙ₋₁(x | shorter h)) / (c(h) + α),    q₀ = 1 / 27

    Args:
        text: Letters, 0 to 26.
        order: Letters of a block, history and next letter together; 5 needs 115 MB.
        strength: Weight α of the shorter history's model [letters].

    Returns:
        Table with ``order`` axes of 27; the last axis sums to 1.
    """
    q = np.full(27, 1 / 27)
    for n in range(1, order + 1):
        counts = np.zeros((27,) * n)
        np.add.at(counts, tuple(text[i : len(text) - n + 1 + i] for i in range(n)), 1)
        q = (counts + strength * q) / (counts.sum(-1, keepdims=True) + strength)
    return q


def log_probabilities(model: ndarray, text: ndarray) -> ndarray:
    """Log-probability of each letter after the first ``model.ndim`` − 1 [nats]."""
    order = model.ndim
    return np.log(model[tuple(text[i : len(text) - order + 1 + i] for i in range(order))])


def passage_scores(
    models: Sequence[ndarray], texts: Mapping[str, ndarray], length: int = 40
) -> tuple[ndarray, ndarray]:
    """Log-likelihood of every passage under every model, and the number of its play.

    Args:
        models: One for each play, in the order of ``texts``.
        texts: Name -> letters; each is cut into passages from its beginning.
        length: Letters of a passage.

    Returns:
        Scores [nats], one row for each passage and one column for each model; play numbers.
    """
    scores, plays = [], []
    for number, text in enumerate(texts.values()):
        nats = np.array([log_probabilities(model, text) for model in models])
        count = nats.shape[1] // length
        scores.append(nats[:, : length * count].reshape(-1, count, length).sum(-1).T)
        plays.append(np.full(count, number))
    return np.concatenate(scores), np.concatenate(plays)
