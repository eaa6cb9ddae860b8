"""What the page calls plot: figures that it shares with other pages."""

from lab.objectives.figures import predicted_measured
from mathlm.plot import curve_panels, reliability, style

__all__ = ["curve_panels", "predicted_measured", "reliability", "style"]
