"""Text from a model, one token at a time."""

from .decoding import generate
from .sampling import draw, keep_top_k, keep_top_p, token_probabilities

__all__ = ["draw", "generate", "keep_top_k", "keep_top_p", "token_probabilities"]
