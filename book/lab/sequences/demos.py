"""Moving demos of recurrence: three steps of a state, and a weight raised to a power."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import (
    RAISED,
    Demo,
    bar,
    button,
    live_text,
    number,
    scientific,
    script_beside,
    slider,
    value,
)
from mathlm.plot.picture import axis, dots, line, picture


def rnn_trace_demo(
    W: Sequence[Sequence[float]] = ((0.5, 0.1), (0.2, 0.6)),
    U: Sequence[float] = (0.3, 0.4),
    inputs: Sequence[float] = (1.0, -1.0, 2.0),
) -> Demo:
    """Inputs to edit and a factor on the recurrent weight; the states follow step by step.

    Args:
        W: Recurrent weights, 2 by 2.
        U: Input weights, 2.
        inputs: x₁ … x_T at the start, between -5 and 5.
    """
    if np.shape(W) != (2, 2) or np.shape(U) != (2,) or not len(inputs):
        raise InputError(
            f"W has shape {np.shape(W)}, U {np.shape(U)}, and there are {len(inputs)} inputs; "
            "expected (2, 2), (2,) and at least one"
        )
    h, rows = np.zeros(2), ""
    span: dict[str, Any] = {"low": -5.0, "high": 5.0, "step": 0.5, "hidden_label": True}
    for t, x in enumerate(inputs, start=1):
        h = np.tanh(np.asarray(W) @ h + np.asarray(U) * x)
        cells = "".join(
            f'<td class="half">{bar(f"bar{i}", (1 + h[i - 1]) / 2)}</td>'
            f"<td>{value(f'h{i}', _signed(h[i - 1], 3))}</td>"
            for i in (1, 2)
        )
        rows += (
            f'<tr><th scope="row">{t}</th><td><span class="still">{x:g}</span>'
            f"{number('x', f'input at step {t}', x, **span)}</td>{cells}</tr>"
        )
    return Demo(
        kind="rnn-trace",
        title="One cell, three steps: change an input and see what the last state knows of it",
        hint="Change the first input. Then lower the factor on W: the last state forgets it.",
        state={"W": np.asarray(W).tolist(), "U": list(U), "T": len(inputs)},
        controls=slider("gain", "factor on W", 0, 3, 0.05, 1) + button("reset", "reset"),
        view='<table><thead><tr><th>step</th><th>input</th><th colspan="2">first entry of h'
        '</th><th colspan="2">second entry of h</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        + live_text(
            f"The last state is {value('last', f'({_signed(h[0], 3)}, {_signed(h[1], 3)})')}. "
            "A half-full bar is zero."
        ),
        script=script_beside(__file__, "rnn_trace"),
        css=".mathlm-demo[data-demo=rnn-trace] input[type=number]{width:4.6rem}"
        ".mathlm-demo[data-demo=rnn-trace] td.half{width:22%}",
    )


def weight_power_demo(
    eigenvalue: float | int = 0.9, slope: float | int = 1.0, steps: int = 50
) -> Demo:
    """An eigenvalue, a mean slope of tanh and a length; the factor on the gradient follows.

    Args:
        eigenvalue: λ at the start, 0.1 to 2.
        slope: Mean of 1 - h², 0.1 to 1.
        steps: Length T of the sequence, 2 to 200.
    """
    if not (0.1 <= eigenvalue <= 2 and 0.1 <= slope <= 1 and 2 <= steps <= 200):
        raise InputError(
            f"eigenvalue={eigenvalue}, slope={slope}, steps={steps}: expected 0.1 to 2, 0.1 to "
            "1 and 2 to 200"
        )
    rate = eigenvalue * slope
    log10 = (steps - 1) * np.log10(rate)
    verb, pace = "halves" if rate < 1 else "doubles", abs(np.log(rate))
    half = "stays as it is"
    if abs(rate - 1) >= 1e-9:
        half = f"{verb} every {np.log(2) / pace:.1f} steps"
    return Demo(
        kind="weight-power",
        title="A factor for every step: what is left of a gradient after T steps",
        hint="Find the factor that leaves something after 100 steps. How wide is the range?",
        controls=slider("eigenvalue", "eigenvalue", 0.1, 2, 0.01, eigenvalue)
        + slider("slope", "mean slope of tanh", 0.1, 1, 0.01, slope)
        + slider("steps", "steps T", 2, 200, 1, steps)
        + button("reset", "reset"),
        view=_size_picture(rate, steps)
        + f'<p class="still">Eigenvalue {eigenvalue:g}, slope {slope:g}, {steps} steps.</p>'
        + live_text(
            f"Factor a step {value('rate', f'{rate:.3f}')}: the gradient "
            f"{value('half', half)}. After T − 1 steps it is multiplied by "
            f"{value('power', power_of_ten(float(log10)))}."
        ),
        script=script_beside(__file__, "weight_power"),
    )


def _size_picture(rate: float, steps: int) -> str:
    """The size of a gradient on its way back, on a scale of powers of ten."""
    last = min(1e12, max(1e-12, rate ** (steps - 1)))
    return picture(
        "size",
        "size of the gradient by the steps that it has gone back",
        axis(0, 200, "steps back"),
        axis(1e-12, 1e12, "size of the gradient, at first 1", log=True),
        [
            line([(0, 1), (200, 1)], "soft", width=1, dash="4 4"),
            line([(t, rate**t) for t in range(steps)]),
            dots([(steps - 1, last)], "second", size=6),
        ],
        aspect=0.45,
    )


def power_of_ten(log10: float) -> str:
    """10^log10 as a reader expects it, also where it is too small for a float.

    Args:
        log10: Logarithm to base 10.
    """
    if abs(log10) < 4:
        return scientific(10**log10)
    k = math.floor(log10 + 1e-12)
    mantissa = f"{10 ** (log10 - k):.1f}"
    if mantissa == "10.0":
        mantissa, k = "1.0", k + 1
    return f"{mantissa} × 10{str(k).translate(RAISED)}"


def _signed(x: float, digits: int) -> str:
    """A number with a real minus sign, and no minus zero, as the script writes it."""
    return f"{round(x, digits) + 0.0:.{digits}f}".replace("-", "−")


__all__ = ["rnn_trace_demo", "weight_power_demo"]
