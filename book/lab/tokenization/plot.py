"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import merges_demo, tokens_demo
from .figures import (
    compression_by_vocabulary,
    fertility_bars,
    number_cuts,
    row_similarity,
    token_frequencies,
    trainer_growth,
    vocabulary_size_bits,
)

__all__ = [
    "compression_by_vocabulary",
    "fertility_bars",
    "merges_demo",
    "number_cuts",
    "row_similarity",
    "style",
    "token_frequencies",
    "tokens_demo",
    "trainer_growth",
    "vocabulary_size_bits",
]
