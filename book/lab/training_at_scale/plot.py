"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import loss_scale_demo, pipeline_demo, zero_memory_demo
from .figures import (
    gradient_histogram,
    memory_against_time,
    pipeline_rows,
    rounding_errors,
    running_sums,
    segment_memory,
    sending_shares,
    sent_bytes,
    sixteen_bit_runs,
    spread_of_runs,
)

__all__ = [
    "gradient_histogram",
    "loss_scale_demo",
    "memory_against_time",
    "pipeline_demo",
    "pipeline_rows",
    "rounding_errors",
    "running_sums",
    "segment_memory",
    "sending_shares",
    "sent_bytes",
    "sixteen_bit_runs",
    "spread_of_runs",
    "style",
    "zero_memory_demo",
]
