"""The pages of claims, made from the ledger by ``tools/claims.py``.

``claims.md`` is a list of errata: first what must not be repeated, then a table that can be
searched. ``claims-vom.md`` and its kin hold the reasons, and what stands as printed, folded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

SOURCES = {
    "OPT": ("Optimization & Math Foundations for Language Models", "Topic"),
    "VOM": ("Vectors of meaning", "Chapter"),
    "AIM": ("The mathematics of AI", "Section"),
    "MFP": ("ML First Principles, Part II", "Part"),
}
KINDS = ["wrong", "misleading", "inconsistent", "imprecise", "convention", "rounding"]
WORST = 30
HALF = 11  # the chapter of VOM with which its second page begins
SENTENCE = re.compile(r"^.+?[.!?](?=\s+[A-Z$*`({]|$)", re.DOTALL)

Claim = dict[str, str]

HEAD = """# Claims and corrections

Each chapter recomputes what the four source documents state on its subject, each time the book
is built, and these pages are made from those cells. Of {total} claims {verified} stand as
printed, {corrected} are corrected, and {remarked} are put right in words, since no number
settles them. The reasons, and the claims that stand, are on a page for each source: {sources}.

A *severity* says how far somebody who believes a statement goes astray: 1 is a last digit, 5 a
wrong result.
"""
FORM = """<form class="claims-filter" hidden>
<label>Search <input type="search" name="words" placeholder="attention, 9.8, bits ..."></label>
{selects}
<output></output>
</form>"""
SCRIPT = (Path(__file__).parent / "claims_filter.js").read_text(encoding="utf-8")
COLUMNS = {"source": 0, "kind": 2, "severity": 3, "chapter": 4}


def pages(ledger: list[Claim], titles: dict[str, str]) -> dict[str, str]:
    """The files in MyST, by their names: the list of errata, and one for each source."""
    ledger = sorted(ledger, key=order)
    found = {"claims.md": errata(ledger, titles)}
    for file, own in groupby(ledger, key=lambda claim: file_of(claim["id"])):
        found[file] = reasons(list(own), titles)
    return found


def file_of(id: str) -> str:
    """The page that holds the reason of a claim; the longest source has two."""
    source, part = re.split(r"[-.]", id)[:2]
    half = ("-1" if part.isdigit() and int(part) < HALF else "-2") if source == "VOM" else ""
    return f"claims-{source.lower()}{half}.md"


def order(claim: Claim) -> list[tuple[int, int, str]]:
    """By source, then by section, then by number."""
    parts = re.split(r"[-.]", claim["id"])
    source = list(SOURCES).index(parts[0]) if parts[0] in SOURCES else len(SOURCES)
    return [(source, 0, "")] + [
        (0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts[1:]
    ]


def errata(ledger: list[Claim], titles: dict[str, str]) -> str:
    """The page that a reader looks things up in."""
    count = Counter(claim["verdict"] for claim in ledger)
    numbers = {verdict: count[verdict] for verdict in ("verified", "corrected", "remarked")}
    files = {file_of(claim["id"]): claim["id"][:3] for claim in ledger}
    links = ", ".join(f"[{_title(file, source)}]({file})" for file, source in files.items())
    wrong = [claim for claim in ledger if claim["verdict"] != "verified"]
    judged = (c for c in wrong if "severity" in c and "claim" in c)
    worst = sorted(judged, key=_rank)[:WORST]
    lines = [HEAD.format(total=len(ledger), sources=links, **numbers)]
    lines += ["## What must not be repeated", "", *_worst(worst, titles), ""]
    lines += ["## All corrections", "", "```{raw} html", *_table(wrong, titles), "```"]
    return "\n".join(lines) + "\n"


def _rank(claim: Claim) -> tuple[int, int]:
    kind = claim.get("kind", "")
    return -int(claim["severity"]), KINDS.index(kind) if kind in KINDS else len(KINDS)


def _worst(claims: list[Claim], titles: dict[str, str]) -> Iterator[str]:
    """Two sentences for each: what is said, and what is so."""
    for n, claim in enumerate(claims, start=1):
        stated = claim["claim"]
        links = f"{_reason_link(claim['id'])}, {_chapter_link(claim, titles)}"
        yield f"{n}. *{stated}* {_right(claim)} ({links})"


def _right(claim: Claim) -> str:
    """The first sentence of the reason; without one, the right value."""
    if claim.get("why") and (found := SENTENCE.match(" ".join(claim["why"].split()))):
        return found[0]
    if claim["verdict"] == "remarked":
        text = claim["corrected"].strip()
        return f"{text[0].upper()}{text[1:].rstrip('.')}."
    return f"Right is {_cell(claim['corrected'])}."


def _table(claims: list[Claim], titles: dict[str, str]) -> Iterator[str]:
    """All corrections as one table; the script only hides rows."""
    selects = "\n".join(
        f'<label>{name.capitalize()} <select name="{name}" data-column="{column}">'
        "<option value=''>all</option></select></label>"
        for name, column in COLUMNS.items()
    )
    yield FORM.format(selects=selects)
    yield '<div class="pst-scrollable-table-container"><table class="table claims-table">'
    heads = "".join(
        f"<th>{name}</th>" for name in ("claim", "correction", "kind", "severity", "chapter")
    )
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for claim in claims:
        cells = [_reason_link(claim["id"]), _summary(claim), claim.get("kind", "")]
        cells += [claim.get("severity", ""), _chapter_link(claim, titles)]
        row = "".join(f"<td>{cell}</td>" for cell in cells)
        yield f'<tr id="{claim["id"]}">{row}</tr>'
    yield "</tbody></table></div>"
    yield f"<script>\n{SCRIPT}</script>"


def _summary(claim: Claim) -> str:
    """What is said and what is right, in HTML."""
    right = escape(claim["corrected"], quote=False)
    for name in ("printed", "implied"):
        if name in claim:
            right = f"{name} {escape(claim[name], quote=False)}, right {right}"
    return " ".join(filter(None, [escape(claim.get("claim", ""), quote=False), right]))


# --- one source -----------------------------------------------------------------------------


def reasons(ledger: list[Claim], titles: dict[str, str]) -> str:
    """The corrections of one page with their reasons, and what stands as printed."""
    source, (title, unit) = ledger[0]["id"][:3], SOURCES[ledger[0]["id"][:3]]
    lines = [
        f"# {_title(file_of(ledger[0]['id']), source)}: {title}",
        "",
        "The list of all corrections, with a search, stands",
    ]
    lines += ["under [Claims and corrections](claims.md).", ""]
    for part, claims in groupby(ledger, key=lambda claim: _part(claim["id"])):
        own = list(claims)
        lines += [f"## {unit} {part}", ""]
        lines += _corrections([c for c in own if c["verdict"] != "verified"], titles)
        lines += _verified([c for c in own if c["verdict"] == "verified"], titles)
    return "\n".join(lines).rstrip() + "\n"


def _title(file: str, source: str) -> str:
    """VOM, or one of its halves."""
    return source + {"1": f" 1 to {HALF - 1}", "2": f" {HALF} to the end"}.get(file[-4], "")


def _part(id: str) -> str:
    """Chapter of a source: 9 of VOM-9.8-1."""
    return re.split(r"[-.]", id)[1]


def _corrections(claims: list[Claim], titles: dict[str, str]) -> Iterator[str]:
    """Each correction with its reason; claims of one note stand together above it."""
    for note, together in groupby(claims, key=lambda claim: claim["note"]):
        for claim in together:
            judged = [
                claim.get("kind"),
                "severity" in claim and f"severity {claim['severity']}",
            ]
            head = [f"**{claim['id']}**", *filter(None, judged), _chapter_link(claim, titles)]
            printed = "".join(
                f"{name.capitalize()} {_cell(claim[name])}, right: "
                for name in ("printed", "implied")
                if name in claim
            )
            yield from [_anchor(claim["id"]), "", " · ".join(map(str, head)) + "\\"]
            stated = f"{claim['claim']} " if claim.get("claim") else ""
            yield from [f"{stated}{printed or 'Right: '}{_cell(claim['corrected'])}", ""]
        yield from [note, ""]


def _verified(claims: list[Claim], titles: dict[str, str]) -> Iterator[str]:
    """What stands as printed, folded."""
    if not claims:
        return
    yield from [
        f":::{{dropdown}} {len(claims)} verified",
        "",
        "| claim | statement | printed |",
    ]
    yield "| --- | --- | --- |"
    for claim in claims:
        link = f'<a id="{claim["id"]}" {_chapter_link(claim, titles, claim["id"])[3:]}'
        yield f"| {link} | {claim.get('claim', ' ')} | {_cell(claim['printed'])} |"
    yield from [":::", ""]


def _anchor(id: str) -> str:
    return f'<div id="{id}"></div>'


def _reason_link(id: str) -> str:
    return f'<a href="{file_of(id)[:-3]}.html#{id}">{id}</a>'


def _chapter_link(claim: Claim, titles: dict[str, str], text: str = "") -> str:
    """The cell of the chapter that computes it; ``tools/staged.py`` gives it this address."""
    chapter = claim["chapter"]
    shown = text or titles[chapter]
    return f'<a href="{chapter}.html#claim-{claim["id"]}">{escape(shown, quote=False)}</a>'


def _cell(text: str) -> str:
    escaped = re.sub(r"([\\|*_$<>`\[\]])", r"\\\1", " ".join(text.split()))
    return escaped or " "
