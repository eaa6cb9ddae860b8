"""What the page calls plot: its figures, and the style."""

from mathlm.plot import style

from .figures import chunk_work, decay_masks, recall_by_pairs

__all__ = ["chunk_work", "decay_masks", "recall_by_pairs", "style"]
