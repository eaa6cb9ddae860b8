"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import forward_trace_demo, tiny_trace, translation_demo
from .figures import (
    alignments,
    batch_masks,
    cache_growth,
    letters_record,
    missing_pieces,
    smoothing_curves,
    transformer_map,
    translation_training,
    word_share,
)

__all__ = [
    "alignments",
    "batch_masks",
    "cache_growth",
    "forward_trace_demo",
    "letters_record",
    "missing_pieces",
    "smoothing_curves",
    "style",
    "tiny_trace",
    "transformer_map",
    "translation_demo",
    "translation_training",
    "word_share",
]
