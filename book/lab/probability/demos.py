"""Moving demos of probability: what a prediction costs, and sums of dice."""

import math

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, slider, value
from mathlm.plot.picture import axis, boxes, dots, legend, line, picture
from mathlm.reference import normal_log_density, sum_distribution


def cross_entropy_demo(p: float = 0.7) -> Demo:
    """Probability of the correct token to set; its loss in both units follows.

    Args:
        p: Initial probability, between 0.01 and 1.
    """
    if not 0.01 <= p <= 1:
        raise InputError(f"p={p} must lie between 0.01 and 1")
    loss = -np.log(p)
    return Demo(
        kind="cross-entropy",
        title="What one prediction costs, by the probability it gave to the truth",
        hint="Drag the point from 0.90 to 0.99, then from 0.01 to 0.10: where is the gain?",
        controls=slider("p", "probability of the correct token", 0.01, 1, 0.01, p)
        + button("reset", "reset"),
        view=f'<p class="still">Probability of the correct token {p:g}.</p>'
        + _loss_picture(p)
        + live_text(
            f"Loss {value('loss', f'{loss + 0.0:.2f}')} nats = "
            f"{value('bits', f'{loss / np.log(2) + 0.0:.2f}')} bits: as surprising as one of "
            f"{value('choices', f'{1 / p:.2f}')} equal choices. Gradient in its logit "
            f"{value('slope', f'{p - 1:.2f}'.replace('-', '−'))}."
        ),
        script=script_beside(__file__, "cross_entropy"),
    )


def dice_demo(n: int = 2) -> Demo:
    """Number of dice to set; the exact distribution of their sum and the bell curve follow.

    Args:
        n: Initial number of dice, 1 to 60.
    """
    if not 1 <= n <= 60:
        raise InputError(f"n={n} must be between 1 and 60")
    p, sd = sum_distribution(np.full(6, 1 / 6), n), np.sqrt(n * 35 / 12)
    bell = np.exp(normal_log_density(np.arange(len(p)), 2.5 * n, sd))
    gap = 100 * np.abs(p - bell).max() / p.max()
    return Demo(
        kind="dice",
        title="Sum of n dice: exact probabilities and the bell curve",
        hint="Raise n from 1: at which n do you stop seeing the difference?",
        controls=slider("n", "dice n", 1, 60, 1, n) + button("reset", "reset"),
        view=_dice_picture(p, n, sd)
        + f'<p class="still">n = {n} dice.</p>'
        + live_text(
            f"Mean {value('mean', f'{3.5 * n:.1f}')}, standard deviation "
            f"{value('sd', f'{sd:.2f}')}; largest gap to the curve "
            f"{value('gap', f'{gap:.1f}')} % of the peak."
        ),
        script=script_beside(__file__, "dice"),
    )


def _loss_picture(p: float) -> str:
    """-log p over p, with the chosen one."""
    grid = np.arange(1, 101) / 100
    return picture(
        "curve",
        "loss by the probability of the correct token",
        axis(0, 1, "probability of the correct token"),
        axis(0, 5, "loss [nats]"),
        [
            line(zip(grid, -np.log(grid), strict=True)),
            line([(p, 0), (p, -np.log(p))], "second", width=2),
            dots([(p, -np.log(p))], "second"),
        ],
        aspect=0.45,
    )


def _dice_picture(p: ndarray, n: int, sd: float) -> str:
    """Bars of the exact probabilities, and the normal curve over them."""
    s = (len(p) - 1) * np.arange(121) / 120
    bell = np.exp(normal_log_density(s, 2.5 * n, sd))
    middle = 1 / (sd * math.sqrt(2 * math.pi))
    bars = [(n + k - 0.5, 0, n + k + 0.5, h) for k, h in enumerate(p)]
    names = (("accent", "exact probability"), ("second", "normal curve"))
    return legend(names) + picture(
        "sums",
        "bars: probability of each sum; line: normal curve of the same mean and variance",
        axis(n - 0.5, 6 * n + 0.5, "sum of the eyes"),
        axis(0, 1.15 * max(p.max(), middle), "probability"),
        [
            boxes(bars, "accent", fade=0.45, gap=0 if n > 20 else 1),
            line(zip(n + s, bell, strict=True), "second"),
        ],
        aspect=0.45,
    )
