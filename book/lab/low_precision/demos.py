"""A moving demo of the scale of a loss in float16; its script is loss_scale.js."""

import numpy as np
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, slider, value

from .figures import LARGEST, NORMAL, ZERO

FATES = ("becomes 0", "blurred", "exact to 11 bits", "overflows")


def loss_scale_demo(sizes: ArrayLike, start: int = 0) -> Demo:
    """Move gradients along the axis of float16 by the scale of the loss.

    Args:
        sizes: Of gradients, above 0.
        start: Initial scale [powers of 2].
    """
    array = np.asarray(sizes, dtype=float)
    if not array.size or not (array > 0).all():
        raise InputError(f"{array.size} sizes: expected at least one, and all above 0")
    exponents = np.floor(np.log2(array)).astype(int)
    first = int(exponents.min())
    shares = np.bincount(exponents - first) / len(exponents)
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="wide">{bar("bar", share)}</td>'
        f"<td>{value('share', f'{100 * share:.2f} %')}</td></tr>"
        for name, share in zip(FATES, fates(exponents + start), strict=True)
    )
    return Demo(
        kind="loss-scale",
        title="Real gradients in float16, moved by the scale of the loss",
        hint="Move the scale up until nothing is lost, and on until something overflows.",
        state={"first": first, "shares": shares.tolist(), "ends": [ZERO, NORMAL, LARGEST]},
        controls=slider("scale", "scale of the loss, power of 2", -20, 40, 1, start)
        + button("reset", "reset"),
        view=f"<table><tbody>{rows}</tbody></table>"
        + live_text(f"The step: {value('fate', verdict(fates(exponents + start)))}."),
        script=script_beside(__file__, "loss_scale"),
        css=".mathlm-demo[data-demo=loss-scale] td.wide{width:50%}",
    )


def fates(exponents: np.ndarray) -> list[float]:
    """Shares of numbers, given by their exponents, that float16 loses, blurs, holds, breaks."""
    place = np.searchsorted([ZERO, NORMAL, LARGEST], exponents, side="right")
    return (np.bincount(place, minlength=4) / len(exponents)).tolist()


def verdict(shares: list[float]) -> str:
    """What becomes of a step."""
    if shares[3] > 0:
        return "at least one overflows: the step is skipped"
    return "more than one in a hundred is lost" if shares[0] > 0.01 else "nearly all arrive"


__all__ = ["loss_scale_demo"]
