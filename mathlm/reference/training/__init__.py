"""Losses, starts and steps of training, by hand."""

__all__: list[str] = []
