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
    tree = ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE))
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
    cleaned = re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE)
    found = []
    for call in calls(source):
        said = {k.arg: k.value for k in call.keywords}
        for value in (said.get("printed"), said.get("corrected")):
            numbers = [] if value is None or "tol" in said else ast.walk(value)
            texts = [ast.get_source_segment(cleaned, n) for n in numbers if _is_float(n)]
            found += [text for text in texts if text and re.search(r"\.\d+0$", text)]
    return found


def _is_float(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


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
        noted = notes(prose)
        code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        claims = [entry(call, path.stem) for source in code for call in calls(source)]
        ledger += claims
        for text in (text for source in code for text in lost_zeros(source)):
            found.append(f"{path.stem}: {text} is read without its last zero: give tol=")
        wrong = {claim["id"]: claim for claim in claims if claim["verdict"] != "verified"}
        for id, claim in wrong.items():
            claim["note"] = noted.get(id, "")
            if id not in noted:
                found.append(f"{path.stem}: {id} has no note 'Correction: {id}'")
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


def order(claim: Claim) -> list[tuple[int, int, str]]:
    parts = re.split(r"[-.]", claim["id"])
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts]


HEAD = """# Claims and corrections

Each chapter recomputes the checkable numbers that the four source documents print on its
subject, each time the book is built. This page is made from those cells. The chapters written
so far hold {total} claims: {verified} stand as printed, {corrected} are corrected, and
{remarked} are put right in words, since no number settles them. The reason stands under each.
"""


def page(ledger: list[Claim], titles: dict[str, str]) -> str:
    """The page "Claims and corrections" in MyST."""
    count = Counter(claim["verdict"] for claim in ledger)
    numbers = {verdict: count[verdict] for verdict in ("verified", "corrected", "remarked")}
    wrong = [claim for claim in ledger if claim["verdict"] != "verified"]
    right = [claim for claim in ledger if claim["verdict"] == "verified"]
    lines = [HEAD.format(total=len(ledger), **numbers), "## Corrections", ""]
    lines += [*_corrections(wrong, titles), "## Verified", "", *_tables(right, titles)]
    return "\n".join(lines).rstrip() + "\n"


def _by_source(claims: list[Claim]) -> list[tuple[str, list[Claim]]]:
    """Heading and claims of each source that has any, in the order of its sections."""
    groups = []
    for source, name in SOURCES.items():
        rows = sorted((c for c in claims if c["id"].startswith(source)), key=order)
        if rows:
            groups.append((f"**{source}**, *{name}*", rows))
    return groups


def _corrections(claims: list[Claim], titles: dict[str, str]) -> list[str]:
    """Each correction with its reason; claims of one note stand together above it."""
    lines: list[str] = []
    for heading, rows in _by_source(claims):
        lines += [heading, ""]
        for i, claim in enumerate(rows):
            link = f"[{titles[claim['chapter']]}]({claim['chapter']}.ipynb)"
            printed = f"printed {_cell(claim['printed'])}, " if "printed" in claim else ""
            lines.append(
                f"- **{claim['id']}** ({link}): {printed}right: {_cell(claim['corrected'])}"
            )
            if i + 1 == len(rows) or rows[i + 1]["note"] != claim["note"]:
                lines += ["", *(f"  {line}".rstrip() for line in claim["note"].split("\n")), ""]
    return lines


def _tables(claims: list[Claim], titles: dict[str, str]) -> list[str]:
    """One table a source."""
    lines: list[str] = []
    for heading, rows in _by_source(claims):
        lines += [
            heading,
            "",
            "| claim | printed, and found | chapter |",
            "| --- | --- | --- |",
        ]
        for claim in rows:
            link = f"[{titles[claim['chapter']]}]({claim['chapter']}.ipynb)"
            lines.append(f"| {claim['id']} | {_cell(claim['printed'])} | {link} |")
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
