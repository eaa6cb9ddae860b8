"""What models cost and how they improve with size."""

from .counts import kv_cache_bytes

__all__ = ["kv_cache_bytes"]
