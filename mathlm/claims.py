"""The ledger of claims: what the sources print, recomputed.

``check`` asserts, says one quiet line, and keeps a record. The calls are also collected by
parsing the notebooks (``tools/claims.py``), which makes the page "Claims and corrections".

A reader may change a cell. So in a notebook that is not run by the book's own build, a claim or
an assertion that fails is said in one sentence, and the cell goes on: :func:`is_strict`.
"""

import ast
import math
import os
import re
import reprlib
import sys
from dataclasses import dataclass
from decimal import Decimal
from numbers import Number
from textwrap import shorten
from typing import Any

from .errors import ClaimError, ConfigError, InputError

SWITCH = "MATHLM_STRICT"
KINDS = ("rounding", "wrong", "misleading", "inconsistent", "imprecise", "convention")
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
        implied: What a rule of the source gives, where it prints no number.
        claim: What the source says, in one sentence.
        kind: What sort of error it is, one of ``KINDS``.
        severity: From 1, a last digit, to 5, whoever believes it goes wrong.
    """

    id: str
    verdict: str
    printed: Any = None
    corrected: Any = None
    implied: Any = None
    claim: str = ""
    kind: str | None = None
    severity: int | None = None

    def __str__(self) -> str:
        if self.verdict == "verified":
            return f"{self.id} verified: {self.printed}"
        if self.verdict == "corrected":
            told = f"printed {self.printed}"
            if self.implied is not None:
                told = f"implied {self.implied}"
            return f"{self.id} corrected: {told}, right {self.corrected}"
        return f"{self.id} remarked: {self.corrected}"


def check(
    id: str,
    computed: Any,
    *,
    printed: Any = _MISSING,
    implied: Any = _MISSING,
    corrected: Any = _MISSING,
    tol: float | None = None,
    claim: str = "",
    why: str = "",
    kind: str | None = None,
    severity: int | None = None,
) -> None:
    """Hold a printed value against a computed one.

    Verified means |computed - printed| <= tol. With ``corrected`` the claim must be wrong:
    computed equals ``corrected`` within tol and differs from ``printed`` by more than tol.
    Sequences and arrays are compared entry by entry; strings and booleans must be equal.

    Args:
        id: SOURCE-section-number, such as "VOM-8.4-4".
        computed: The value that code found.
        printed: The value that the source prints, to the letter.
        implied: In its place, what a formula or a rule of the source gives where it prints no
            number, computed or worked out; always with ``corrected``.
        corrected: The right value, if the printed one is wrong.
        tol: Largest absolute difference. None means the precision of the expected number as
            written: half a unit of its last digit if it is a float (0.97 gives 0.005). An
            integer must be met exactly by integers, and up to rounding (1e-9, relative) by
            floats. Python forgets a zero at the end (0.50 is 0.5): pass ``tol`` there.
        claim: What the source says, in one sentence.
        why: The explanation on the page of claims, in Markdown.
        kind: Of an error: rounding, wrong, misleading, inconsistent, imprecise or convention.
        severity: Of an error, from 1 (a last digit) to 5 (whoever believes it goes wrong).

    Raises:
        ClaimError: If the claim does not hold as stated, where :func:`is_strict`; an
            AssertionError too. Elsewhere one sentence is printed.
        InputError: If ``id``, ``kind`` or ``severity`` is not of the form above, if ``tol`` is
            negative or not finite, if ``printed`` holds nothing to compare, or if not exactly
            one of ``printed`` and ``implied`` is given.

    Example:
        >>> check("OPT-2-1", 0.8 * 0.7 + 0.3 * 0.5 + 0.6 * 0.4 + 0.1 * 0.2, printed=0.97)
        OPT-2-1 verified: 0.97
    """
    _require_form(id, kind, severity)
    told: dict[str, Any] = {"claim": claim, "kind": kind, "severity": severity}
    if (printed is _MISSING) == (implied is _MISSING):
        raise InputError(f"{id}: give either printed= or implied=, not both and not neither")
    if implied is not _MISSING:
        if corrected is _MISSING:
            raise InputError(
                f"{id}: implied= needs corrected=: what holds is printed or remarked"
            )
        told["implied"] = printed = implied
    expected = printed if corrected is _MISSING else corrected
    if tol is not None and not 0 <= tol < math.inf:
        raise InputError(f"{id}: tol={tol} must be a finite number, 0 or more")
    if _plain(printed) == [] or _plain(expected) == []:
        raise InputError(f"{id}: an empty sequence is nothing to compare with")
    if not _equal(_plain(computed), _plain(expected), tol):
        said = f"computed {computed}, which is not {expected}{_within(tol)}"
        return _fail(id, said, expected, computed)
    if corrected is _MISSING:
        return _record(Claim(id, "verified", printed, **told))
    if _equal(_plain(computed), _plain(printed), tol):
        which = "printed" if implied is _MISSING else "implied"
        said = f"{which} {printed} is right{_within(tol)}; drop corrected="
        return _fail(id, said, expected, computed)
    if implied is not _MISSING:
        printed = None
    return _record(Claim(id, "corrected", printed, corrected, **told))


def remark(
    id: str,
    *,
    corrected: str,
    claim: str = "",
    why: str = "",
    kind: str | None = None,
    severity: int | None = None,
) -> None:
    """Record what is right where no number settles a claim.

    Args:
        id: SOURCE-section-number.
        corrected: The right statement, one sentence.
        claim: What the source says, in one sentence.
        why: The explanation on the page of claims, in Markdown.
        kind: rounding, wrong, misleading, inconsistent, imprecise or convention.
        severity: From 1 (a last digit) to 5 (whoever believes it goes wrong).

    Raises:
        InputError: If ``id``, ``kind`` or ``severity`` is malformed or ``corrected`` is empty.

    Example:
        >>> remark("OPT-2-2", corrected="Scores are divided by the root of the width.")
        OPT-2-2 remarked: Scores are divided by the root of the width.
    """
    _require_form(id, kind, severity)
    if not corrected.strip():
        raise InputError(f"{id}: a remark needs a sentence, got an empty one")
    told: dict[str, Any] = {"claim": claim, "kind": kind, "severity": severity}
    _record(Claim(id, "remarked", corrected=corrected, **told))


def is_strict() -> bool:
    """Whether what fails raises an error: everywhere but in the notebook of a reader.

    ``MATHLM_STRICT`` is 1 where the book is built and tested and 0 where somebody wants
    sentences; where it is unset, only a notebook has sentences.

    Raises:
        ConfigError: If ``MATHLM_STRICT`` is set to something else than 0 or 1.
    """
    choice = os.environ.get(SWITCH, "")
    if choice not in {"", "0", "1"}:
        raise ConfigError(f"{SWITCH}={choice!r} must be 0, 1 or unset")
    return choice == "1" or (not choice and _notebook() is None)


def _record(claim: Claim) -> None:
    LEDGER[claim.id] = claim
    print(claim)  # the one line that a reader sees, and that nbval compares


def _fail(id: str, said: str, expected: Any, computed: Any) -> None:
    if is_strict():
        raise ClaimError(f"{id}: {said}")
    print(f"{id}: {_sentence(_short(expected), f'you have {_short(computed)}')}")


def _require_form(id: str, kind: str | None, severity: int | None) -> None:
    if not ID.fullmatch(id):
        raise InputError(
            f"claim id {id!r} is not of the form SOURCE-section-number, e.g. VOM-8.4-4"
        )
    if kind not in {None, *KINDS}:
        raise InputError(f"{id}: kind={kind!r} must be one of {', '.join(KINDS)}")
    if severity not in {None, 1, 2, 3, 4, 5}:
        raise InputError(f"{id}: severity={severity!r} must be 1, 2, 3, 4 or 5")


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


# --- what a reader changed --------------------------------------------------------------------

_HERE = '__import__("sys").modules["mathlm.claims"]'
_SEEN: list[tuple[str, Any]] = []  # what the assertion that runs has compared


def _notebook() -> Any:
    """The IPython shell if this process is the kernel of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    return shell if type(shell).__name__ in {"ZMQInteractiveShell", "Shell"} else None


class _Forgiving(ast.NodeTransformer):
    """Lets a cell go on where one of its assertions fails, those inside functions apart."""

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        text = ast.unparse(node.test)
        node.test = _Seeing().visit(node.test)
        return _guarded(node, text)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        called = getattr(node.value, "func", None)
        name = str(getattr(called, "attr", getattr(called, "id", "")))
        return _guarded(node, ast.unparse(node)) if name.startswith("assert") else node


class _Seeing(ast.NodeTransformer):
    """Keeps the values that one assertion compares."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        node.left = _seeing(node.left)
        node.comparators = [_seeing(side) for side in node.comparators]
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        inside = isinstance(node, ast.BoolOp | ast.UnaryOp)
        return super().generic_visit(node) if inside else node


def _seeing(side: ast.expr) -> ast.expr:
    if not any(isinstance(node, ast.Name) for node in ast.walk(side)):
        return side
    call: Any = ast.parse(f"{_HERE}._see({ast.unparse(side)!r}, None)", mode="eval").body
    call.args[1] = side
    return ast.fix_missing_locations(ast.copy_location(call, side))


def _guarded(node: ast.stmt, text: str) -> ast.AST:
    lines = f"try:\n  {_HERE}._SEEN.clear()\nexcept AssertionError as __failed__:\n"
    guard: Any = ast.parse(f"{lines}  {_HERE}._say({text!r}, __failed__)").body[0]
    guard.body.append(node)
    return ast.fix_missing_locations(ast.copy_location(guard, node))


def _see(text: str, value: Any) -> Any:
    _SEEN.append((text, value))
    return value


def _say(text: str, error: AssertionError) -> None:
    """One sentence for an assertion that failed."""
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    told = [line for line in lines if "ifference" in line or len(lines) == 1][:1]
    values = [f"{name} = {_short(value)}" for name, value in _SEEN]
    if len(values) == 1:
        values = [_short(_SEEN[0][1])]
    you = f"you have {', '.join(values)}" if values else "that is not so"
    print(
        _sentence(shorten(text, 100), " ".join(filter(None, [you, *map("({})".format, told)])))
    )


def _sentence(book: str, you: str) -> str:
    return f"the book has {book} here; {you}, after your change or on your machine"


def _short(value: Any) -> str:
    """A value as a sentence can hold it."""
    value = _plain(value)
    return f"{value:.6g}" if isinstance(value, float) else reprlib.repr(value)


if (_shell := _notebook()) is not None and not is_strict():
    _shell.ast_transformers[:] = [
        other for other in _shell.ast_transformers if type(other).__name__ != "_Forgiving"
    ] + [_Forgiving()]

__all__ = ["KINDS", "LEDGER", "Claim", "check", "is_strict", "remark"]
