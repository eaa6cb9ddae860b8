"""The unigram language model of pieces: every way to cut a text, summed, counted, compared."""

import math
from collections.abc import Iterator, Mapping

from numpy.random import Generator

from ...errors import InputError, InputTypeError
from .pretokenize import utf8

NEVER = -math.inf  # log 0


def viterbi(text: str, log_p: Mapping[str, float]) -> tuple[list[str], float]:
    """The most probable way to cut a text into pieces.

    Implements eq-unigram::

        s* = argmax_s Σ_i log p(s_i),   by   v_0 = 0,   v_j = max_i v_i + log p(x_{i+1..j})

    Among cuts of the same probability the one whose last piece is longest is chosen, and so on
    to the left. Every character must be in some piece: there is no unknown token. To allow any
    character, add the missing ones to ``log_p`` with a small probability.

    Args:
        text: x. A text without characters has no pieces and log probability 0.
        log_p: log p(s) of each piece s [nats]. The probabilities need not sum to one, since a
            vocabulary may have been cut.

    Returns:
        The pieces, which concatenate to the text, and the log of the product of their
        probabilities [nats].

    Raises:
        InputError: If no sequence of pieces is the text, or a log probability is positive, NaN
            or infinite.
        InputTypeError: If the text is not a str.

    Example:
        >>> viterbi("aab", {"a": math.log(0.2), "aa": math.log(0.5), "b": math.log(0.3)})[0]
        ['aa', 'b']

    References:
        Kudo (2018), arXiv:1804.10959.
    """
    longest = _longest(log_p)
    utf8(text)
    best, cut = [0.0] + [NEVER] * len(text), [0] * (len(text) + 1)
    for j in range(1, len(text) + 1):
        for i, score in _last_pieces(text, j, log_p, longest):
            if best[i] + score > best[j]:
                best[j], cut[j] = best[i] + score, i
    _require_cut(text, best)
    pieces, j = [], len(text)
    while j:
        pieces.append(text[cut[j] : j])
        j = cut[j]
    return pieces[::-1], best[-1]


def log_marginal(text: str, log_p: Mapping[str, float]) -> float:
    """Log probability of a text: the sum over every way to cut it.

    Implements eq-unigram-forward::

        log P(x) = log α_n,   α_0 = 1,   α_j = Σ_i α_i p(x_{i+1..j})

    Args:
        text: x.
        log_p: log p(s) of each piece s [nats].

    Returns:
        log P(x) [nats], summed over the text; at least that of `viterbi`.

    Raises:
        InputError: As `viterbi`.

    Example:
        >>> log_p = {"a": math.log(0.5), "aa": math.log(0.5)}
        >>> round(math.exp(log_marginal("aa", log_p)), 6)  # 0.5² + 0.5
        0.75
    """
    return _forward(text, log_p, _longest(log_p))[-1]


def expected_counts(
    texts: Mapping[str, int], log_p: Mapping[str, float]
) -> tuple[dict[str, float], float]:
    """How often each piece is used, averaged over the ways to cut, and the log-likelihood.

    Implements eq-unigram-em::

        E[count of x_{i+1..j}] = α_i p(x_{i+1..j}) β_j / P(x),   summed over texts
        log L = Σ_x n(x) log P(x)

    α is the sum over the cuts of what is before, β over those of what is after.

    Args:
        texts: How often n(x) each text x occurs; words are texts too.
        log_p: log p(s) of each piece s [nats].

    Returns:
        The expected count of each piece of ``log_p``, and log L [nats], summed over texts.

    Raises:
        InputError: As `viterbi`, or if there is no text or a count is not positive.

    Example:
        >>> log_p = {"a": math.log(0.5), "aa": math.log(0.5)}
        >>> counts, log_likelihood = expected_counts({"aa": 1}, log_p)
        >>> {piece: round(count, 4) for piece, count in counts.items()}  # 2 · 1/3, and 2/3
        {'a': 0.6667, 'aa': 0.6667}
    """
    longest = _longest(log_p)
    _require_counts(texts)
    counts, total = dict.fromkeys(log_p, 0.0), 0.0
    for text, n in texts.items():
        alpha = _forward(text, log_p, longest)
        for piece, posterior in _posteriors(text, log_p, longest, alpha):
            counts[piece] += n * posterior
        total += n * alpha[-1]
    if not (math.isfinite(total) and math.isfinite(sum(counts.values()))):
        raise InputError(f"the counts of {len(texts)} texts have an infinite sum; divide them")
    return counts, total


def em_step(
    texts: Mapping[str, int], log_p: Mapping[str, float]
) -> tuple[dict[str, float], float]:
    """One round of expectation-maximization.

    Computes::

        p(s) ← E[count of s] / Σ_t E[count of t]

    The log-likelihood of the texts never falls from one round to the next. A piece that no text
    can use gets probability zero and leaves the vocabulary.

    Args:
        texts: How often each text occurs.
        log_p: log p(s) before the step [nats].

    Returns:
        log p(s) after the step, which sum to one as probabilities, and the log-likelihood
        *before* it [nats], summed over texts.

    Raises:
        InputError: As `expected_counts`, or if no text has a character.

    Example:
        >>> log_p = {"a": math.log(0.5), "aa": math.log(0.5)}
        >>> new, log_likelihood = em_step({"aa": 1}, log_p)  # counts 2 · 1/3 and 2/3
        >>> {piece: round(math.exp(x), 6) for piece, x in new.items()}
        {'a': 0.5, 'aa': 0.5}
    """
    counts, log_likelihood = expected_counts(texts, log_p)
    log_total = math.log(total) if (total := math.fsum(counts.values())) else NEVER
    if log_total == NEVER:
        raise InputError(f"none of the {len(texts)} texts has a character: nothing to count")
    new = {s: min(0.0, math.log(c) - log_total) for s, c in counts.items() if c > 0}
    return new, log_likelihood


def sample_segmentation(text: str, log_p: Mapping[str, float], rng: Generator) -> list[str]:
    """A way to cut a text, drawn with its probability given the text.

    Computes::

        P(last piece of x_{1..j} begins after i) = α_i p(x_{i+1..j}) / α_j

    Training on drawn cuts instead of the best one is subword regularization.

    Args:
        text: x.
        log_p: log p(s) of each piece s [nats].
        rng: Where the draws come from.

    Raises:
        InputError: As `viterbi`.

    Example:
        >>> log_p = {"a": math.log(0.5), "aa": math.log(0.5)}
        >>> pieces = sample_segmentation("aaa", log_p, np.random.default_rng(0))
        >>> "".join(pieces)
        'aaa'

    References:
        Kudo (2018), arXiv:1804.10959, section 3.
    """
    longest = _longest(log_p)
    alpha = _forward(text, log_p, longest)
    pieces, j = [], len(text)
    while j:
        starts, scores = zip(*_last_pieces(text, j, log_p, longest), strict=True)
        p = [math.exp(alpha[i] + s - alpha[j]) for i, s in zip(starts, scores, strict=True)]
        total = math.fsum(p)
        i = int(rng.choice(starts, p=[q / total for q in p]))
        pieces.append(text[i:j])
        j = i
    return pieces[::-1]


def _forward(text: str, log_p: Mapping[str, float], longest: int) -> list[float]:
    """Log α_j of every prefix."""
    utf8(text)
    alpha = [0.0] + [NEVER] * len(text)
    for j in range(1, len(text) + 1):
        alpha[j] = _logsumexp(
            [alpha[i] + score for i, score in _last_pieces(text, j, log_p, longest)]
        )
    _require_cut(text, alpha)
    return alpha


def _posteriors(
    text: str, log_p: Mapping[str, float], longest: int, alpha: list[float]
) -> Iterator[tuple[str, float]]:
    """Probability, given the text, of each place of each piece; β is built from the right."""
    terms: list[list[float]] = [[] for _ in text] + [[0.0]]
    for j in range(len(text), 0, -1):
        beta = _logsumexp(terms[j])
        for i, score in _last_pieces(text, j, log_p, longest):
            terms[i].append(score + beta)
            yield text[i:j], math.exp(alpha[i] + score + beta - alpha[-1])


def _last_pieces(
    text: str, j: int, log_p: Mapping[str, float], longest: int
) -> Iterator[tuple[int, float]]:
    """Start i and log p of each piece that ends at j, the longest first."""
    for i in range(max(0, j - longest), j):
        score = log_p.get(text[i:j])
        if score is not None:
            yield i, float(score)


def _logsumexp(terms: list[float]) -> float:
    top = max(terms, default=NEVER)
    if top == NEVER:
        return NEVER
    return top + math.log(math.fsum(math.exp(x - top) for x in terms))


def _longest(log_p: Mapping[str, float]) -> int:
    """Characters of the longest piece, once the vocabulary is what it must be."""
    if not isinstance(log_p, Mapping):
        raise InputTypeError(f"log_p must map pieces to numbers, got {type(log_p).__name__}")
    for piece, score in log_p.items():
        if piece and NEVER < score <= 0:
            continue
        raise InputError(
            f"piece {piece!r} has log probability {score}: expected one character or "
            "more and a finite number, at most 0; leave out pieces of probability 0"
        )
    return max(map(len, log_p), default=0)


def _require_counts(texts: Mapping[str, int]) -> None:
    if not isinstance(texts, Mapping):
        raise InputTypeError(
            f"texts must map each text to its count, got {type(texts).__name__}; "
            "collections.Counter(words) makes such a map"
        )
    if not texts:
        raise InputError("there is no text to count pieces in: texts is empty")
    for text, n in texts.items():
        if not 0 < n < math.inf:
            raise InputError(f"text {text!r:.60} has count {n}: counts must be positive")


def _require_cut(text: str, reached: list[float]) -> None:
    """Raise if no sequence of pieces is the text."""
    if reached[-1] == NEVER:
        known = max(j for j, value in enumerate(reached) if value > NEVER)
        raise InputError(
            f"no sequence of pieces is {text!r:.60}: pieces reach character {known} of "
            f"{len(text)}, {text[known]!r}, and none goes on from there; add it to the "
            "vocabulary"
        )


__all__ = ["em_step", "expected_counts", "log_marginal", "sample_segmentation", "viterbi"]
