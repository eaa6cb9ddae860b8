"""Groups of options that several commands share, as frozen dataclasses."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where the run computes, and in which numbers."""

    device: Literal["cpu", "cuda", "auto"] = "auto"
    """Where to run."""
    dtype: Literal["float32", "float64"] = "float32"
    """Of the weights."""
    precision: Literal["full", "bfloat16", "float16"] = "full"
    """Mixed precision: of the products."""
    compile: bool = False
    """Compile the model by torch.compile."""
    activation_checkpointing: bool = False
    """Forget activations and compute them again in the backward pass, to save memory."""
    parallel: Literal["sum", "ddp", "fsdp"] = "sum"
    """How processes share the work."""
    timeout: float = 60.0
    """Longest wait for another process [s]."""
