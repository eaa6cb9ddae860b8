"""Power laws: fitted, with intervals, and tried on points that were held out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..shapes import Float
from .fitting import (
    LogSum,
    constant,
    covariance,
    least_minimum,
    minimise,
    redrawn,
    student_quantile,
)

Numbers = Sequence[float | int] | np.ndarray
EXPONENTS = (-2.0, -1.0, -0.5, -0.2, -0.05, 0.05, 0.2, 0.5, 1.0, 2.0)
SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class PowerLaw:
    """``y = offset + coefficient · x^exponent``, as it was fitted.

    Attributes:
        coefficient: Factor of the power.
        exponent: Its power, negative for a loss that falls.
        interval: Of the exponent.
        offset: What is left where the power vanishes; 0 if none was fitted.
        decades: Range of x, as a power of ten.
        points: How many.
    """

    coefficient: float
    exponent: float
    interval: tuple[float, float]
    offset: float
    decades: float
    points: int

    @property
    def too_short(self) -> bool:
        """Whether the range says too little: x varies by less than 10, or the sign is open."""
        low, high = self.interval
        short = self.decades < 1 - 1e-9  # a decade that rounding has made less is one
        return short or low <= 0 <= high

    def predict(self, x: Numbers) -> Float[np.ndarray, " N"]:
        """The law at other points, inside or outside the range."""
        return self.offset + self.coefficient * positive("x", x) ** self.exponent


def fit_power_law(
    x: Numbers,
    y: Numbers,
    *,
    offset: bool = False,
    delta: float | int = math.inf,
    level: float | int = 0.95,
) -> PowerLaw:
    """Fit a power law to logarithms.

    Computes::

        min Σ_i Huber_δ( log(offset + coefficient · x_i^exponent) − log y_i )

    Without an offset and with infinite delta this is the straight line of least squares through
    ``log x`` and ``log y``, and the interval is Student's. Otherwise Newton's method is started
    from a grid, and the interval is that of the delta method. Both take the errors of ``log y``
    to be independent and of one spread at all x.

    Args:
        x: Sizes, all positive.
        y: What was measured there, all positive.
        offset: Whether the law has one. It is positive: a floor of y.
        delta: Residual of ``log y`` from which on it counts by its absolute value, so that a
            few bad points do not decide; about the spread of the good ones [nats].
        level: Of the interval.

    Returns:
        The law. See :attr:`PowerLaw.too_short` before it is believed.

    Raises:
        InputError: If a number is not positive, the lengths differ, there are not more points
            than unknowns, all x are the same, or the data show no offset.

    Example:
        >>> law = fit_power_law([1, 10, 100, 1000], [8, 4, 2, 1])  # half as much at ten times x
        >>> round(law.exponent, 4), round(law.coefficient, 4)  # -log10 2
        (-0.301, 8.0)

    References:
        Clauset, Shalizi and Newman (2009). Power-law distributions in empirical data.
    """
    law, middle = straight(x, y, offset, delta)
    theta = best(law, offset)
    spread = covariance(law, theta)[0]
    slope = float(theta[0, 1])
    reach = student_quantile(level, law.target.shape[1] - theta.shape[1]) * spread[1, 1] ** 0.5
    return PowerLaw(
        coefficient=constant("coefficient", float(theta[0, 0]) - slope * middle),
        exponent=slope,
        interval=(float(slope - reach), float(slope + reach)),
        offset=constant("offset", float(theta[0, 2])) if offset else 0.0,
        decades=float(np.ptp(law.design[0, :, 1])) / math.log(10),
        points=law.target.shape[1],
    )


def bootstrap_exponent(
    x: Numbers,
    y: Numbers,
    *,
    offset: bool = False,
    delta: float | int = math.inf,
    level: float | int = 0.95,
    resamples: int = 999,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of the exponent from fits to residuals drawn anew.

    A residual may go to any x: they are taken to be independent and of one spread.

    Args:
        x: Sizes.
        y: What was measured there.
        offset: Whether the law has one.
        delta: As in :func:`fit_power_law`.
        level: Of the interval.
        resamples: How many times the residuals are drawn.
        seed: Of the draws.

    Returns:
        Its two ends, quantiles of the fitted exponents.

    Raises:
        InputError: As :func:`fit_power_law`, or if there are fewer than 20 resamples.

    Example:
        >>> low, high = bootstrap_exponent([1, 2, 4, 8], [8.1, 3.9, 2.1, 0.9])
        >>> low < -1 < high
        True
    """
    law, _ = straight(x, y, offset, delta)
    theta = best(law, offset)
    many = redrawn(law, theta, resamples, np.random.default_rng(seed))
    fits = minimise(many, np.repeat(theta, resamples, 0))
    low, high = np.quantile(fits[:, 1], [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def held_out_errors(
    x: Numbers,
    y: Numbers,
    held: int,
    *,
    offset: bool = False,
    delta: float | int = math.inf,
) -> Float[np.ndarray, " H"]:
    """Fit the smaller x, and predict y at the largest.

    Args:
        x: Sizes.
        y: What was measured there.
        held: How many of the largest sizes are held out.
        offset: Whether the law has one.
        delta: As in :func:`fit_power_law`.

    Returns:
        ``log(predicted / measured)`` at the sizes held out, in increasing order [nats].

    Raises:
        InputError: As :func:`fit_power_law`, or if none is held out.

    Example:
        >>> errors = held_out_errors([1, 2, 4, 8], [8, 4, 2, 1], held=1)
        >>> np.allclose(errors, 0)  # a true power law
        True
    """
    xs, ys = paired(x, y)
    if not 1 <= held < len(xs):
        raise InputError(f"held={held} must be at least 1 and less than the {len(xs)} points")
    order = np.argsort(xs, kind="stable")
    small, large = order[:-held], order[-held:]
    law = fit_power_law(xs[small], ys[small], offset=offset, delta=delta)
    return np.log(law.predict(xs[large]) / ys[large])


def positive(name: str, values: Numbers) -> Float[np.ndarray, " N"]:
    """A row of positive, finite numbers."""
    row = np.asarray(values, dtype=float)
    if row.ndim != 1:
        raise InputError(f"{name} has shape {row.shape}; expected one row of numbers")
    bad = np.flatnonzero(~((row > 0) & np.isfinite(row)))
    if len(bad):
        raise InputError(
            f"{name}[{bad[0]}]={row[bad[0]]} must be positive and finite, to have a logarithm"
        )
    return row


def paired(x: Numbers, y: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Two rows of the same length."""
    xs, ys = positive("x", x), positive("y", y)
    if len(xs) != len(ys):
        raise InputError(
            f"x has {len(xs)} numbers and y has {len(ys)}; expected one y for each"
        )
    return xs, ys


def require_delta(delta: float | int) -> None:
    """Refuse a turning point of the loss that is not positive."""
    if not delta > 0:
        raise InputError(f"delta={delta} must be positive; infinite for least squares")


def straight(x: Numbers, y: Numbers, offset: bool, delta: float | int) -> tuple[LogSum, float]:
    """The law with ``log x`` centred, and the middle that was taken off."""
    xs, ys = paired(x, y)
    require_delta(delta)
    unknowns = 2 + offset
    places = len(set(xs.tolist()))
    if places < unknowns or len(xs) <= unknowns:
        raise InputError(
            f"{len(xs)} points at {places} different x cannot give {unknowns} unknowns an "
            f"interval; expected at least {unknowns + 1} points and {unknowns} different x"
        )
    middle = float(np.log(xs).mean())
    design = np.zeros((1 + offset, len(xs), unknowns))
    design[0, :, 0], design[0, :, 1] = 1, np.log(xs) - middle
    if offset:
        design[1, :, 2] = 1
    return LogSum(design, np.log(ys)[None], float(delta)), middle


def best(law: LogSum, offset: bool) -> Float[np.ndarray, "1 P"]:
    """The least minimum over a grid of starts."""
    y = float(law.target.mean())
    if offset:
        grid = [
            (y + math.log1p(-s), e, float(law.target.min()) + math.log(s))
            for e in EXPONENTS
            for s in SHARES
        ]
    else:
        grid = [(y, 0.0)]  # type: ignore[list-item]
    return least_minimum(law, np.array(grid), ["the power", "the offset"][: len(law.design)])
