"""Text from a model, one token at a time."""

from .beam import Hypothesis, beam_search
from .decoding import generate
from .sampling import draw, keep_top_k, keep_top_p, token_probabilities
from .translation import translate

__all__ = [
    "Hypothesis",
    "beam_search",
    "draw",
    "generate",
    "keep_top_k",
    "keep_top_p",
    "token_probabilities",
    "translate",
]
