"""Moving demos of probability: what a prediction costs, and sums of dice."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, slider, value
from mathlm.reference import normal_log_density, sum_distribution

WIDTH, HEIGHT = 480, 160
SVG_CSS = (
    "{0} svg{{width:100%;max-width:34rem}}{0} .truth{{fill:var(--line)}}"
    "{0} .bell{{fill:none;stroke:var(--second);stroke-width:2.5}}"
)


def cross_entropy_demo(p: float = 0.7) -> Demo:
    """Probability of the correct token to set; its loss in both units follows.

    Args:
        p: Initial probability, between 0.01 and 1.
    """
    if not 0.01 <= p <= 1:
        raise InputError(f"p={p} must lie between 0.01 and 1")
    loss, most = -np.log(p), np.log(100)
    return Demo(
        kind="cross-entropy",
        title="What one prediction costs, by the probability it gave to the truth",
        hint="Go from 0.90 to 0.99, then from 0.01 to 0.10: where is the gain?",
        controls=slider("p", "probability of the correct token", 0.01, 1, 0.01, p)
        + button("reset", "reset"),
        view=f'<p class="still">Probability of the correct token {p:g}.</p>'
        f"<p>{bar('bar', min(loss / most, 1))}</p>"
        + live_text(
            f"Loss {value('loss', f'{loss + 0.0:.2f}')} nats = "
            f"{value('bits', f'{loss / np.log(2) + 0.0:.2f}')} bits: as surprising as one of "
            f"{value('choices', f'{1 / p:.2f}')} equal choices. Gradient in its logit "
            f"{value('slope', f'{p - 1:.2f}'.replace('-', '−'))}."
        ),
        script=script_beside(__file__, "cross_entropy"),
        state={"most": float(most)},
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
        view=_dice_picture(p, bell)
        + f'<p class="still">n = {n} dice.</p>'
        + live_text(
            f"Mean {value('mean', f'{3.5 * n:.1f}')}, standard deviation "
            f"{value('sd', f'{sd:.2f}')}; largest gap to the curve "
            f"{value('gap', f'{gap:.1f}')} % of the peak."
        ),
        script=script_beside(__file__, "dice"),
        state={"width": WIDTH, "height": HEIGHT},
        css=SVG_CSS.format(".mathlm-demo[data-demo=dice]"),
    )


def _svg(label: str, content: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{content}</svg>'
    )


def _dice_picture(p: ndarray, bell: ndarray) -> str:
    top, step = p.max() / 0.95, WIDTH / len(p)
    heights = HEIGHT * (1 - p / top)
    steps = "".join(
        f"L{step * s:.2f} {h:.2f}L{step * (s + 1):.2f} {h:.2f}" for s, h in enumerate(heights)
    )
    points = [
        f"{step * (s + 0.5):.2f} {HEIGHT * (1 - b / top):.2f}" for s, b in enumerate(bell)
    ]
    return _svg(
        "Steps: probability of each sum. Line: normal curve of the same mean and variance",
        f'<path class="truth" data-name="steps" d="M0 {HEIGHT}{steps}L{WIDTH} {HEIGHT}Z"/>'
        f'<path class="bell" data-name="bell" d="M{"L".join(points)}"/>',
    )
