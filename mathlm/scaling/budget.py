"""From operations to model, hours, money and energy, with a range for each."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import InputError
from .budget_sources import ASSUMED, DEVICES
from .count_checks import require_counts, require_positive
from .ranges import Span


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
