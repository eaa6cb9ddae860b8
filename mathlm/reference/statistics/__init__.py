"""Distributions, and what follows from samples."""

__all__: list[str] = []
