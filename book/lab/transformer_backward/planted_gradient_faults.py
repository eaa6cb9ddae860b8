"""Faults of a backward pass, planted one at a time, and which checks notice them.

A fault replaces one function of :mod:`mathlm.reference`; each check runs the whole model.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy import ndarray

from .gradient_checks import CHECKS
from .gradient_faults import FAULTS
from .layer_faults import Fault


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """Put the wrong function in the place of the right one, as long as the block runs."""
    right = getattr(fault.where, fault.name)
    setattr(fault.where, fault.name, fault.make(right))
    try:
        yield
    finally:
        setattr(fault.where, fault.name, right)


def noticed(fault: Fault) -> list[bool]:
    """For each check, whether it fails with the fault; an error counts as a failure."""
    results = []
    with planted(fault), np.errstate(all="ignore"):
        for passes in CHECKS.values():
            try:
                results.append(not passes())
            except ValueError:
                results.append(True)
    return results


def table() -> ndarray:
    """True where a check, one a column, notices a fault, one a row."""
    return np.array([noticed(fault) for fault in FAULTS.values()])
