"""The parts of a network, forward and backward by hand."""

__all__: list[str] = []
