"""What models cost and how they improve with size."""

from .activations import saved_numbers
from .counts import kv_cache_bytes
from .flop_counts import flops_per_token, forward_flops, six_nd
from .intensity import arithmetic_intensity
from .memory import inference_memory, training_memory
from .parameters import count_parameters
from .published import PUBLISHED
from .training_time import training_days

__all__ = [
    "PUBLISHED",
    "arithmetic_intensity",
    "count_parameters",
    "flops_per_token",
    "forward_flops",
    "inference_memory",
    "kv_cache_bytes",
    "saved_numbers",
    "six_nd",
    "training_days",
    "training_memory",
]
