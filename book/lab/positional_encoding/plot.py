"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import position_heatmap_demo, rotary_clock_demo
from .figures import (
    angle_arcs,
    by_token_distance,
    encoding_heatmap,
    frequency_bands,
    frequency_scaling,
    learned_geometry,
    loss_by_position,
    raw_index,
    relative_terms,
    sine_and_cosine,
)

__all__ = [
    "angle_arcs",
    "by_token_distance",
    "encoding_heatmap",
    "frequency_bands",
    "frequency_scaling",
    "learned_geometry",
    "loss_by_position",
    "position_heatmap_demo",
    "raw_index",
    "relative_terms",
    "rotary_clock_demo",
    "sine_and_cosine",
    "style",
]
