"""Regular expressions over bytes as automata."""

__all__: list[str] = []
