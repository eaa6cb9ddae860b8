"""Tokenizers: byte-level BPE, WordPiece, unigram, words."""

__all__: list[str] = []
