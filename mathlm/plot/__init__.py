"""Figures and moving demos: ``plot.name(...)`` and ``plot.name_demo(...)``."""

from . import style
from .attention import (
    attention_cost,
    attention_map,
    attention_patterns,
    bottleneck,
    kernel_regression,
    recall_by_learning_rate,
    saturation,
    temperature_sweep,
    value_plane,
)
from .attention_demos import (
    attention_weights_demo,
    query_key_demo,
    softmax_temperature_demo,
)
from .demo import Demo
from .linear_algebra import (
    cloud_axes,
    collapse,
    eigen_and_singular,
    gain_by_rank,
    neighbors_kept,
    norm_balls,
    spectra,
    square_images,
    two_bases,
    word_map,
)
from .linear_algebra_demos import matrix_demo, pca_demo
from .pretraining import (
    bits_by_order,
    bits_in_context,
    bits_in_word,
    long_run,
    samples_demo,
    schedule_and_loss,
)

__all__ = [
    "Demo",
    "attention_cost",
    "attention_map",
    "attention_patterns",
    "attention_weights_demo",
    "bits_by_order",
    "bits_in_context",
    "bits_in_word",
    "bottleneck",
    "cloud_axes",
    "collapse",
    "eigen_and_singular",
    "gain_by_rank",
    "kernel_regression",
    "long_run",
    "matrix_demo",
    "neighbors_kept",
    "norm_balls",
    "pca_demo",
    "query_key_demo",
    "recall_by_learning_rate",
    "samples_demo",
    "saturation",
    "schedule_and_loss",
    "softmax_temperature_demo",
    "spectra",
    "square_images",
    "style",
    "temperature_sweep",
    "two_bases",
    "value_plane",
    "word_map",
]
