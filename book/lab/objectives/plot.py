"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import curve_panels, mask_panels, probe_table, reliability, style

from .demos import hidden_token_demo, slip_demo
from .figures import pattern_of_targets, predicted_measured, score_bars

__all__ = [
    "curve_panels",
    "hidden_token_demo",
    "mask_panels",
    "pattern_of_targets",
    "predicted_measured",
    "probe_table",
    "reliability",
    "score_bars",
    "slip_demo",
    "style",
]
