"""Whole runs: ``python -m mathlm.recipes.NAME``."""

__all__: list[str] = []
