"""A moving demo on budgets: the loss along one, its lowest point, and what missing it costs."""

import math
from collections.abc import Mapping
from dataclasses import fields

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, select, slider, value
from mathlm.plot.picture import axis, dots, legend, line, picture
from mathlm.scaling import ChinchillaLaw, KaplanLaw, optimal_allocation

STEPS = 120
Law = ChinchillaLaw | KaplanLaw
WORDS = ("", "thousand ", "million ", "billion ", "trillion ", "quadrillion ")
PUBLISHED_LAWS = {
    "Hoffmann et al., as printed": ChinchillaLaw(
        A=406.4, B=410.7, E=1.69, alpha=0.34, beta=0.28
    ),
    "Besiroglu et al., fitted again": ChinchillaLaw(
        A=482.01, B=2085.43, E=1.8172, alpha=0.3478, beta=0.3658
    ),
}


def constants(law: Law) -> dict[str, float]:
    """The numbers of a law; a fit holds its runs as well."""
    kind = ChinchillaLaw if isinstance(law, ChinchillaLaw) else KaplanLaw
    return {field.name: getattr(law, field.name) for field in fields(kind)}


def isoflop_demo(
    laws: Mapping[str, Law] | None = None,
    budgets: tuple[int, int] = (17, 26),
    budget: float | int = 21,
) -> Demo:
    """Loss along a budget of compute, the best size, and what another size loses.

    Args:
        laws: Name -> law; those that were published if None.
        budgets: Powers of ten between which the budget can be set [FLOP].
        budget: Power of ten at the start.

    Raises:
        InputError: If no law is given, or the start is outside the budgets.
    """
    named: dict[str, Law] = dict(PUBLISHED_LAWS if laws is None else laws)
    if not named or not budgets[0] <= budget <= budgets[1]:
        raise InputError(
            f"{len(named)} laws, a start at 10^{budget} and budgets from 10^{budgets[0]} to "
            f"10^{budgets[1]}: give one law or more, and a start between them"
        )
    x, y = ranges(list(named.values()), budgets)
    law, compute = next(iter(named.values())), 10.0**budget
    n, d = optimal_allocation(compute, law)
    exponent = slider("budget", "budget, power of ten of FLOP", *budgets, 0.1, budget)
    return Demo(
        kind="isoflop",
        title="The loss along a budget of compute, and the best size",
        hint="Raise the budget and watch the tokens per parameter; then take another size.",
        state={"laws": [constants(one) for one in named.values()], "x": x, "y": y},
        controls=exponent.replace(f'budget-value">{budget:g}<', f'budget-value">{budget:.1f}<')
        + slider("ratio", "size over the best one", -4, 4, 1, 0).replace(
            'ratio-value">0<', 'ratio-value">1<'
        )
        + select("law", "law", list(named))
        + button("reset", "reset"),
        view=legend((("accent", "loss"), ("third", "best size"), ("second", "size taken")))
        + _curve(law, compute, x, y)
        + live_text(
            f"With 10<sup>{value('power', f'{budget:.1f}')}</sup> FLOP: "
            f"{value('n', amount(n))}parameters on {value('d', amount(d))}tokens, "
            f"{value('per', amount(d / n))}to a parameter: a loss of "
            f"{value('loss', f'{law.loss([n], [d])[0]:.3f}')} nats, "
            f"{value('missed', '0.000')} above the lowest of this budget."
        ),
        script=script_beside(__file__, "isoflop"),
    )


def ranges(laws: list[Law], budgets: tuple[int, int]) -> tuple[list, list]:
    """Powers of ten of the sizes, and losses, that the picture spans."""
    ends = [(law, *optimal_allocation(10.0**b, law)) for law in laws for b in budgets]
    sizes = [math.log10(n) for _, n, _ in ends]
    losses = [float(law.loss([n], [d])[0]) for law, n, d in ends]
    x = [math.floor(min(sizes)) - 1, math.ceil(max(sizes)) + 1]
    floors = [law.E if isinstance(law, ChinchillaLaw) else min(losses) for law in laws]
    return x, [min(floors), 1.1 * max(losses)]


def _curve(law: Law, compute: float, x: list, y: list) -> str:
    """The curve, its lowest point and the chosen size, as the script draws them."""
    sizes = [10 ** (x[0] + (x[1] - x[0]) * i / STEPS) for i in range(STEPS + 1)]
    losses = law.loss(sizes, [compute / 6 / n for n in sizes])
    n, d = optimal_allocation(compute, law)
    lowest = [(n, float(law.loss([n], [d])[0]))]
    return picture(
        "plane",
        "loss by parameters along one budget",
        axis(10.0 ** x[0], 10.0 ** x[1], "parameters N", log=True),
        axis(y[0], y[1], "loss [nats]"),
        [
            line(zip(sizes, losses, strict=True)),
            dots(lowest, "third", size=9, fade=0.5),
            dots(lowest, "second"),
        ],
        aspect=0.6,
    )


def amount(x: float) -> str:
    """A number in words of thousands, as the script writes it."""
    group = min(len(WORDS) - 1, max(0, math.floor(math.log10(x) / 3 + 1e-9)))
    v = x / 10 ** (3 * group)
    return f"{v:.{2 if v < 10 else 1 if v < 100 else 0}f} {WORDS[group]}"
