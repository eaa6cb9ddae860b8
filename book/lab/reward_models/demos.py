"""Moving demos of the chapter on reward models."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, slider, value

LEFT, RIGHT, TOP, BOTTOM = 40.0, 380.0, 20.0, 150.0
FLOOR = -0.4  # the smallest reward that has room in the picture [nats]


def _axes(label: str, bottom: str) -> str:
    return (
        f'<svg viewBox="0 0 400 192" role="img" aria-label="{label}">'
        f'<line x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{BOTTOM}" stroke="var(--line)"/>'
        f'<text x="210" y="187" font-size="13" text-anchor="middle">{bottom}</text>'
    )


def _ticks(places: Mapping[int, float]) -> str:
    """Whole numbers below the axis, each at its place."""
    return "".join(
        f'<text x="{at:.0f}" y="169" font-size="13" text-anchor="middle">'
        f"{str(number).replace('-', '−')}</text>"
        for number, at in places.items()
    )


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


def _across(gap: float | int) -> float:
    return 210 + 170 * max(-6.0, min(6.0, gap)) / 6


def _signed(x: float | int) -> str:
    return f"{x:.2f}".replace("-", "−")


def _sigmoid_picture(seen: _Compared) -> str:
    """The sigmoid, the true difference on it, and the estimate below."""
    guess, reach = seen.estimate or (0.0, 0.0)
    shown = 1 if seen.estimate else 0
    curve = " ".join(
        f"{_across(x):.1f},{150 - 130 * _sigmoid(x):.1f}" for x in np.linspace(-6, 6, 61)
    )
    return (
        _axes("win probability against reward difference, an estimate below", "difference")
        + _ticks({x: _across(x) for x in (-6, -4, -2, 0, 2, 4, 6)})
        + f'<line x1="{LEFT}" y1="85" x2="{RIGHT}" y2="85" stroke="var(--line)"/>'
        '<text x="34" y="24" font-size="13" text-anchor="end">1</text>'
        '<text x="34" y="89" font-size="13" text-anchor="end">½</text>'
        f'<polyline fill="none" stroke="var(--accent)" stroke-width="2.5" points="{curve}"/>'
        f'<circle data-name="true" cx="{_across(seen.gap):.1f}" '
        f'cy="{150 - 130 * _sigmoid(seen.gap):.1f}" r="6" fill="var(--accent)"/>'
        f'<line data-name="range" x1="{_across(guess - reach):.1f}" '
        f'x2="{_across(guess + reach):.1f}" y1="140" y2="140" stroke="var(--second)" '
        f'stroke-width="3" opacity="{shown}"/>'
        f'<circle data-name="guess" cx="{_across(guess):.1f}" cy="140" r="5" '
        f'fill="var(--second)" opacity="{shown}"/></svg>'
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
        + button("reset", "Reset"),
        view=_sigmoid_picture(seen)
        + live_text(
            f"The first wins with probability {value('p', f'{_sigmoid(gap):.3f}')}. It won "
            f"{value('won', str(won))} times and lost "
            f"{value('lost', str(number - won))} times; "
            f"the difference is estimated as {value('found', found)}."
        ),
        script=script_beside(__file__, "comparisons"),
    )


def _across_nats(kl: float | int, most: float) -> float:
    return 40 + 340 * kl / most


def _reward_picture(
    kl: list[float], proxy: list[float], gold: list[float], at: int, top: float
) -> str:
    """Both rewards against divergence, down to the floor, and the place that was chosen.

    A chosen place below the floor is a ring on it; its number stands in the text.
    """

    def point(i: int, reward: float) -> tuple[float, float]:
        return _across_nats(kl[i], kl[-1]), 150 - 130 * max(FLOOR, reward) / top

    below = next((i for i, r in enumerate(gold) if r < FLOOR), len(gold))
    lines = [[point(i, r) for i, r in enumerate(rows)] for rows in (proxy, gold[:below])]
    if below < len(gold):
        share = (gold[below - 1] - FLOOR) / (gold[below - 1] - gold[below])
        crossing = kl[below - 1] + share * (kl[below] - kl[below - 1])
        lines[1].append((_across_nats(crossing, kl[-1]), point(below, FLOOR)[1]))
    drawn = [" ".join(f"{x:.1f},{y:.1f}" for x, y in line) for line in lines]
    x, y = point(at, gold[at])
    return (
        _axes("learned and true reward against divergence", "divergence [nats]")
        + _ticks({k: _across_nats(k, kl[-1]) for k in range(0, int(kl[-1]) + 1, 2)})
        + '<text x="34" y="154" font-size="13" text-anchor="end">0</text>'
        '<polyline fill="none" stroke="var(--second)" stroke-width="2" '
        f'stroke-dasharray="6 4" points="{drawn[0]}"/>'
        '<polyline data-name="gold" fill="none" stroke="var(--accent)" stroke-width="2.5" '
        f'points="{drawn[1]}"/>'
        f'<circle data-name="at" cx="{x:.1f}" cy="{y:.1f}" r="6" fill="var(--accent)" '
        f'fill-opacity="{int(gold[at] >= FLOOR)}" stroke="var(--accent)" stroke-width="2"/>'
        '<text x="46" y="16" font-size="13">reward [nats]; dashed: learned, full: true</text>'
        "</svg>"
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
        + button("reset", "Reset"),
        view=_reward_picture(kl, proxy, gold, best, max(*proxy, *linear))
        + live_text(
            f"At this price the best of {value('n', str(numbers[best]))} is taken: learned "
            f"reward {value('proxy-reward', _signed(proxy[best]))}, true reward "
            f"{value('gold-reward', _signed(gold[best]))}. The true reward is highest, "
            f"{value('peak-reward', _signed(gold[peak]))}, at the best of "
            f"{value('peak', str(numbers[peak]))}."
        ),
        script=script_beside(__file__, "best_of_n"),
    )
