"""Collect the ledger of claims from the notebooks.

    python tools/claims.py write    book/claims.json and book/claims.md
    python tools/claims.py check    exit 1 unless both are what the notebooks say

The calls ``check(id, computed, printed=..., corrected=...)`` and ``remark(id, corrected=...)``
are parsed, not run: running them is what ``make test`` and ``make book`` do.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
SECTIONS = json.loads((Path(__file__).parent / "source_sections.json").read_text())
SOURCES = {
    "OPT": "Optimization & Math Foundations for Language Models",
    "VOM": "Vectors of meaning",
    "AIM": "The mathematics of AI",
    "MFP": "ML First Principles, Part II",
}
NOTE = re.compile(r"^:{3,}\{admonition\} Correction: *(.+?) *$", re.MULTILINE)
ID = re.compile(r"^(OPT|VOM|AIM|MFP)-(\w+(?:\.\w+)*?)(?:-(\w+))?$")

Claim = dict[str, str]


class LedgerError(Exception):
    """The ledger and the notebooks do not fit together."""


def calls(source: str) -> list[ast.Call]:
    """The ``check`` and ``remark`` calls of a code cell."""
    tree = ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE))
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in {"check", "remark"}
    ]


def entry(call: ast.Call, chapter: str) -> Claim:
    """What one call says, values as they are written."""
    if not call.args or not isinstance(call.args[0], ast.Constant):
        raise LedgerError(
            f"{chapter}: {ast.unparse(call)[:60]} needs its id as a literal string"
        )
    said = {k.arg: _shown(k.value) for k in call.keywords if k.arg}
    claim = {"id": call.args[0].value, "chapter": chapter}
    if getattr(call.func, "attr", getattr(call.func, "id", "")) == "remark":
        return {**claim, "verdict": "remarked", "corrected": said["corrected"]}
    verdict = "corrected" if "corrected" in said else "verified"
    return {**claim, "verdict": verdict, **said}


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
        noted = {id for title in NOTE.findall(prose) for id in re.split(r"[,;\s]+", title)}
        code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        claims = [entry(call, path.stem) for source in code for call in calls(source)]
        ledger += claims
        for claim in claims:
            if claim["verdict"] != "verified" and claim["id"] not in noted:
                found.append(
                    f"{path.stem}: {claim['id']} has no note 'Correction: {claim['id']}'"
                )
        for id in sorted(noted - {c["id"] for c in claims if c["verdict"] != "verified"}):
            found.append(f"{path.stem}: the note on {id} corrects a claim that no cell checks")
    twice = [id for id, n in Counter(claim["id"] for claim in ledger).items() if n > 1]
    found += [f"{id} is used {'in ' + ' and '.join(_where(ledger, id))}: twice" for id in twice]
    found += [fault for claim in ledger if (fault := _unknown(claim))]
    return ledger, found


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


def order(claim: Claim) -> list[tuple[int, int, str]]:
    parts = re.split(r"[-.]", claim["id"])
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts]


HEAD = """# Claims and corrections

Every checkable number of the four source documents is recomputed by a cell of the book, each
time the book is built. This page is made from those cells. So far {total} claims are in the
ledger: {verified} hold as printed, {corrected} are corrected, and {remarked} are put right in
words, since no number settles them. The chapter named beside a correction says why.
"""


def page(ledger: list[Claim], titles: dict[str, str]) -> str:
    """The page "Claims and corrections" in MyST."""
    count = Counter(claim["verdict"] for claim in ledger)
    numbers = {verdict: count[verdict] for verdict in ("verified", "corrected", "remarked")}
    lines = [HEAD.format(total=len(ledger), **numbers), "## Corrections", ""]
    wrong = [claim for claim in ledger if claim["verdict"] != "verified"]
    lines += _tables(wrong, ("printed", "corrected"), titles)
    right = [claim for claim in ledger if claim["verdict"] == "verified"]
    lines += ["## Verified", "", *_tables(right, ("printed",), titles)]
    return "\n".join(lines).rstrip() + "\n"


def _tables(claims: list[Claim], columns: tuple[str, ...], titles: dict[str, str]) -> list[str]:
    """One table a source, in the order of its sections."""
    lines: list[str] = []
    for source, name in SOURCES.items():
        rows = sorted((c for c in claims if c["id"].startswith(source)), key=order)
        if not rows:
            continue
        lines += [f"**{source}**, *{name}*", ""]
        lines.append(
            "| claim | " + " | ".join(columns).replace("corrected", "right") + " | chapter |"
        )
        lines.append("| --- " * (len(columns) + 2) + "|")
        for claim in rows:
            cells = " | ".join(_cell(claim.get(column, "")) for column in columns)
            link = f"[{titles[claim['chapter']]}]({claim['chapter']}.ipynb)"
            lines.append(f"| {claim['id']} | {cells} | {link} |")
        lines.append("")
    return lines


def _cell(text: str) -> str:
    escaped = re.sub(r"([\\|*_$<>`\[\]])", r"\\\1", " ".join(text.split()))
    return escaped or " "


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
    wanted = {
        BOOK / "claims.json": json.dumps(ledger, indent=1, ensure_ascii=False) + "\n",
        BOOK / "claims.md": page(ledger, titles(paths)),
    }
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
