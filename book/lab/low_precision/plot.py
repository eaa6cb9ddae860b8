"""What the page calls plot: its figures and its demo."""

from mathlm.plot import style

from .demos import loss_scale_demo
from .figures import (
    block_errors,
    gradient_histogram,
    rounding_errors,
    running_sums,
    sixteen_bit_runs,
)

__all__ = [
    "block_errors",
    "gradient_histogram",
    "loss_scale_demo",
    "rounding_errors",
    "running_sums",
    "sixteen_bit_runs",
    "style",
]
