"""Derivatives: by definition, by differences, forward and reverse."""

__all__: list[str] = []
