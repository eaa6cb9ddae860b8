"""What the page calls plot: its figures and its demo."""

from mathlm.plot import style

from .demos import samples_demo
from .figures import (
    bits_by_order,
    bits_in_context,
    bits_in_word,
    long_run,
    schedule_and_loss,
)

__all__ = [
    "bits_by_order",
    "bits_in_context",
    "bits_in_word",
    "long_run",
    "samples_demo",
    "schedule_and_loss",
    "style",
]
