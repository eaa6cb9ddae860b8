"""Collect the ledger of claims from the notebooks.

    python tools/claims.py write            book/claims.json and the pages of claims
    python tools/claims.py check            exit 1 unless they are what the notebooks say
    python tools/claims.py sources FOLDER   printed numbers that the sources do not print

The calls ``check(id, computed, printed=..., corrected=...)`` and ``remark(id, corrected=...)``
are parsed, not run: running them is what ``make test`` and ``make book`` do. The note of a
correction is its box in the prose, or ``why=`` where the page keeps it out of sight.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path

import claims_page
import claims_sources

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
SECTIONS = json.loads((Path(__file__).parent / "source_sections.json").read_text())
NOTE = re.compile(
    r"^(:{3,})\{admonition\} Correction: *(?P<ids>[^\n]+?) *\n"
    r"(?::\w+:[^\n]*\n)*(?P<body>.*?)^\1 *$",
    re.MULTILINE | re.DOTALL,
)
ID = re.compile(r"^(OPT|VOM|AIM|MFP)-(\w+(?:\.\w+)*?)(?:-(\w+))?$")

Claim = dict[str, str]


class LedgerError(Exception):
    """The ledger and the notebooks do not fit together."""


def calls(source: str) -> list[ast.Call]:
    """The ``check`` and ``remark`` calls of a code cell."""
    tree = ast.parse(re.sub(r"^(\s*)[%!](?:.*\\\n)*.*$", r"\1pass", source, flags=re.MULTILINE))
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in {"check", "remark"}
    ]


def lost_zeros(source: str) -> list[str]:
    """Numbers of claims that end in a zero which Python drops: 0.50 claims more than 0.5.

    Without tol= the precision of a claim is that of the number as written, and Python reads
    0.50 as 0.5.
    """
    cleaned = re.sub(r"^(\s*)[%!](?:.*\\\n)*.*$", r"\1pass", source, flags=re.MULTILINE)
    found = []
    for call in calls(source):
        said = {k.arg: k.value for k in call.keywords}
        for value in map(said.get, ("printed", "implied", "corrected")):
            numbers = [] if value is None or "tol" in said else ast.walk(value)
            texts = [ast.get_source_segment(cleaned, n) for n in numbers if _is_float(n)]
            found += [text for text in texts if text and re.search(r"\.\d+0$", text)]
    return found


def is_typed(call: ast.Call) -> bool:
    """Whether a ``check`` computes nothing: its value is typed, as the printed one is."""
    is_check = getattr(call.func, "attr", getattr(call.func, "id", "")) == "check"
    return is_check and not any(
        isinstance(node, ast.Name) for value in call.args[1:2] for node in ast.walk(value)
    )


def _is_float(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def entry(call: ast.Call, chapter: str) -> Claim:
    """What one call says, values as they are written."""
    if not call.args or not isinstance(call.args[0], ast.Constant):
        raise LedgerError(
            f"{chapter}: {ast.unparse(call)[:60]} needs its id as a literal string"
        )
    said = {k.arg: _shown(k.value) for k in call.keywords if k.arg}
    is_remark = getattr(call.func, "attr", getattr(call.func, "id", "")) == "remark"
    verdict = "corrected" if "corrected" in said else "verified"
    verdict = "remarked" if is_remark else verdict
    return {"id": call.args[0].value, "chapter": chapter, "verdict": verdict, **said}


def _shown(node: ast.expr) -> str:
    """A literal as a reader writes it: strings without their quotes."""
    return (
        node.value
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        else ast.unparse(node)
    )


def collect(paths: list[Path]) -> tuple[list[Claim], list[str]]:
    """Every claim of the notebooks in order, and one sentence for each fault."""
    ledger, found = [], []
    for path in paths:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        prose = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        noted = notes(prose)
        code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        claims = [entry(call, path.stem) for source in code for call in calls(source)]
        ledger += claims
        for text in (text for source in code for text in lost_zeros(source)):
            found.append(f"{path.stem}: {text} is read without its last zero: give tol=")
        wrong = {claim["id"]: claim for claim in claims if claim["verdict"] != "verified"}
        for id, claim in wrong.items():
            claim["note"] = noted.get(id, "") or claim.get("why", "")
            if not claim["note"]:
                found.append(f"{path.stem}: {id} has no note 'Correction: {id}' and no why=")
        for id in sorted(set(noted) - set(wrong)):
            found.append(f"{path.stem}: the note on {id} corrects a claim that no cell checks")
    twice = [id for id, n in Counter(claim["id"] for claim in ledger).items() if n > 1]
    found += [f"{id} is used {'in ' + ' and '.join(_where(ledger, id))}: twice" for id in twice]
    found += [fault for claim in ledger if (fault := _unknown(claim))]
    return ledger, found


def notes(prose: str) -> dict[str, str]:
    """What the correction notes say, by the ids in their titles."""
    found = {}
    for note in NOTE.finditer(prose):
        for id in re.split(r"[,;\s]+", note["ids"]):
            found[id] = note["body"].strip()
    return found


def _where(ledger: list[Claim], id: str) -> list[str]:
    return [claim["chapter"] for claim in ledger if claim["id"] == id]


def _unknown(claim: Claim) -> str:
    match = ID.match(claim["id"])
    if match is None:
        return f"{claim['chapter']}: {claim['id']!r} is not SOURCE-section-number"
    source, section = match[1], match[2]
    if section not in SECTIONS[source]:
        return f"{claim['chapter']}: {claim['id']}: {source} has no section {section}"
    return ""


def titles(paths: list[Path]) -> dict[str, str]:
    """First heading of each notebook."""
    found = {}
    for path in paths:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        match = re.search(r"^# (.+)$", text, re.MULTILINE)
        found[path.stem] = match[1].strip() if match else path.stem
    return found


def main(argv: list[str]) -> int:
    paths = sorted(BOOK.glob("[0-9][0-9]-*.ipynb"))
    ledger, found = collect(paths)
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    if argv[:1] == ["sources"]:
        lost = claims_sources.lost(ledger, Path(argv[1]))
        print("\n".join(lost) or "every printed number stands in its source")
        return bool(lost)
    pages = claims_page.pages(ledger, titles(paths))
    wanted = {BOOK / name: text for name, text in pages.items()}
    wanted[BOOK / "claims.json"] = json.dumps(ledger, indent=1, ensure_ascii=False) + "\n"
    if argv == ["write"]:
        for path, text in wanted.items():
            path.write_text(text, encoding="utf-8")
        print(f"{len(ledger)} claims")
        return 0
    stale = [p for p, text in wanted.items() if not p.exists() or p.read_text("utf-8") != text]
    for path in stale:
        print(f"{path.name} is not what the notebooks say: run tools/claims.py write")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
