"""Text to integers and back, the corpora, and what a text costs; no torch."""

from . import corpus, vectors
from .archive import extract
from .compression import bits_per_byte, conditional_bits_per_byte
from .download import fetch
from .ngram import KneserNey

__all__ = [
    "KneserNey",
    "bits_per_byte",
    "conditional_bits_per_byte",
    "corpus",
    "extract",
    "fetch",
    "vectors",
]
