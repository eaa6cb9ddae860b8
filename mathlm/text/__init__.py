"""Text to integers and back, the corpora, and what a text costs; no torch."""

from . import corpus, vectors
from .compression import bits_per_byte, conditional_bits_per_byte
from .ngram import KneserNey

__all__ = [
    "KneserNey",
    "bits_per_byte",
    "conditional_bits_per_byte",
    "corpus",
    "vectors",
]
