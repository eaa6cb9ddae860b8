"""What the page calls plot: its figures, and the style that it shares."""

from mathlm.plot import style

from .figures import memorization, regularizers, signal_by_depth

__all__ = ["memorization", "regularizers", "signal_by_depth", "style"]
