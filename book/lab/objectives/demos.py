"""Moving demos of the chapter on training objectives."""

import math

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, slider, value
from mathlm.plot.picture import axis, line, picture


def copied(mask: float, random: float, vocabulary: float | int, prior: float) -> float | None:
    """Probability that a perfect reader repeats the token it is shown; None = never asked."""
    drawn = (1 - mask) * random / vocabulary
    same, other = prior * (1 - mask - (1 - mask) * random + drawn), (1 - prior) * drawn
    return same / (same + other) if same + other > 0 else None


def hidden_token_demo() -> Demo:
    """Sliders for the three fates of a chosen token; what a perfect reader makes of it."""
    shares, copy = (0.8, 0.1, 0.1), copied(0.8, 0.5, 1000, 1e-3)
    assert copy is not None
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="wide">{bar("bar", share)}</td>'
        f"<td>{value('share', f'{100 * share:.1f} %')}</td></tr>"
        for name, share in zip(("masked", "random", "kept"), shares, strict=True)
    )
    answer = (
        f'<tr><th scope="row">repeats what is shown</th><td class="wide">'
        f"{bar('copy-bar', copy)}</td><td>{value('copy', f'{100 * copy:.1f} %')}</td></tr>"
    )
    return Demo(
        kind="hidden-token",
        title="A chosen token: masked, replaced or kept, and what follows from it",
        hint="Let all that is not masked be random, then kept; then make the word unlikely.",
        controls=slider("mask", "masked", 0, 100, 5, 80)
        + slider("random", "of the rest, random", 0, 100, 5, 50)
        + slider("vocabulary", "words", 1, 5, 0.5, 3)
        + slider("prior", "what the rest says of the word shown", -5, 0, 0.25, -3)
        + button("reset", "reset"),
        view=f"<table><tbody>{rows}{answer}</tbody></table>"
        + '<p class="still">With 80, 10 and 10 % and 1,000 words, a word that the rest of the '
        "text gives one chance in a thousand is repeated about every second time.</p>",
        script=script_beside(__file__, "hidden_token"),
    )


def slip_demo(slip: float | int = 0.01, back: float | int = 0.0, length: int = 100) -> Demo:
    """Sliders for how often a writer slips and returns; the share of lost texts drawn.

    Args:
        slip: Probability of a slip in one step.
        back: Probability of a return in one step.
        length: Steps.
    """
    if not (0 < slip <= 1 and 0 <= back <= 1 and length >= 1):
        raise InputError(f"slip={slip} must be in 0..1, above 0, back={back} in 0..1")
    lost, wrong, points, level = 0.0, 0.0, [(0.0, 0.0)], slip / (slip + back)
    for t in range(1, length + 1):
        lost = lost * (1 - back) + slip * (1 - lost)
        wrong += lost
        points.append((t, lost))
    drawn = picture(
        "curve",
        "share of texts that are lost by the step",
        axis(0, length, "step"),
        axis(0, 1, "share of texts that are lost"),
        [line([(0, level), (length, level)], "second", width=1.5, dash="5 4"), line(points)],
        aspect=0.45,
    )
    return Demo(
        kind="slips",
        title="One slip leads to the next, unless the writer comes back",
        hint="Make the text longer; then let the writer come back one time in ten.",
        controls=slider("slip", "slips a step", -4, 0, 0.25, math.log10(slip))
        + slider("back", "returns a step", 0, 100, 5, 100 * back)
        + slider("length", "steps", 10, 500, 10, length)
        + button("reset", "reset"),
        view=drawn
        + live_text(
            f"Lost at the end: {value('lost', f'{100 * lost:.1f} %')}; in the long run "
            f"(dashed) {value('level', f'{100 * level:.1f} %')}. Wrong steps in all: "
            f"{value('wrong', f'{wrong:.1f}')}, while the source writes "
            f"{value('forced', f'{slip * length:.1f}')}."
        ),
        script=script_beside(__file__, "slip"),
    )
