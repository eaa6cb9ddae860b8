"""What the page calls plot: its figures, and the style."""

from mathlm.plot import style

from .figures import experts_read, losses_of_arms, sorted_loads

__all__ = ["experts_read", "losses_of_arms", "sorted_loads", "style"]
