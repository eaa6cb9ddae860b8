"""Moving demos on preferences: three answers and one comparison, and where losses put it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, select, slider, value

from .preference_margins import (
    conservative_margin,
    dpo_margin,
    hinge_margin,
    ipo_margin,
    robust_margin,
)

STEP_SIZE, EXPECTED = 0.2, 0.1  # of descent; share of errors that conservative DPO expects
LOSSES = ("DPO", "conservative, ε = 0.1", "IPO", "hinge")
WINS = {"always": 1.0, "3 times in 4": 0.75}
PARAMETERS = {
    "a logit for each answer": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "one feature: A 1, B 2, C 0": ((1,), (2,), (0,)),
}
ROBUSTNESS = ("DPO", "conservative", "robust", "IPO", "hinge")


@dataclass(frozen=True)
class Answers:
    """Probabilities, log-ratios, margin, push and divergence after some steps."""

    p: np.ndarray
    ratio: np.ndarray
    margin: float
    push: float
    kl: float


def descended_answers(
    reference: Sequence[float | int],
    *,
    loss: int = 0,
    wins: int = 0,
    parameters: int = 0,
    beta: float | int = 1.0,
    steps: int = 30,
) -> Answers:
    """The numbers of :func:`three_answers_demo`: descent on one comparison of A and B."""
    f, p = pushes()[loss], list(WINS.values())[wins]
    phi = np.array(list(PARAMETERS.values())[parameters], dtype=float)
    start = np.log(reference)
    z = start.copy()

    def now() -> tuple[float, float]:
        m = float(beta * (z[0] - start[0] - z[1] + start[1]))
        return m, p * f(m, beta) - (1 - p) * f(-m, beta)

    for _ in range(steps):
        z = z + STEP_SIZE * beta * now()[1] * (phi @ (phi[0] - phi[1]))
    q = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
    ratio = np.log(q) - start
    return Answers(q, ratio, *now(), float(q @ ratio))


def pushes() -> tuple[Callable[[float, float | int], float], ...]:
    """Minus the slope of each loss of ``LOSSES`` in the margin, given the margin and β."""
    return (
        lambda m, beta: _sigmoid(-m),
        lambda m, beta: (1 - EXPECTED) * _sigmoid(-m) - EXPECTED * _sigmoid(m),
        lambda m, beta: 2 * (0.5 - m) / beta**2,
        lambda m, beta: float(m < 1),
    )


def three_answers_demo(
    reference: Sequence[float | int] = (0.3, 0.2, 0.5), beta: float = 1.0, steps: int = 30
) -> Demo:
    """Three answers of which A is preferred to B, as descent on a loss goes on.

    Args:
        reference: Probabilities of A, B and C, positive.
        beta: β at first.
        steps: At first.

    Raises:
        InputError: If there are not three probabilities that sum to 1.
    """
    if len(reference) != 3 or min(reference) <= 0 or abs(sum(reference) - 1) > 1e-9:
        raise InputError(f"reference={reference}: give three positive shares that sum to 1")
    found = descended_answers(reference, beta=beta, steps=steps)
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td>{ref:g}</td><td class="wide">{bar("bar", p)}</td>'
        f"<td>{value('p', f'{p:.3f}')}</td><td>{value('ratio', _shown(ratio))}</td></tr>"
        for name, ref, p, ratio in zip("ABC", reference, found.p, found.ratio, strict=True)
    )
    head = "".join(
        f'<th scope="col">{x}</th>' if x else "<td></td>"
        for x in ("answer", "π_ref", "", "π", "log π/π_ref")
    )
    return Demo(
        kind="three-answers",
        title="Three answers, one comparison: A is preferred to B",
        hint="Move the steps. Then let the answers share a feature: why does C gain?",
        state={
            "reference": list(reference),
            "wins": list(WINS.values()),
            "features": list(PARAMETERS.values()),
            "step": STEP_SIZE,
            "expected": EXPECTED,
        },
        controls=slider("steps", "steps", 0, 300, 1, steps)
        + slider("beta", "β", 0.1, 2, 0.1, beta)
        + select("loss", "loss", LOSSES)
        + select("wins", "A wins", list(WINS))
        + select("parameters", "parameters", list(PARAMETERS))
        + button("reset", "reset"),
        view=f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        + live_text(
            f"Margin {value('margin', _shown(found.margin))}: the policy says that A wins with "
            f"probability {value('says', _shown(_sigmoid(found.margin)))}. "
            f"The loss pushes with {value('push', _shown(found.push))}. "
            f"KL(π ‖ π_ref) = {value('kl', _shown(found.kl))} nats."
        ),
        script=script_beside(__file__, "three_answers"),
        css=".mathlm-demo[data-demo=three-answers] td.wide{width:38%}",
    )


def fixed_margins_demo(p: float = 0.9, share: float = 0.1) -> Demo:
    """What each loss makes of a pair whose first text is preferred with some probability.

    Args:
        p: How often it is preferred, at first.
        share: ε of the conservative and the robust loss, at first.
    """
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{value("margin", _shown(m))}</td>'
        f'<td class="wide">{bar("bar", _sigmoid(m))}</td>'
        f"<td>{value('says', _shown(_sigmoid(m)))}</td></tr>"
        for name, m in zip(ROBUSTNESS, fixed_margins(p, share), strict=True)
    )
    head = "".join(
        f'<th scope="col">{x}</th>' if x else "<td></td>"
        for x in ("loss", "margin", "", "σ(margin)")
    )
    return Demo(
        kind="fixed-margins",
        title="Where a loss puts the margin of a pair",
        hint="Make the preference certain. Which losses have no end?",
        controls=slider("p", "first text preferred, p", 0, 1, 0.01, p)
        + slider("share", "expected errors ε", 0, 0.45, 0.05, share)
        + button("reset", "reset"),
        view=f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        '<p class="demo-hint">The bar is the probability that the policy gives to the '
        "preference when its training has come to rest.</p>",
        script=script_beside(__file__, "fixed_margins"),
        css=".mathlm-demo[data-demo=fixed-margins] td.wide{width:48%}",
    )


def fixed_margins(p: float, share: float) -> tuple[float, ...]:
    """Margins at which the losses of ``ROBUSTNESS`` are least."""
    given = conservative_margin(p, share), robust_margin(p, share)
    return dpo_margin(p), *given, ipo_margin(p), hinge_margin(p)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def _shown(x: float) -> str:
    """Two digits, as the script writes them."""
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    text = f"{x:.2f}"
    return ("0.00" if text == "-0.00" else text).replace("-", "−")
