"""From raw text to a corpus: cleaning, quality, duplicates, leakage."""

__all__: list[str] = []
