"""The ledger of claims: what the sources print, recomputed.

``check`` asserts, says one quiet line, and keeps a record. The calls are also collected by
parsing the notebooks (``tools/claims.py``), which makes the page "Claims and corrections".
"""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from numbers import Number
from typing import Any

from .errors import ClaimError, InputError

ID = re.compile(r"^(OPT|VOM|AIM|MFP)-(\w+(?:\.\w+)*)(?:-(\w+))?$")
LEDGER: dict[str, "Claim"] = {}
_MISSING: Any = object()


@dataclass(frozen=True)
class Claim:
    """One claim of a source and what became of it.

    Args:
        id: SOURCE-section-number.
        verdict: "verified", "corrected" or "remarked".
        printed: What the source prints.
        corrected: What is right, where that differs.
    """

    id: str
    verdict: str
    printed: Any = None
    corrected: Any = None

    def __str__(self) -> str:
        if self.verdict == "verified":
            return f"{self.id} verified: {self.printed}"
        if self.verdict == "corrected":
            return f"{self.id} corrected: printed {self.printed}, right {self.corrected}"
        return f"{self.id} remarked: {self.corrected}"


def check(
    id: str, computed: Any, *, printed: Any, corrected: Any = _MISSING, tol: float | None = None
) -> None:
    """Hold a printed value against a computed one.

    Verified means |computed - printed| <= tol. With ``corrected`` the claim must be wrong:
    computed equals ``corrected`` within tol and differs from ``printed`` by more than tol.
    Sequences and arrays are compared entry by entry; strings and booleans must be equal.

    Args:
        id: SOURCE-section-number, such as "VOM-8.4-4".
        computed: The value that code found.
        printed: The value that the source prints.
        corrected: The right value, if the printed one is wrong.
        tol: Largest absolute difference. None means the precision of the expected number as
            written: half a unit of its last digit if it is a float (0.97 gives 0.005). An
            integer must be met exactly by integers, and up to rounding (1e-9, relative) by
            floats. Python forgets a zero at the end (0.50 is 0.5): pass ``tol`` there.

    Raises:
        ClaimError: If the claim does not hold as stated; an AssertionError too.
        InputError: If ``id`` is not of the form above, if ``tol`` is negative or not finite,
            or if ``printed`` holds nothing to compare.

    Example:
        >>> check("OPT-2-1", 0.8 * 0.7 + 0.3 * 0.5 + 0.6 * 0.4 + 0.1 * 0.2, printed=0.97)
        OPT-2-1 verified: 0.97
    """
    expected = printed if corrected is _MISSING else corrected
    _require_id(id)
    if tol is not None and not 0 <= tol < math.inf:
        raise InputError(f"{id}: tol={tol} must be a finite number, 0 or more")
    if _plain(printed) == [] or _plain(expected) == []:
        raise InputError(f"{id}: an empty sequence is nothing to compare with")
    if not _equal(_plain(computed), _plain(expected), tol):
        raise ClaimError(f"{id}: computed {computed}, which is not {expected}{_within(tol)}")
    if corrected is _MISSING:
        return _record(Claim(id, "verified", printed))
    if _equal(_plain(computed), _plain(printed), tol):
        raise ClaimError(f"{id}: printed {printed} is right{_within(tol)}; drop corrected=")
    return _record(Claim(id, "corrected", printed, corrected))


def remark(id: str, *, corrected: str) -> None:
    """Record what is right where no number settles a claim.

    Args:
        id: SOURCE-section-number.
        corrected: The right statement, one sentence.

    Raises:
        InputError: If ``id`` is malformed or ``corrected`` is empty.
    """
    _require_id(id)
    if not corrected.strip():
        raise InputError(f"{id}: a remark needs a sentence, got an empty one")
    _record(Claim(id, "remarked", corrected=corrected))


def _record(claim: Claim) -> None:
    LEDGER[claim.id] = claim
    print(claim)  # the one line that a reader sees, and that nbval compares


def _require_id(id: str) -> None:
    if not ID.fullmatch(id):
        raise InputError(
            f"claim id {id!r} is not of the form SOURCE-section-number, e.g. VOM-8.4-4"
        )


def _within(tol: float | None) -> str:
    return "" if tol is None else f" within {tol}"


def _plain(value: Any) -> Any:
    """Lists and Python scalars instead of arrays and tensors."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def _equal(a: Any, b: Any, tol: float | None) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_equal(x, y, tol) for x, y in zip(a, b, strict=True))
    if isinstance(a, bool | str) or not (isinstance(a, Number) and isinstance(b, Number)):
        return type(a) is type(b) and bool(a == b)
    return not isinstance(b, bool) and _near(a, b, tol)


def _near(a: Any, b: Any, tol: float | None) -> bool:
    """Whether the number ``a`` is ``b`` within ``tol``, or as precisely as ``b`` is written."""
    are_integers = isinstance(a, int) and isinstance(b, int)
    if tol is not None:
        return bool(abs(a - b) <= tol + (0 if are_integers else 1e-15 * abs(b)))
    if are_integers:
        return bool(a == b)
    if isinstance(a, complex) or isinstance(b, complex):
        return _near(a.real, b.real, None) and _near(a.imag, b.imag, None)
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=_precision(b))


def _precision(number: Any) -> float:
    """Half a unit of the last digit written; integers are exact."""
    exponent = Decimal(repr(number)).as_tuple().exponent
    if isinstance(number, int) or not isinstance(exponent, int):
        return 0.0
    return (0.5 + 1e-9) * 10.0**exponent


__all__ = ["LEDGER", "Claim", "check", "remark"]
