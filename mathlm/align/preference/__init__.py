"""Policies that learn from comparisons: pairs, and DPO and its relatives."""

__all__: list[str] = []
