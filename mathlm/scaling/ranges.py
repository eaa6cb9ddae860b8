"""A positive number that is known between two ends."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import InputError
from .count_checks import require_positive


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
