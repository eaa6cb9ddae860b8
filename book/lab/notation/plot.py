"""What the page calls plot: its figure."""

from mathlm.plot import style

from .figures import layer_shapes

__all__ = ["layer_shapes", "style"]
