"""How far each assertion stands from its bound: recorded while a page or a test runs.

``install`` goes into a kernel (tools/machines.py puts it there); pytest loads this file as a
plugin. Each ``assert value < bound``, ``assert_allclose`` and ``check`` leaves one line of JSON
in the folder that MATHLM_MARGINS names: the margin, which is negative where it fails.
"""

from __future__ import annotations

import ast
import hashlib
import json
import operator
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = "MATHLM_MARGINS"
ORDER = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
CLOSE = {"assert_allclose", "assert_close"}
NUMBER = r"([-+]?(?:\d[\d_]*\.?\d*(?:e[-+]?\d+)?|\.\d+))"
EXPLAINED = re.compile(rf"^(?:assert )?\(?{NUMBER} (<=?|>=?) {NUMBER}\)?$", re.IGNORECASE)


class Margins(ast.NodeTransformer):
    """Rewrites what asserts an order or a closeness so that its margin is recorded."""

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        """Record each order inside one assertion."""
        node.test = _Orders().visit(node.test)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Record one call that asserts closeness, or one entry of the ledger."""
        self.generic_visit(node)
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name not in CLOSE | {"check"}:
            return node
        recorder = ast.Name("__check__" if name == "check" else "__close__", ast.Load())
        args = [ast.Constant(ast.unparse(node)), node.func, *node.args]
        return _at(node, ast.Call(recorder, args, node.keywords))


class _Orders(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if not all(type(op) in ORDER for op in node.ops):
            return node
        signs = ast.Constant(" ".join(ORDER[type(op)] for op in node.ops))
        args = [ast.Constant(ast.unparse(node)), signs, node.left, *node.comparators]
        return _at(node, ast.Call(ast.Name("__order__", ast.Load()), args, []))


def _at(old: ast.AST, new: Any) -> Any:
    return ast.fix_missing_locations(ast.copy_location(new, old))


class Recorder:
    """Writes one line for each margin; the result of what it watches is unchanged."""

    def __init__(self, path: Path) -> None:
        self.path, self.where = path, ""

    def note(self, text: str, left: Any, sign: str, right: Any) -> None:
        """One line, or none where the two sides are not numbers."""
        import numpy as np

        try:
            a, b = (np.asarray(_plain(side), dtype=float) for side in (left, right))
            gap = b - a if "<" in sign else a - b
            at = int(np.nanargmin(gap))
            sides = [float(x.flat[at]) for x in np.broadcast_arrays(a, b)]
        except (TypeError, ValueError, RuntimeError):
            return
        row = {"where": self.where, "text": text, "left": sides[0], "right": sides[1]}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "sign": sign, "margin": float(gap.flat[at])}) + "\n")

    def order(self, text: str, signs: str, *values: Any) -> Any:
        """``values[0] < values[1] < ...`` with the signs given."""
        result: Any = True
        for sign, left, right in zip(signs.split(), values, values[1:], strict=False):
            self.note(text, left, sign, right)
            result = COMPARE[sign](left, right)
            if len(values) > 2 and not result:
                return result
        return result

    def close(self, text: str, function: Callable, *args: Any, **kwargs: Any) -> Any:
        """The largest difference in units of what is allowed, which must stay below 1."""
        import numpy as np

        if "rtol" in kwargs or "atol" in kwargs:
            try:
                a, b = (np.asarray(_plain(x), dtype=float) for x in args[:2])
                allowed = kwargs.get("atol", 0.0) + kwargs.get("rtol", 0.0) * np.abs(b)
                with np.errstate(all="ignore"):
                    share = np.nan_to_num(np.abs(a - b) / allowed, nan=0.0)
                self.note(text, share.max(initial=0.0), "<=", 1.0)
            except (TypeError, ValueError, RuntimeError):
                pass
        return function(*args, **kwargs)

    def check(self, text: str, function: Callable, *args: Any, **kwargs: Any) -> Any:
        """An entry of the ledger with a tolerance: the difference in units of it."""
        expected = kwargs.get("corrected", kwargs.get("printed"))
        if kwargs.get("tol") and expected is not None and len(args) > 1:
            self.close(
                text, lambda *a, **k: None, args[1], expected, rtol=0.0, atol=kwargs["tol"]
            )
        return function(*args, **kwargs)


def _plain(value: Any) -> Any:
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


def cell_name(source: str) -> str:
    """A cell by its code, since a kernel does not know which page it runs."""
    return hashlib.sha1(source.strip().encode()).hexdigest()[:12]


def install(shell: Any) -> None:
    """Record the margins of whatever the IPython ``shell`` runs from now on."""
    folder = Path(os.environ[FOLDER])
    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(folder / f"{os.getpid()}.jsonl")
    shell.user_ns.update(
        __order__=recorder.order, __close__=recorder.close, __check__=recorder.check
    )
    shell.ast_transformers.append(Margins())
    shell.events.register(
        "pre_run_cell", lambda info: setattr(recorder, "where", cell_name(info.raw_cell))
    )


def pytest_assertion_pass(item: Any, lineno: int, orig: str, expl: str) -> None:
    """Record an order of two numbers that a test asserted (pytest calls this)."""
    found = EXPLAINED.match(expl.split("\n")[0].strip())
    if found and os.environ.get(FOLDER):
        recorder = Recorder(Path(os.environ[FOLDER]) / f"{os.getpid()}.jsonl")
        recorder.where = item.nodeid
        left, sign, right = found.groups()
        recorder.note(orig, float(left), sign, float(right))
