"""What the page calls plot: its figures, and the style that it shares."""

from mathlm.plot import style

from .figures import learning_curves, pass_curves, votes, weights_by_success, wrong_verifiers

__all__ = [
    "learning_curves",
    "pass_curves",
    "style",
    "votes",
    "weights_by_success",
    "wrong_verifiers",
]
