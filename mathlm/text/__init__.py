"""Text to integers and back, the corpora, and what a text costs; no torch."""

from . import corpus, digits, pretrained, vectors
from .archive import extract
from .compression import bits_per_byte, conditional_bits_per_byte
from .counts import NGramCounts
from .download import fetch
from .ngram import KneserNey
from .redundancy import block_counts, block_entropy, letters
from .smoothing import AddK, Backoff, Interpolated

__all__ = [
    "AddK",
    "Backoff",
    "Interpolated",
    "KneserNey",
    "NGramCounts",
    "bits_per_byte",
    "block_counts",
    "block_entropy",
    "conditional_bits_per_byte",
    "corpus",
    "digits",
    "extract",
    "fetch",
    "letters",
    "pretrained",
    "vectors",
]
