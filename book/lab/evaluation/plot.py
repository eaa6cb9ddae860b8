"""What the page calls plot: its figures, and those that it shares."""

from mathlm.plot import curve_panels, style

from .figures import coverage_curves, interval_dots, letter_bars, ratings, seen_and_fresh

__all__ = [
    "coverage_curves",
    "curve_panels",
    "interval_dots",
    "letter_bars",
    "ratings",
    "seen_and_fresh",
    "style",
]
