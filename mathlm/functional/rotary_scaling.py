"""Frequencies of rotary embeddings, and how to slow them down for longer texts."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from ..errors import ConfigError, InputError
from ..shapes import Float

ScalingKind = Literal["linear", "ntk", "yarn", "llama3"]
KINDS = get_args(ScalingKind)


@dataclass(frozen=True, kw_only=True)
class RopeScaling:
    """How rotary frequencies change for contexts longer than the trained one.

    Args:
        kind: "linear": all frequencies divided by the factor (position interpolation); "ntk":
            a larger base, so that only the slowest pair is divided by the whole factor;
            "yarn" and "llama3": fast pairs kept, slow ones divided, a ramp between them.
        factor: s ≥ 1, how much longer the context becomes.
        original_context: Trained length [tokens]; for yarn and llama3 only, which need it.
        fast: Turns within the trained length from which on a pair is kept. None = 32 for yarn,
            4 for llama3. Called beta_fast or high_freq_factor elsewhere.
        slow: Turns up to which a pair is divided by the factor. None = 1. Called beta_slow or
            low_freq_factor elsewhere.
        attention_factor: Factor of cosines and sines. None = 0.1 ln s + 1 for yarn, else 1.

    Raises:
        ConfigError: If a number is missing, outside its range, or of no use to the kind.

    Example:
        >>> RopeScaling(kind="linear", factor=4).amplitude
        1.0
        >>> yarn = RopeScaling(kind="yarn", factor=np.e, original_context=2048)
        >>> round(yarn.amplitude, 6)  # 0.1 ln e + 1
        1.1

    References:
        Chen et al. (2023), arXiv:2306.15595 (linear); bloc97 (2023), in the forum
        r/LocalLLaMA, as told by Peng et al. (ntk); Peng et al. (2023), arXiv:2309.00071 (yarn);
        Grattafiori et al. (2024), arXiv:2407.21783, and the code of Llama 3.1 (llama3).
    """

    kind: ScalingKind
    factor: float | int
    original_context: int | None = None
    fast: float | int | None = None
    slow: float | int | None = None
    attention_factor: float | int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            listed = ", ".join(map(repr, KINDS))
            raise ConfigError(f"kind={self.kind!r} of rope scaling is not one of {listed}")
        if not 1.0 <= _number("factor", self.factor) < math.inf:
            raise ConfigError(f"factor={self.factor} must be at least 1 and finite")
        if not 0.0 < _number("attention_factor", self.amplitude) < math.inf:
            raise ConfigError(f"attention_factor={self.amplitude} must be positive and finite")
        self._require_ramp()

    @property
    def amplitude(self) -> float | int:
        """Factor of cosines and sines; scores of a query and a key grow by its square."""
        if self.attention_factor is not None:
            return self.attention_factor
        return 0.1 * math.log(self.factor) + 1.0 if self.kind == "yarn" else 1.0

    @property
    def turns(self) -> tuple[float | int, float | int]:
        """Turns within the trained length above which pairs are kept, below which divided."""
        fast = {"yarn": 32.0, "llama3": 4.0}.get(self.kind, math.inf)
        return (
            1.0 if self.slow is None else self.slow,
            fast if self.fast is None else self.fast,
        )

    def _require_ramp(self) -> None:
        given = {
            "original_context": self.original_context,
            "fast": self.fast,
            "slow": self.slow,
        }
        if self.kind in ("linear", "ntk"):
            extra = [name for name, value in given.items() if value is not None]
            if extra:
                raise ConfigError(f"{self.kind} scaling has no {extra[0]}={given[extra[0]]}")
            return
        context, (slow, fast) = self.original_context, self.turns
        if not isinstance(context, int) or isinstance(context, bool) or context < 1:
            raise ConfigError(
                f"{self.kind} scaling needs the trained length: original_context={context!r} "
                "must be an integer of at least 1"
            )
        if not 0.0 < _number("slow", slow) < _number("fast", fast) < math.inf:
            raise ConfigError(f"slow={slow} must be positive and less than fast={fast}")


def rotary_frequencies(d_head: int, base: float | int = 10_000.0) -> Float[Tensor, " half"]:
    """Angles by which rotary embeddings turn each pair of features in one step.

    Computes::

        ω[i] = base^(-2i/K),   i = 0 ... K/2 - 1

    Args:
        d_head: K, an even number.
        base: Ratio of the slowest to the fastest wavelength, nearly.

    Returns:
        ω [radians/token] in float64, from 1 down.

    Raises:
        InputError: If ``d_head`` is odd or ``base`` is not positive and finite.

    Example:
        >>> rotary_frequencies(4)  # 1 and 1 / √10000
        tensor([1.0000, 0.0100], dtype=torch.float64)

    References:
        Su et al. (2021), arXiv:2104.09864, eq. (15).
    """
    if d_head < 2 or d_head % 2:
        raise InputError(f"width {d_head} must be even and positive: features are paired")
    if not 0.0 < base < math.inf:
        raise InputError(f"base={base} of rotary wavelengths must be positive and finite")
    return 1.0 / base ** (torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)


def scaled_frequencies(
    d_head: int, base: float | int = 10_000.0, scaling: RopeScaling | None = None
) -> Float[Tensor, " half"]:
    """Rotary frequencies for a context longer than the trained one.

    Implements eq-rotary-linear, eq-rotary-ntk and eq-rotary-yarn::

        linear:  ω'[i] = ω[i] / s
        ntk:     ω'[i] = (s^(K/(K-2)) base)^(-2i/K)
        yarn, llama3:  ω'[i] = γ[i] ω[i] + (1 - γ[i]) ω[i] / s

    with γ[i] = 1 for pairs that turn often within the trained length, 0 for those that hardly
    turn, and a ramp between: linear in the index i (yarn) or in the turns (llama3).

    Args:
        d_head: K, an even number.
        base: Of the trained model.
        scaling: What to do; None = the frequencies as they are.

    Returns:
        ω' [radians/token] in float64. Cosines and sines are to be multiplied by
        :attr:`RopeScaling.amplitude`, as :func:`rotary_table` does.

    Raises:
        InputError: If ``d_head`` is odd, ``base`` is not positive, or the kind does not work
            with them.

    Example:
        >>> linear = RopeScaling(kind="linear", factor=4)
        >>> scaled_frequencies(4, base=16).tolist(), scaled_frequencies(4, 16, linear).tolist()
        ([1.0, 0.25], [0.25, 0.0625])
    """
    frequencies = rotary_frequencies(d_head, base)
    if scaling is None:
        return frequencies
    if scaling.kind == "linear":
        return frequencies / scaling.factor
    if scaling.kind == "ntk":
        return rotary_frequencies(d_head, _ntk_base(d_head, base, scaling.factor))
    ramp = _yarn_ramp if scaling.kind == "yarn" else _llama3_ramp
    kept = ramp(frequencies, base, scaling)
    return kept * frequencies + (1 - kept) * frequencies / scaling.factor


def dynamic_factor(length: int, original_context: int, factor: float | int = 1.0) -> float:
    """Factor with which "ntk" scaling becomes the dynamic one of Hugging Face at a length.

    Computes::

        s = max(1, factor length / original_context - (factor - 1))

    With factor 1 the context is stretched to the length at hand. As that grows the factor does,
    and keys in a cache were turned with an older one: read the whole text anew.

    Args:
        length: Of the text at hand [tokens].
        original_context: Trained length [tokens].
        factor: As ``factor`` of "dynamic" scaling in a configuration.

    Raises:
        InputError: If a length is less than 1 or the factor is below 1 or not finite.

    Example:
        >>> dynamic_factor(8192, original_context=4096)
        2.0
        >>> dynamic_factor(1024, original_context=4096)  # a short text is left as it is
        1.0
    """
    if min(length, original_context) < 1:
        raise InputError(f"{length=} and {original_context=} must be at least 1 token")
    if not 1.0 <= factor < math.inf:
        raise InputError(f"factor={factor} must be at least 1 and finite")
    return max(1.0, factor * length / original_context - (factor - 1))


def _ntk_base(d_head: int, base: float | int, factor: float | int) -> float:
    """The base at which the slowest pair turns ``factor`` times slower."""
    if d_head == 2:
        raise InputError("ntk scaling changes the base, which the one pair of d_head=2 lacks")
    log_base = math.log(base) + math.log(factor) * d_head / (d_head - 2)
    if log_base > 709.0:
        raise InputError(f"ntk scaling of base={base} by factor={factor} overflows float64")
    return base * factor ** (d_head / (d_head - 2))


def _yarn_ramp(frequencies: Tensor, base: float | int, scaling: RopeScaling) -> Tensor:
    """1 where pairs are kept, 0 where they are divided; linear in the index of the pair."""
    if base <= 1.0:
        raise InputError(f"yarn needs frequencies that fall with the index: base={base} <= 1")
    slow, fast = scaling.turns
    width = 2 * len(frequencies)
    first, last = (_pair_with_turns(n, width, base, scaling) for n in (fast, slow))
    first, last = max(math.floor(first), 0), min(math.ceil(last), width - 1)
    if last < first:
        raise InputError(
            f"yarn finds no ramp: of {width // 2} pairs with base={base} all or none turn "
            f"between {slow} and {fast} times in original_context={scaling.original_context}"
        )
    span = last - first or 0.001  # a step, as in the published code
    return 1 - ((torch.arange(width // 2, dtype=torch.float64) - first) / span).clamp(0, 1)


def _pair_with_turns(
    turns: float | int, width: int, base: float | int, scaling: RopeScaling
) -> float:
    """Index, not whole, of the pair that turns so often within the trained length."""
    context = scaling.original_context or math.nan
    return width * math.log(context / (2 * math.pi * turns)) / (2 * math.log(base))


def _llama3_ramp(frequencies: Tensor, base: float | int, scaling: RopeScaling) -> Tensor:
    """1 where pairs are kept, 0 where they are divided; linear in the turns of the pair."""
    slow, fast = scaling.turns
    turns = frequencies * (scaling.original_context or math.nan) / (2 * math.pi)
    return ((turns - slow) / (fast - slow)).clamp(0, 1)


def _number(name: str, value: object) -> float | int:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ConfigError(f"{name}={value!r} of rope scaling must be a number")
    return value
