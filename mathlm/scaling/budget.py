"""From operations to model, hours, money and energy, with a range for each."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..checks import require_counts, require_positive
from ..errors import InputError


@dataclass(frozen=True)
class Span:
    """Low end, middle and high end of a positive number.

    Products and quotients of two spans take them as independent: the low end of ``a / b`` is
    ``a.low / b.high``. So ``a / a`` is not 1; write the formula with each factor once.

    Args:
        low: Low end.
        middle: Value to reckon with.
        high: High end.

    Raises:
        InputError: If they are not positive, or not in order.

    Example:
        >>> Span(1, 2, 4) / Span(1, 2, 2)
        Span(low=0.5, middle=1.0, high=4.0)
    """

    low: float | int
    middle: float | int
    high: float | int

    def __post_init__(self) -> None:
        require_positive(low=self.low, middle=self.middle, high=self.high)
        if not self.low <= self.middle <= self.high:
            raise InputError(
                f"low={self.low:g}, middle={self.middle:g}, high={self.high:g} are not in order"
            )

    def __iter__(self) -> Iterator[float | int]:
        return iter((self.low, self.middle, self.high))

    def __contains__(self, number: float | int) -> bool:
        return self.low <= number <= self.high

    def __mul__(self, other: "Span | float | int") -> "Span":
        by = spanned(other)
        return Span(self.low * by.low, self.middle * by.middle, self.high * by.high)

    def __rmul__(self, other: float | int) -> "Span":
        return self * other

    def __truediv__(self, other: "Span | float | int") -> "Span":
        by = spanned(other)
        return Span(self.low / by.high, self.middle / by.middle, self.high / by.low)

    def __rtruediv__(self, other: float | int) -> "Span":
        return spanned(other) / self


def spanned(number: "Span | float | int") -> Span:
    """A number as a span of no width."""
    return number if isinstance(number, Span) else Span(number, number, number)


class Device(NamedTuple):
    """An accelerator, by its data sheet.

    Attributes:
        peak: Dense operations of 16 bits [FLOP/s].
        watts: Thermal design power of the device alone.
        memory: Of the device [bytes].
    """

    peak: float
    watts: float
    memory: float = 80e9


class Assumption(NamedTuple):
    """A range and where its ends come from.

    Attributes:
        span: Low end, middle and high end.
        unit: Of the three.
        source: Of each end.
    """

    span: Span
    unit: str
    source: str


class KnownRun(NamedTuple):
    """A training run whose makers, or others, have published its bill.

    Attributes:
        n: Parameters that a token meets.
        d: Tokens.
        device: Name in ``DEVICES``.
        hours: Device hours.
        energy: From the grid [kWh], or None.
        carbon: Of that [t CO2], or None.
        source: Where it is printed.
    """

    n: float
    d: float
    device: str
    hours: float
    energy: float | None
    carbon: float | None
    source: str


GPT_3_UTILIZATION = 24.6 / 125  # TFLOP/s measured and peak of a V100: Patterson et al., table 4
DEVICES = {
    "V100": Device(125e12, 300.0, 32e9),
    "A100": Device(312e12, 400.0),
    "H100": Device(989e12, 700.0),
}

ASSUMED = {
    "utilization": Assumption(
        Span(GPT_3_UTILIZATION, 0.40, 0.55),
        "share of the peak",
        "GPT-3 as measured (Patterson et al. 2021); Llama 3 (Grattafiori et al. 2024); "
        "MegaScale (Jiang et al. 2024)",
    ),
    "price": Assumption(
        Span(1.0, 2.0, 4.0),
        "$ per device hour",
        "half of the middle; as DeepSeek-AI (2024) reckon; twice the middle",
    ),
    "around": Assumption(
        Span(1.0, 1.5, 2.03),
        "power with host and network, over that of the device",
        "the device alone; about BLOOM, 1.59 (Luccioni et al. 2023); a DGX A100 at its most",
    ),
    "overhead": Assumption(
        Span(1.1, 1.2, 1.58),
        "power of the building, over that of the machines",
        "GPT-3 (Patterson et al. 2021); BLOOM (Luccioni et al. 2023); mean of a survey of "
        "centers (Uptime Institute 2023)",
    ),
    "grams": Assumption(
        Span(57.0, 429.0, 820.0),
        "g CO2 per kWh",
        "France, BLOOM (Luccioni et al. 2023); United States, GPT-3 (Patterson et al. 2021); "
        "coal (IPCC 2014)",
    ),
    "stock": Assumption(
        Span(1e14, 3e14, 1e15),
        "tokens",
        "public text of enough quality, several readings counted in, with an interval of 90 % "
        "(Villalobos et al. 2024)",
    ),
}

KNOWN_RUNS = {
    "GPT-3": KnownRun(
        175e9, 300e9, "V100", 14.8 * 24 * 10_000, 1.287e6, 552.0, "Patterson et al. (2021)"
    ),
    "BLOOM": KnownRun(176e9, 366e9, "A100", 1_082_990, 689_842, 39.3, "Luccioni et al. (2023)"),
    "Llama 2 70B": KnownRun(
        70e9, 2.0e12, "A100", 1_720_320, None, 291.42, "Touvron et al. (2023)"
    ),
    "Llama 3.1 405B": KnownRun(
        405e9, 15.6e12, "H100", 30.84e6, None, 8930.0, "model card of Llama 3.1"
    ),
    "DeepSeek-V3": KnownRun(
        37e9, 14.8e12, "H100", 2.664e6, None, None, "DeepSeek-AI (2024), pretraining, H800"
    ),
}


@dataclass(frozen=True, kw_only=True)
class TrainingBill:
    """What one training run takes, each from the lowest to the highest that is plausible.

    Attributes:
        hours: Of all devices together [device hours].
        days: On the given number of devices.
        dollars: Rent of the devices; people and failed runs are not in it.
        energy: From the grid [kWh].
        power: Mean draw of the run [W].
        carbon: Of making that electricity, as CO2 [t].
    """

    hours: Span
    days: Span
    dollars: Span
    energy: Span
    power: Span
    carbon: Span


def parameters_and_tokens(
    compute: float | int, tokens_per_parameter: float | int = 20.0
) -> tuple[float, float]:
    """Size of a model and of its text that use a budget up at a fixed ratio.

    Implements eq-limits-split::

        N = sqrt(C / (6 r)),   D = r N,   so that  6 N D = C

    Args:
        compute: Budget C [FLOP].
        tokens_per_parameter: Ratio r; about 20 is best by two of Hoffmann's three approaches.

    Returns:
        Parameters N and tokens D.

    Raises:
        InputError: If a number is not positive and finite.

    Example:
        >>> n, d = parameters_and_tokens(5.88e23)  # 20 tokens for each parameter
        >>> round(n / 1e9), round(d / 1e9)
        (70, 1400)
    """
    require_positive(compute=compute, tokens_per_parameter=tokens_per_parameter)
    n = math.sqrt(compute / (6 * tokens_per_parameter))
    return n, tokens_per_parameter * n


def training_bill(
    compute: float | int,
    device: str = "H100",
    devices: int = 1024,
    assumed: Mapping[str, Span] | None = None,
) -> TrainingBill:
    """Hours, money, energy and carbon of so many operations.

    Implements eq-limits-bill::

        hours   = C / (3600 · utilization · peak)
        dollars = hours · price
        energy  = hours · watts · around · overhead / 1000
        carbon  = energy · grams / 10⁶

    The ranges are independent, so each end of a result has *every* factor at its own worst or
    best: a range that contains the truth if each of the factors does, not an interval of 95 %.

    Args:
        compute: Operations that the model needs [FLOP].
        device: Name in ``DEVICES``.
        devices: How many work at once.
        assumed: Ranges that replace those of ``ASSUMED``, by name.

    Returns:
        The bill.

    Raises:
        InputError: If the device or an assumption is unknown, a number is not positive, or a
            utilization is above 1.

    Example:
        >>> training_bill(5.88e23, device="H100", devices=1024).days.low > 1
        True
    """
    require_positive(compute=compute)
    require_counts(1, devices=devices)
    if device not in DEVICES:
        raise InputError(f"device={device!r} is unknown; there are {', '.join(DEVICES)}")
    use, machine = in_use(assumed), DEVICES[device]
    hours = compute / 3600 / machine.peak / use["utilization"]
    watts = machine.watts * use["around"] * use["overhead"]
    energy = hours * watts / 1000
    return TrainingBill(
        hours=hours,
        days=hours / devices / 24,
        dollars=hours * use["price"],
        energy=energy,
        power=watts * devices,
        carbon=energy * use["grams"] / 1e6,
    )


def text_share(tokens: float | int) -> Span:
    """Share of all usable public text that so many tokens are; above 1 is more than there is.

    Args:
        tokens: Number D of tokens, each counted once, however often it is read.

    Returns:
        D over the stock of ``ASSUMED``.

    Raises:
        InputError: If the number is not positive and finite.

    Example:
        >>> share = text_share(1e12)
        >>> share.low < share.middle < share.high < 0.1  # a trillion tokens are little
        True
    """
    require_positive(tokens=tokens)
    return tokens / ASSUMED["stock"].span


def in_use(assumed: Mapping[str, Span] | None) -> dict[str, Span]:
    """The ranges of ``ASSUMED``, with those that were given instead."""
    given = dict(assumed or {})
    unknown = sorted(set(given) - set(ASSUMED))
    if unknown:
        raise InputError(f"assumed={unknown} is unknown; there are {', '.join(ASSUMED)}")
    use = {name: assumption.span for name, assumption in ASSUMED.items()} | given
    if use["utilization"].high > 1:
        raise InputError(f"utilization={use['utilization'].high:g} is a share: at most 1")
    return use
