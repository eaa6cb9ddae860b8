"""Taps: a plain dict that a model fills with its intermediate values.

A module says ``x = tap(taps, "resid_mid", x)``. With ``taps=None`` that is ``x``. With a dict
the value is stored and what the dict then holds is used, so that a dict subclass may put
another value in its place.
"""

from collections.abc import MutableMapping

from torch import Tensor

Taps = MutableMapping[str, Tensor]


def tap(taps: Taps | None, name: str, value: Tensor) -> Tensor:
    """Store ``value`` under ``name`` and return what is stored; without taps, ``value``.

    Example:
        >>> taps = {}
        >>> x = tap(taps, "embedding", torch.ones(2))
        >>> taps["embedding"]
        tensor([1., 1.])
    """
    if taps is None:
        return value
    taps[name] = value
    return taps[name]


class Scope(MutableMapping[str, Tensor]):
    """View of taps in which every name has a prefix, such as ``blocks.3.``.

    Example:
        >>> taps = {}
        >>> Scope(taps, "blocks.0.")["resid_mid"] = torch.ones(2)
        >>> taps
        {'blocks.0.resid_mid': tensor([1., 1.])}
    """

    def __init__(self, taps: Taps, prefix: str) -> None:
        self.taps, self.prefix = taps, prefix

    def __getitem__(self, name: str) -> Tensor:
        return self.taps[self.prefix + name]

    def __setitem__(self, name: str, value: Tensor) -> None:
        self.taps[self.prefix + name] = value

    def __delitem__(self, name: str) -> None:
        del self.taps[self.prefix + name]

    def __iter__(self):
        return (n.removeprefix(self.prefix) for n in self.taps if n.startswith(self.prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def scope(taps: Taps | None, prefix: str) -> Scope | None:
    """``taps`` seen through ``prefix``; None stays None.

    Example:
        >>> taps = {}
        >>> x = tap(scope(taps, "blocks.0."), "resid_mid", torch.ones(2))
        >>> list(taps)
        ['blocks.0.resid_mid']
    """
    return None if taps is None else Scope(taps, prefix)
