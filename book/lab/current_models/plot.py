"""What the page calls plot: its figures, and the style that it shares."""

from mathlm.plot import style

from .figures import cache_growth, capped_scores, growth_by_rate, window_masks

__all__ = ["cache_growth", "capped_scores", "growth_by_rate", "style", "window_masks"]
