"""Whether what ``printed=`` says stands in the text of the source, where that is at hand."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

NUMBER = re.compile(
    r"((?:\d{1,3}(?:[,\u202f]\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
    r"(?:\s*(?:×|x|\*|·|\\times|\\cdot)\s*10\s*\^?\s*\{?\s*(-?\d+)|e([-+]?\d+))?"
    r"\s*(%|\\%|thousand|million|billion|trillion|K\b|M\b|B\b|T\b|GB|MB)?"
)
UNITS = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
UNITS |= {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "GB": 1e9, "MB": 1e6, "%": 0.01, "\\%": 0.01}
HEADING = re.compile(r"^[#* ]*(\d+(?:\.\d+)+)\.? ")

Claim = dict[str, str]


def lost(ledger: list[Claim], folder: Path) -> list[str]:
    """One line for each printed number that neither its section nor the whole source has."""
    found = []
    for claim in ledger:
        source, section = claim["id"].split("-")[:2]
        numbers = numbers_of(claim.get("printed", ""))
        if not numbers or not (file := folder / f"{source}.txt").exists():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        here, anywhere = values(section_of(text, section)), values(text)
        missing = [n for n in numbers if not is_among(n, here)]
        elsewhere = all(is_among(n, anywhere) for n in missing)
        if missing:
            place = f"section {section}" + ("" if elsewhere else " nor elsewhere in the source")
            shown = ", ".join(f"{n:g}" for n in missing)
            found.append(f"{claim['id']} ({claim['chapter']}): {shown} not in {place}")
    return found


def numbers_of(printed: str) -> list[float]:
    """The numbers of a printed value as it is written in a cell; none in words or truths."""
    try:
        nodes = list(ast.walk(ast.parse(printed, mode="eval")))
    except SyntaxError:
        return []
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [abs(float(v)) for v in constants if type(v) in {int, float}]


def is_among(number: float, values: list[float]) -> bool:
    return any(abs(number - value) <= 1e-9 * abs(number) for value in values)


@cache
def values(text: str) -> list[float]:
    """The numbers of a text, in each way that it may mean them."""
    found: set[float] = set()
    for match in NUMBER.finditer(text.replace("−", "-")):
        digits, times_ten, exponent, unit = match.groups()
        bare = float(re.sub(r"[,\u202f]", "", digits))
        power = 10.0 ** int(times_ten or exponent or 0)
        found |= {bare, bare * power, bare * power * UNITS.get(unit or "", 1.0)}
    return sorted(found)


def section_of(text: str, section: str) -> str:
    """The text from the heading of a section to the next heading; all if it has none."""
    lines = text.split("\n")
    if section.isdigit():  # a topic: its number is a line
        numbered = [i for i, line in enumerate(lines) if line.strip() == section]
        following = [i for i, line in enumerate(lines) if line.strip() == str(int(section) + 1)]
    else:
        named = [(i, m[1]) for i, line in enumerate(lines) if (m := HEADING.match(line))]
        numbered = [i for i, name in named if name == section][-1:]
        following = [i for i, name in named if not f"{name}.".startswith(f"{section}.")]
    if not numbered:
        return text
    end = next((i for i in following if i > numbered[0]), None)
    return "\n".join(lines[numbered[0] : end])
