"""Checks that the configurations of several models share."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ConfigError


def require_choices(config: Any, choices: Mapping[str, Sequence]) -> None:
    """Refuse a field whose value is not one of its choices."""
    for name, known in choices.items():
        if getattr(config, name) not in known:
            listed = ", ".join(map(repr, known))
            raise ConfigError(f"{name}={getattr(config, name)!r} is not one of {listed}")


def require_sizes(config: Any, names: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Refuse a field that is not a positive integer, or None where that means a default."""
    for name in (*names, *optional):
        value = getattr(config, name)
        if value is None and name in optional:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(f"{name}={value!r} must be an integer")
        if value < 1:
            advice = ", or None for the default" if name in optional else ""
            raise ConfigError(f"{name}={value} must be at least 1{advice}")


def require_numbers(config: Any) -> None:
    """Refuse a dropout that is not a probability below 1, and an ε below 0."""
    for name in ("dropout", "norm_eps"):
        value = getattr(config, name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ConfigError(f"{name}={value!r} must be a number")
    if not 0.0 <= config.dropout < 1.0:
        raise ConfigError(f"dropout={config.dropout} is outside 0 <= dropout < 1")
    if not 0.0 <= config.norm_eps < math.inf:
        raise ConfigError(f"norm_eps={config.norm_eps} is outside 0 <= norm_eps < inf")
