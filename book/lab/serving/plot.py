"""What the page calls plot: its figures, and the style."""

from mathlm.plot import style

from .figures import batch_timelines, gap_curves, latency_by_load

__all__ = ["batch_timelines", "gap_curves", "latency_by_load", "style"]
