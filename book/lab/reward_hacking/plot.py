"""What the page calls plot: its figures, and the style that it shares."""

from mathlm.plot import style

from .figures import overoptimization, steered_runs

__all__ = ["overoptimization", "steered_runs", "style"]
