"""What the page calls plot: its figures and its demo."""

from mathlm.plot import style

from .demos import bands_demo
from .figures import collision_curves, packed_mask, pipeline_stages

__all__ = ["bands_demo", "collision_curves", "packed_mask", "pipeline_stages", "style"]
