"""What a command says at its end: a short table of what it found, where it is, what follows."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..train.log_line import duration, number

log = logging.getLogger(__name__)
Row = tuple[str, ...]
LABELS = {  # what is shown; the rest stands in the record
    "held_out_loss": "held-out loss [nats/token]",
    "held_out_loss_ema": "of the mean weights [nats/token]",
    "bits_per_byte": "held-out loss [bits/byte]",
    "bits_per_byte_ema": "of the mean weights [bits/byte]",
    "loss": "held-out loss [nats/pair]",
    "accuracy": "accuracy on held-out pairs",
    "length_accuracy": "accuracy of length alone",
    "calibration": "calibration error",
    "margin": "margin of held-out answers [reward]",
    "chosen_change": "chosen answers against reference [nats]",
    "rejected_change": "rejected answers against reference [nats]",
    "reward": "reward",
    "kl": "KL from the reference [nats/text]",
    "kl_k1": "KL from the reference [nats/text]",
    "entropy": "entropy [nats/token]",
    "length": "length of answers [tokens]",
    "finished": "share of answers that end",
}


def values(found: Mapping[str, Any]) -> list[Row]:
    """A row for each number that has a name here."""
    return [(label, number(found[name])) for name, label in LABELS.items() if name in found]


def compared(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Row]:
    """A row for each number that is known before and after, below a head; none if none is."""
    both = [name for name in LABELS if name in before and name in after]
    rows = [(LABELS[name], number(before[name]), number(after[name])) for name in both]
    return [("", "before", "after"), *rows] if rows else []


def left_out(counts: Mapping[str, int] | int) -> list[Row]:
    """What was dropped, by reason; no row if nothing was."""
    if isinstance(counts, int):
        return [("left out", f"{counts:,}")] if counts else []
    said = ", ".join(f"{count:,} {reason}" for reason, count in counts.items() if count)
    return [("left out", said)] if said else []


def places(seconds: float, following: Sequence[str] = (), **where: Any) -> list[Row]:
    """How long it took, where things were written, and the commands that come next.

    Args:
        seconds: Time of the run [s].
        following: Commands.
        where: Places by name; those that are None were not written.
    """
    rows: list[Row] = [("time", duration(seconds))]
    rows += [(name.replace("_", " "), str(at)) for name, at in where.items() if at is not None]
    return rows + [("next" if i == 0 else "", words) for i, words in enumerate(following)]


def table(rows: Iterable[Row]) -> str:
    """Rows as columns; the last cell of a row may be as long as it likes."""
    rows = list(rows)
    most = max(map(len, rows), default=0)
    columns = [[row[i] for row in rows if len(row) > i + 1] for i in range(most)]
    widths = [max(map(len, column), default=0) for column in columns]
    lines = [
        "   ".join(
            cell.ljust(width if i + 1 < len(row) else 0)
            for i, (cell, width) in enumerate(zip(row, widths, strict=False))
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def say(*parts: Iterable[Row]) -> None:
    """Log a table of the rows of all parts, below an empty line."""
    log.info("\n%s", table(row for part in parts for row in part))
