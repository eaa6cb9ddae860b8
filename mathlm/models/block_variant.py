"""What current models change in a GPT's blocks, embedding and head."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from ..errors import ConfigError

Placement = Literal["before", "after", "both"]
Over = Literal["head", "all"]


@dataclass(frozen=True, kw_only=True)
class BlockVariant:
    """Choices of current open models; with the defaults a GPT is as without them.

    Args:
        placement: Where a branch is normalized: what it reads ("before"), what it adds
            ("after", OLMo 2), or both (Gemma 2).
        centered: Whether the gain of every RMS norm is 1 + γ (Gemma).
        qk_norm_over: What is normalized with ``qk_norm``: each head, or all heads together
            (OLMo 2).
        full_every: With a window, every n-th layer sees all keys: 2 in Gemma 2, 6 in Gemma 3.
            None = the window holds in all layers.
        local_rope_base: Base of rope in the layers with a window, which are then not scaled
            (Gemma 3). None = that of the other layers.
        rotary_fraction: Part of each head's features that rope turns, the first ones.
        score_scale: Factor of the scores; None = 1/√d_k.
        score_cap: Soft cap of the scores (Gemma 2); None = none.
        logit_cap: Soft cap of the logits (Gemma 2); None = none.
        gate: Whether what the heads read is gated (Qwen3-Next).
        sinks: Whether each head has a learned sink (gpt-oss).
        scale_embedding: Whether token vectors are multiplied by √D (Gemma).

    Raises:
        ConfigError: If a choice is not known or a number is out of range.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=4, n_heads=4)
        >>> GPTConfig(**sizes, window=8, variant=BlockVariant(full_every=2)).windows
        (8, None, 8, None)
    """

    placement: Placement = "before"
    centered: bool = False
    qk_norm_over: Over = "head"
    full_every: int | None = None
    local_rope_base: float | None = None
    rotary_fraction: float = 1.0
    score_scale: float | None = None
    score_cap: float | None = None
    logit_cap: float | None = None
    gate: bool = False
    sinks: bool = False
    scale_embedding: bool = False

    def __post_init__(self) -> None:
        choices = {"placement": get_args(Placement), "qk_norm_over": get_args(Over)}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                listed = ", ".join(map(repr, known))
                raise ConfigError(f"{name}={getattr(self, name)!r} is not one of {listed}")
        for name in ("local_rope_base", "score_scale", "score_cap", "logit_cap"):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and 0 < value < math.inf):
                raise ConfigError(f"{name}={value!r} must be positive and finite, or None")
        if not (_is_number(self.rotary_fraction) and 0 < self.rotary_fraction <= 1):
            raise ConfigError(
                f"rotary_fraction={self.rotary_fraction!r} is outside 0 < rotary_fraction <= 1"
            )
        every = self.full_every
        if every is not None and (type(every) is not int or every < 2):
            raise ConfigError(f"full_every={every!r} must be an integer of 2 or more, or None")
        self._require_flags()

    def _require_flags(self) -> None:
        for name in ("centered", "gate", "sinks", "scale_embedding"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name}={getattr(self, name)!r} must be True or False")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
