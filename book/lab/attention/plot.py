"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import attention_weights_demo, query_key_demo, softmax_temperature_demo
from .figures import (
    attention_cost,
    attention_patterns,
    bottleneck,
    kernel_regression,
    recall_by_learning_rate,
    saturation,
    temperature_sweep,
    value_plane,
)

__all__ = [
    "attention_cost",
    "attention_patterns",
    "attention_weights_demo",
    "bottleneck",
    "kernel_regression",
    "query_key_demo",
    "recall_by_learning_rate",
    "saturation",
    "softmax_temperature_demo",
    "style",
    "temperature_sweep",
    "value_plane",
]
