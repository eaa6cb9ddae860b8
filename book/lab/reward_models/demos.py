"""Moving demos of the chapter on reward models."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, slider, value
from mathlm.plot.picture import axis, dots, legend, line, picture

FLOOR = -0.4  # the smallest reward that has room in the picture [nats]


def _sigmoid(x: float | int) -> float:
    return 1 / (1 + math.exp(-x))


@dataclass(frozen=True)
class _Compared:
    """Comparisons of two answers, and what they tell of the difference of their rewards."""

    gap: float | int
    won: int
    lost: int

    @property
    def estimate(self) -> tuple[float, float] | None:
        """log(won / lost) and half its 95 % interval; None where one side never won."""
        if not (self.won and self.lost):
            return None
        return math.log(self.won / self.lost), 1.96 * math.sqrt(1 / self.won + 1 / self.lost)


def _signed(x: float | int) -> str:
    return f"{x:.2f}".replace("-", "−")


def _sigmoid_picture(seen: _Compared) -> str:
    """The sigmoid, the true difference on it, and the estimate below."""
    marks = [line([(x, _sigmoid(x)) for x in np.linspace(-6, 6, 61)])]
    if seen.estimate:
        guess, reach = seen.estimate
        marks.append(line([(guess - reach, 0.08), (guess + reach, 0.08)], "second", width=3))
        marks.append(dots([(guess, 0.08)], "second"))
    marks.append(dots([(seen.gap, _sigmoid(seen.gap))], size=6))
    names = (("accent", "true difference"), ("second", "estimate with 95 % interval"))
    return legend(names) + picture(
        "plane",
        "win probability against reward difference, an estimate below",
        axis(-6, 6, "difference of rewards [nats]"),
        axis(0, 1, "probability that the first wins"),
        marks,
        aspect=0.5,
    )


def comparisons_demo(gap: float | int = 1.5, number: int = 40, seed: int = 0) -> Demo:
    """Sliders for a difference of rewards and for how many comparisons were made of it.

    Args:
        gap: Difference of the rewards at the beginning, -5 to 5 [nats].
        number: Comparisons at the beginning, 5 to 400.
        seed: Of the 400 draws behind the comparisons.
    """
    if not (-5 <= gap <= 5 and 5 <= number <= 400):
        raise InputError(f"gap={gap} must be in -5..5 and number={number} in 5..400")
    draws = np.random.default_rng(seed).random(400).round(4).tolist()
    won = sum(u < _sigmoid(gap) for u in draws[:number])
    seen = _Compared(gap, won, number - won)
    found = " ± ".join(map(_signed, seen.estimate)) if seen.estimate else "no finite number"
    return Demo(
        kind="comparisons",
        title="A difference of rewards, and what comparisons tell of it",
        hint="Add comparisons; then set the difference to 4 and see how many it takes there.",
        state={"draws": draws},
        controls=slider("gap", "difference", -5, 5, 0.1, gap)
        + slider("number", "comparisons", 5, 400, 5, number)
        + button("reset", "reset"),
        view=_sigmoid_picture(seen)
        + live_text(
            f"The first wins with probability {value('p', f'{_sigmoid(gap):.3f}')}. It won "
            f"{value('won', str(won))} times and lost "
            f"{value('lost', str(number - won))} times; "
            f"the difference is estimated as {value('found', found)}."
        ),
        script=script_beside(__file__, "comparisons"),
    )


def _reward_picture(
    kl: list[float], proxy: list[float], gold: list[float], at: int, top: float
) -> str:
    """Both rewards against divergence, and the place that was chosen.

    Below the floor nothing is drawn; the number stands in the text.
    """
    names = (("second", "learned reward", "dashed"), ("accent", "true reward"))
    return legend(names) + picture(
        "plane",
        "learned and true reward against divergence",
        axis(0, kl[-1], "divergence [nats]"),
        axis(FLOOR, top, "reward [nats]"),
        [
            line(zip(kl, proxy, strict=True), "second", dash="6 4", width=2),
            line(zip(kl, gold, strict=True)),
            line([(kl[at], FLOOR), (kl[at], top)], "soft", width=1, dash="3 3"),
            dots([(kl[at], gold[at])], size=6),
        ],
        aspect=0.5,
    )


def best_of_n_demo(
    numbers: Sequence[int],
    moments: Sequence[tuple[float, float]],
    size: float,
    share: float,
    excess: float | int = 0.8,
    price: float | int = 0.2,
    slope: float | None = None,
) -> Demo:
    """Sliders for a fault that a learned reward does not see, and for a price on divergence.

    Args:
        numbers: n, rising from 1; the price chooses among them.
        moments: For each n the mean of the largest of n standard normal numbers and of its
            square.
        size: Norm of the learned weights [nats].
        share: Square of the share that length has in them.
        excess: How fast too much length becomes a fault, at the beginning [nats].
        price: Of a nat of divergence, at the beginning.
        slope: How fast the true reward rises along the learned weights, but for the fault; None
            if just as fast as the learned one.

    Raises:
        InputError: If the numbers do not begin with 1 and rise, each with its moments.
    """
    if len(numbers) != len(moments) or not numbers or list(numbers) != sorted(set(numbers)):
        raise InputError(f"{len(numbers)} rising numbers need as many moments: {len(moments)}")
    if len(numbers) < 2 or numbers[0] != 1:
        raise InputError(f"numbers={list(numbers)}: give two or more, and 1 first")
    kl = [math.log(n) - (n - 1) / n for n in numbers]
    proxy, square = [size * mean for mean, _ in moments], [s for _, s in moments]
    linear = proxy if slope is None else [slope * mean for mean, _ in moments]
    gold = [r - excess / 2 * share * (s - 1) for r, s in zip(linear, square, strict=True)]
    worth = [r - price * k for r, k in zip(proxy, kl, strict=True)]
    best, peak = worth.index(max(worth)), gold.index(max(gold))
    state = {
        "n": list(numbers),
        "kl": kl,
        "proxy": proxy,
        "linear": linear,
        "square": square,
        "share": share,
        "floor": FLOOR,
    }
    return Demo(
        kind="best-of-n",
        title="The best of n by a learned reward, with a price on divergence",
        hint="Lower the price to 0, then find the one with which the true reward is best.",
        state=state,
        controls=slider("excess", "unseen fault", 0, 2, 0.05, excess)
        + slider("price", "price of a nat", 0, 1, 0.02, price)
        + button("reset", "reset"),
        view=_reward_picture(kl, proxy, gold, best, 1.1 * max(*proxy, *linear))
        + live_text(
            f"At this price the best of {value('n', f'{numbers[best]:,}')} is taken: learned "
            f"reward {value('proxy-reward', _signed(proxy[best]))}, true reward "
            f"{value('gold-reward', _signed(gold[best]))}. The true reward is highest, "
            f"{value('peak-reward', _signed(gold[peak]))}, at the best of "
            f"{value('peak', f'{numbers[peak]:,}')}."
        ),
        script=script_beside(__file__, "best_of_n"),
    )
