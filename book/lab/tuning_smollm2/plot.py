"""What the page calls plot."""

from mathlm.plot import style

from .figures import training_curve

__all__ = ["style", "training_curve"]
