"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import pipeline_demo, zero_memory_demo
from .figures import (
    pipeline_rows,
    segment_memory,
    sending_shares,
    sent_bytes,
)

__all__ = [
    "pipeline_demo",
    "pipeline_rows",
    "segment_memory",
    "sending_shares",
    "sent_bytes",
    "style",
    "zero_memory_demo",
]
