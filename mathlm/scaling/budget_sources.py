"""What a bill of training rests on: devices, assumed ranges, and runs whose bill is known."""

from typing import NamedTuple

from .ranges import Span


class Device(NamedTuple):
    """An accelerator, by its data sheet.

    Attributes:
        peak: Dense operations of 16 bits [FLOP/s].
        watts: Thermal design power of the device alone.
    """

    peak: float
    watts: float


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


DEVICES = {
    "V100": Device(125e12, 300.0),
    "A100": Device(312e12, 400.0),
    "H100": Device(989e12, 700.0),
}

ASSUMED = {
    "utilization": Assumption(
        Span(0.19, 0.40, 0.55),
        "share of the peak",
        "GPT-3 by its hours (Patterson et al. 2021); Llama 3 (Grattafiori et al. 2024); "
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
