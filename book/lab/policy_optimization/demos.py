"""Moving demos on policies: what clipping does to a ratio, how a price tilts a reference."""

import math
from collections.abc import Sequence

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, select, slider, value
from mathlm.plot.picture import axis, dots, legend, line, picture

PRICES = tuple(round(10 ** (i / 10), 2) for i in range(-12, 11))  # 0.06 … 10 reward/nat


def clipped(rho: float | int, sign: int, clip: float | int) -> float:
    """The gain of one sample: the smaller of ρA and the clipped ratio times A."""
    return min(rho * sign, min(1 + clip, max(1 - clip, rho)) * sign)


def clip_demo(rho: float | int = 1.4, clip: float | int = 0.2) -> Demo:
    """What a sample gains by its ratio, with clipping, for an advantage of either sign.

    Args:
        rho: Ratio at the start, from 0 to 2.
        clip: ε at the start, from 0.05 to 0.5.
    """
    grid = [i / 50 for i in range(101)]
    gain, ends = clipped(rho, 1, clip), (-0.1, 2.1)
    rules = ((1, ""), (1 - clip, "4 4"), (1 + clip, "4 4"))
    marks = [line([(r, g) for g in ends], "soft", width=1, dash=dash) for r, dash in rules]
    names = (("accent", "with clipping"), ("second", "without", "dashed"))
    drawn = legend(names) + picture(
        "plane",
        "gain by ratio",
        axis(0, 2, "ratio ρ"),
        axis(ends[0], ends[1], "gain"),
        [
            *marks,
            line([(0, 0), (2, 2)], "second", width=1.5, dash="6 4"),
            line([(r, clipped(r, 1, clip)) for r in grid], width=3),
            dots([(rho, gain)], "fg", size=6),
        ],
        aspect=0.6,
    )
    rho_slider = slider("rho", "ratio ρ", 0, 200, 1, round(100 * rho))
    clip_slider = slider("clip", "clip ε", 5, 50, 1, round(100 * clip))
    for name, x in (("rho", rho), ("clip", clip)):
        old, new = f'{name}-value">{round(100 * x)}<', f'{name}-value">{x:.2f}<'
        rho_slider, clip_slider = rho_slider.replace(old, new), clip_slider.replace(old, new)
    pull = "none, the sample is cut" if rho > 1 + clip else "up"
    return Demo(
        kind="clipped-ratio",
        title="What a sample gains by its ratio",
        hint="Drag the point to both sides of 1, then change the sign of the advantage.",
        controls=rho_slider
        + select("sign", "advantage", ["A = +1", "A = −1"])
        + clip_slider
        + button("reset", "reset"),
        view=drawn
        + live_text(
            f"ρA = {value('plain', f'{rho:.2f}')}, "
            f"with clipping {value('gain', f'{gain:.2f}')}. "
            f"Pull on the probability of the sample: {value('pull', pull)}."
        ),
        script=script_beside(__file__, "clip"),
    )


def tilted(
    logp: Sequence[float | int], rewards: Sequence[float | int], beta: float | int
) -> tuple[list[float], float, float]:
    """The optimum for a price, its mean reward and its divergence."""
    scores = [a + r / beta for a, r in zip(logp, rewards, strict=True)]
    best = max(scores)
    w = [math.exp(s - best) for s in scores]
    p = [v / sum(w) for v in w]
    mean = sum(q * r for q, r in zip(p, rewards, strict=True))
    kl = sum(q * (math.log(q) - a) for q, a in zip(p, logp, strict=True) if q > 0)
    return p, mean, kl


def require_completions(
    texts: Sequence[str], logp: Sequence[float | int], rewards: Sequence[float | int]
) -> None:
    """Refuse lists that do not fit, and a reference that is no distribution."""
    if not len(texts) == len(logp) == len(rewards) > 1:
        raise InputError(
            f"{len(texts)} texts, {len(logp)} probabilities, {len(rewards)} rewards: give one "
            "of each for two texts or more"
        )
    if abs(sum(math.exp(a) for a in logp) - 1) > 1e-6:
        raise InputError("the probabilities of the reference do not sum to 1")


def table_of(
    texts: Sequence[str],
    logp: Sequence[float | int],
    rewards: Sequence[float | int],
    p: Sequence[float],
) -> str:
    """A row for each completion: its reward, and both probabilities."""
    rows = "".join(
        f'<tr><th scope="row">{text}</th><td>{_signed(r)}</td><td>{100 * math.exp(a):.1f}</td>'
        f'<td class="wide">{bar("bar", q)}</td><td>{value("p", f"{100 * q:.1f}")}</td></tr>'
        for text, a, r, q in zip(texts, logp, rewards, p, strict=True)
    )
    return (
        "<table><thead><tr><th>answer</th><th>reward</th><th>π_ref [%]</th>"
        f"<th>π*</th><th>[%]</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _signed(x: float | int) -> str:
    return f"{x:+.2f}".replace("-", "−")


def _plane(
    optima: list[tuple[float, float]], at: tuple[float, float], x: float, y: Sequence[float]
) -> str:
    """The picture of reward by divergence, with the optima and the one that is chosen."""
    return legend((("accent", "best policies of all prices"), ("second", "of this price"))) + (
        picture(
            "plane",
            "reward by divergence",
            axis(0, x, "divergence from the reference [nats]"),
            axis(y[0], y[1], "mean reward"),
            [line(optima), dots([at], "second", size=7)],
            aspect=0.55,
        )
    )


def tilted_policy_demo(
    texts: Sequence[str],
    logp: Sequence[float | int],
    rewards: Sequence[float | int],
    price: int = 9,
) -> Demo:
    """The best policy for each price β on leaving the reference, on a few completions.

    Args:
        texts: The completions.
        logp: log π_ref of each [nats]; together they are all that can be said.
        rewards: r of each.
        price: Index into ``PRICES`` at the start.

    Raises:
        InputError: If the lists differ in length, or the reference does not sum to 1.
    """
    require_completions(texts, logp, rewards)
    beta = PRICES[price]
    p, mean, kl = tilted(logp, rewards, beta)
    points = [tilted(logp, rewards, b)[1:] for b in PRICES]
    most = max(x for _, x in points) * 1.05
    low, high = min(y for y, _ in points) - 0.1, max(rewards) + 0.1
    span = high - low
    optima = [(x, y) for y, x in points]
    beta_slider = slider("beta", "price β", 0, len(PRICES) - 1, 1, price)
    return Demo(
        kind="tilted-policy",
        title="The best policy for a price on leaving the reference",
        hint="Lower the price and see the answer that it ends with.",
        state={
            "prices": PRICES,
            "logp": list(logp),
            "rewards": list(rewards),
            "most": most,
            "low": low,
            "span": span,
            "optima": optima,
        },
        controls=beta_slider.replace(f'beta-value">{price}<', f'beta-value">{beta:.2f}<')
        + button("reset", "reset"),
        view=table_of(texts, logp, rewards, p)
        + _plane(optima, (kl, mean), most, (low, high))
        + live_text(
            f"Mean reward {value('reward', f'{mean:.2f}')}, divergence "
            f"{value('kl', f'{kl:.2f}')} nats, reward less price times divergence "
            f"{value('value', f'{mean - beta * kl:.2f}')}."
        ),
        script=script_beside(__file__, "tilted_policy"),
        css=".mathlm-demo[data-demo=tilted-policy] tbody th{white-space:normal}"
        ".mathlm-demo[data-demo=tilted-policy] td.wide{width:35%}",
    )
