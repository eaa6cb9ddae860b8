"""A record of a run as one line that a person reads."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

FIRST = ("loss", "held_out_loss", "held_out_loss_ema", "lr", "grad_norm")
WORDS = {
    "held_out_loss": "held-out loss",
    "held_out_loss_ema": "held-out loss of the mean weights",
}
QUIET = {"step", "skipped", "chosen_change", "rejected_change"}  # these are in the history


@dataclass(frozen=True, kw_only=True)
class LogLines:
    """How the lines of a run's log are worded; it changes nothing else.

    Args:
        unit: What the loss is a mean over, in the plural: the speed is said in it.
        first_loss: What the first loss should be where theory knows it, said beside it; None
            where it does not.
        because: Where that value comes from, such as ``ln 256``.

    Example:
        >>> LogLines(first_loss=5.545, because="ln 256").expectation
        ' (expected about ln 256 = 5.545)'
    """

    unit: str = "targets"
    first_loss: float | int | None = None
    because: str = ""

    @property
    def expectation(self) -> str:
        """What stands behind the first loss."""
        if self.first_loss is None:
            return ""
        source = f"{self.because} = " if self.because else ""
        return f" (expected about {source}{number(self.first_loss)})"


def number(x: float | int) -> str:
    """Four digits, or two and a power of ten where the number is small or large."""
    if x == 0 or not math.isfinite(x):
        return f"{x:g}"
    return f"{x:.4g}" if 1e-3 <= abs(x) < 1e4 else power(x)


def power(x: float | int) -> str:
    """Two digits and a power of ten: 3.0e-4."""
    mantissa, exponent = f"{x:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def rate(x: float | int) -> str:
    """Three digits, of thousands or millions where there are as many."""
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if x >= 0.9995 * size:
            return f"{x / size:.3g}{sign}"
    return f"{x:.3g}"


def duration(seconds: float | int) -> str:
    """A time in the unit that fits it."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours / 24:.0f} days"


def log_line(
    record: Mapping[str, int | float],
    steps: int,
    speed: float | int,
    seconds_left: float | int,
    style: LogLines,
) -> str:
    """One line for a record: where the run is, how good, how fast, and how long it takes.

    Args:
        record: Of the history; ``step`` and ``loss`` are in it.
        steps: Of the whole run.
        speed: Units of ``style`` per second.
        seconds_left: Until the last step.
        style: Words of the run.
    """
    names = [name for name in FIRST if name in record]
    names += [name for name in record if name not in (*FIRST, *QUIET)]
    words = [f"step {record['step']} of {steps}", *(said(n, record[n]) for n in names)]
    if record["step"] == 1:
        words[1] += style.expectation
    if "skipped" in record:
        words.append("skipped: the gradient overflowed")
    words.append(f"{rate(speed)} {style.unit}/s")
    if record["step"] < steps:
        words.append(f"{duration(seconds_left)} left")
    return "  ".join(words)


def said(name: str, value: float | int) -> str:
    """A value with its name."""
    written = power(value) if name == "lr" and value else number(value)
    return f"{WORDS.get(name, name.replace('_', ' '))} {written}"


__all__ = ["LogLines", "log_line"]
