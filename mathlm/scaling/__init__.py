"""What models cost and how they improve with size."""

from .activations import saved_numbers
from .counts import kv_cache_bytes
from .flop_counts import flops_per_token, forward_flops, six_nd
from .intensity import arithmetic_intensity
from .memory import inference_memory, training_memory
from .parameters import count_parameters
from .pipeline import Task, idle_share, most_held, pipeline_tasks
from .published import PUBLISHED
from .recomputation import kept_with_segments
from .sharding import sharded_memory
from .training_time import training_days
from .utilization import flop_utilization
from .wires import tensor_parallel_overhead, tokens_to_hide
from .writing import decode_bytes, decode_limit

__all__ = [
    "PUBLISHED",
    "Task",
    "arithmetic_intensity",
    "count_parameters",
    "decode_bytes",
    "decode_limit",
    "flop_utilization",
    "flops_per_token",
    "forward_flops",
    "idle_share",
    "inference_memory",
    "kept_with_segments",
    "kv_cache_bytes",
    "most_held",
    "pipeline_tasks",
    "saved_numbers",
    "sharded_memory",
    "six_nd",
    "tensor_parallel_overhead",
    "tokens_to_hide",
    "training_days",
    "training_memory",
]
