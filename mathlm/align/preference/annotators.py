"""People who compare, simulated: noise, slips, ties, and a weakness for length."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ConfigError, InputError
from ...text import Message, Preference

Array = NDArray[np.float64]
Numbers = ArrayLike | float | int
FIRST, TIE, SECOND = 0, 1, 2
RARE = 1e-3  # probability of all completions but one; two draws differ about twice as often


@dataclass(frozen=True, kw_only=True)
class Annotator:
    """Somebody who is shown two completions and says which is better.

    Computes::

        d = r_a - r_b + w (length_a - length_b)
        p_a = σ((d - η)/τ),   p_b = σ((-d - η)/τ),   p_tie = 1 - p_a - p_b,
        and a decision for one side is written down for the other with probability ε.

    As it stands it is Bradley and Terry's judge, whose odds are the exponential of the
    difference. It uses the classes of the tie models: 0 the first, 1 a tie, 2 the second.

    Args:
        temperature: τ >= 0 [nats of reward]; 0 sees which is better, and equals as a tie.
        flip: ε, probability of a slip, in [0, 1]; ties are not affected.
        tie: η >= 0, in reward: what looks like a smaller difference is a tie; 0 = never.
        length_weight: w, reward that a unit of length is worth to this judge.

    Raises:
        ConfigError: If a number is out of range.

    Example:
        >>> strict = Annotator(temperature=0)  # sees which is better
        >>> found = compare([[0.0, 10.0]], strict, number=20)
        >>> bool((np.where(found.decision == 0, found.first, found.second) == 1).all())
        True
    """

    temperature: float | int = 1.0
    flip: float | int = 0.0
    tie: float | int = 0.0
    length_weight: float | int = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise ConfigError(f"temperature={self.temperature} must be at least 0 and finite")
        if not 0 <= self.flip <= 1:
            raise ConfigError(f"flip={self.flip} is outside 0..1")
        if not 0 <= self.tie < math.inf:
            raise ConfigError(f"tie={self.tie} must be at least 0 and finite")
        if not math.isfinite(self.length_weight):
            raise ConfigError(f"length_weight={self.length_weight} must be finite")

    def sees(
        self,
        reward_a: Numbers,
        reward_b: Numbers,
        length_a: Numbers | None = None,
        length_b: Numbers | None = None,
    ) -> Array:
        """Difference of the rewards as this judge sees them, before any noise.

        Raises:
            InputError: If the lengths matter and are not given, or a number is not finite.
        """
        d = np.asarray(reward_a, dtype=np.float64) - np.asarray(reward_b, dtype=np.float64)
        if self.length_weight:
            if length_a is None or length_b is None:
                raise InputError("this judge looks at lengths: give length_a and length_b")
            longer = np.asarray(length_a, np.float64) - np.asarray(length_b, np.float64)
            d = d + self.length_weight * longer
        if not np.isfinite(d).all():
            raise InputError("a reward or a length is NaN or infinite")
        return np.asarray(d)

    def probabilities(self, difference: Numbers) -> Array:
        """Probabilities of the first, a tie and the second, for differences that it sees.

        Returns:
            (…, 3); they sum to 1.
        """
        d = np.asarray(difference, dtype=np.float64)
        a, b = self._wins(d), self._wins(np.asarray(-d))
        slipped = self.flip * (b - a)
        return np.stack((a + slipped, np.clip(1 - a - b, 0.0, 1.0), b - slipped), -1)

    def judge(self, difference: Numbers, seed: int = 0) -> NDArray[np.int64]:
        """One decision for each difference that it sees: 0, 1 or 2.

        Args:
            difference: Such as :meth:`sees` gives.
            seed: Of the noise; one number is drawn for each difference, in their order.
        """
        if seed < 0:
            raise InputError(f"seed={seed} must not be negative")
        p = self.probabilities(difference)
        drawn = np.random.default_rng(seed).random(p.shape[:-1])
        first, second = p[..., FIRST], p[..., SECOND]
        other = np.where(drawn >= 1 - second, SECOND, TIE)
        return np.asarray(np.where(drawn < first, FIRST, other), dtype=np.int64)

    def _wins(self, d: Array) -> Array:
        """Probability that the first is found better, without slips."""
        if self.temperature == 0:
            return np.asarray(d > self.tie, dtype=np.float64)
        z = (d - self.tie) / self.temperature
        return np.asarray(np.exp(-np.logaddexp(0.0, -z)))


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Pairs of completions of one prompt each, with a decision.

    Args:
        prompt: Number of the prompt, (N,).
        first: Number of the first completion, (N,).
        second: Number of the second.
        decision: 0 the first, 1 a tie, 2 the second, (N,).
    """

    prompt: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    decision: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.prompt)

    @property
    def ties(self) -> int:
        """How many pairs were called a tie."""
        return int((self.decision == TIE).sum())

    @property
    def chosen(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(prompt, chosen, rejected) of the pairs that were decided; ties are left out."""
        decided = self.decision != TIE
        won = np.where(self.decision == FIRST, self.first, self.second)
        lost = np.where(self.decision == FIRST, self.second, self.first)
        return self.prompt[decided], won[decided], lost[decided]

    def preferences(
        self, prompts: Sequence[str], completions: Sequence[Sequence[str]]
    ) -> list[Preference]:
        """The pairs that were decided, as texts, each prompt said by a user.

        Args:
            prompts: Texts of the P prompts.
            completions: Texts of the completions of each prompt, P lists.
        """
        return [
            Preference(
                prompt=(Message("user", prompts[i]),),
                chosen=completions[i][won],
                rejected=completions[i][lost],
            )
            for i, won, lost in zip(*(side.tolist() for side in self.chosen), strict=True)
        ]


def compare(
    rewards: ArrayLike,
    annotator: Annotator,
    number: int,
    seed: int = 0,
    *,
    logp: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
) -> Comparisons:
    """Pairs of completions that can be listed, drawn at random, and what a judge says of them.

    Prompts are drawn alike; both completions independently from ``logp``, drawn again if they
    are the same one.

    Args:
        rewards: True rewards (P, Y) of Y completions of P prompts.
        annotator: The judge.
        number: How many pairs.
        seed: Of the pairs and the noise.
        logp: log-probabilities (P, Y) by which completions are drawn; None = all alike.
        lengths: Of the completions, (P, Y) or (Y,); for judges that look at them.

    Returns:
        The pairs with the decisions.

    Raises:
        InputError: If the shapes do not fit, a number is not finite or positive, or a prompt
            has not two completions that can be drawn.

    Example:
        >>> found = compare([[0.0, 0.0, 0.0]], Annotator(temperature=0), number=20)
        >>> len(found), found.ties  # what is equal is a tie
        (20, 20)
    """
    r = np.asarray(rewards, dtype=np.float64)
    if r.ndim != 2 or r.shape[1] < 2 or number < 1 or seed < 0:
        raise InputError(
            f"rewards {r.shape} must be (P, Y) with Y >= 2, number={number} positive and "
            f"seed={seed} not negative"
        )
    rng = np.random.default_rng([seed, 1])
    prompt = rng.integers(len(r), size=number)
    p = np.full(r.shape, 1 / r.shape[1]) if logp is None else _probabilities(logp, r)
    first, second = _draw_pairs(p, prompt, rng)
    sizes = None if lengths is None else np.broadcast_to(np.asarray(lengths), r.shape)
    at = [None if sizes is None else sizes[prompt, y] for y in (first, second)]
    seen = annotator.sees(r[prompt, first], r[prompt, second], *at)
    return Comparisons(prompt, first, second, annotator.judge(seen, seed))


def _probabilities(logp: ArrayLike, rewards: Array) -> Array:
    p = np.exp(np.asarray(logp, dtype=np.float64))
    if p.shape != rewards.shape or not np.allclose(p.sum(1), 1.0, atol=1e-4):
        raise InputError(
            f"logp {p.shape} must have the shape of rewards {rewards.shape}, and probabilities "
            "that sum to 1 in each row"
        )
    if ((p > 0).sum(1) < 2).any():
        raise InputError("a prompt has fewer than two completions that can be drawn")
    return p / p.sum(1, keepdims=True)


def _draw_pairs(
    p: Array, prompt: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two different completions for each prompt: independent draws, given that they differ.

    They are drawn until they differ; where that is rare, the first by p(y) (1 - p(y)), and the
    second from the others.
    """
    likeliest = np.arange(p.shape[1]) == p.argmax(1)[:, None]
    unlike = np.where(likeliest, 0.0, p).sum(1, keepdims=True)  # 1 - p would round to 0
    others = np.where(likeliest, unlike, 1 - p)
    rare = unlike[prompt, 0] < RARE
    pair = np.zeros((2, len(prompt)), dtype=np.int64)
    below, left = _cumulative(p), np.flatnonzero(~rare)
    while len(left):
        for side in pair:
            side[left] = _draw(below[prompt[left]], rng)
        left = left[pair[0, left] == pair[1, left]]
    rows = prompt[rare]
    pair[0, rare] = _draw(_cumulative(p * others)[rows], rng)
    rest = np.where(np.arange(p.shape[1]) == pair[0, rare, None], 0.0, p[rows])
    pair[1, rare] = _draw(_cumulative(rest), rng)
    return pair[0], pair[1]


def _cumulative(weights: Array) -> Array:
    below = weights.cumsum(1)
    return np.asarray(below / below[:, -1:])


def _draw(below: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """One place for each row of cumulative probabilities."""
    return np.asarray((below <= rng.random(len(below))[:, None]).sum(1))
