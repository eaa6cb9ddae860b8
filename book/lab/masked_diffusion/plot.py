"""What the page calls plot: its figures."""

from mathlm.plot import style

from .figures import curves

__all__ = ["curves", "style"]
