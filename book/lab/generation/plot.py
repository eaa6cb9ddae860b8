"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import curve_panels, style

from .demos import next_token_demo, replay_demo
from .figures import ranked_cuts, settings_planes, surprise_lines, vote_curves

__all__ = [
    "curve_panels",
    "next_token_demo",
    "ranked_cuts",
    "replay_demo",
    "settings_planes",
    "style",
    "surprise_lines",
    "vote_curves",
]
