"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import heads_demo, online_softmax_demo
from .figures import (
    attention_memory,
    cache_sizes,
    circuit_spectra,
    harm_by_pattern,
    head_harm,
    head_reads,
    lens_plane,
    lookups_by_heads,
    pruning_curves,
    recall_capacity,
    sharing,
    tile_plan,
)

__all__ = [
    "attention_memory",
    "cache_sizes",
    "circuit_spectra",
    "harm_by_pattern",
    "head_harm",
    "head_reads",
    "heads_demo",
    "lens_plane",
    "lookups_by_heads",
    "online_softmax_demo",
    "pruning_curves",
    "recall_capacity",
    "sharing",
    "style",
    "tile_plan",
]
