"""Texts and tables that install with pip."""

__all__: list[str] = []
