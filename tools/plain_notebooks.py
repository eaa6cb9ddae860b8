"""Write the pages as notebooks that read well where MyST is not understood, as on Colab.

    python tools/plain_notebooks.py [FOLDER]    into _build/notebooks if none is named

Roles become words with links to the site, equations carry their numbers, boxes are quotations,
and what is folded on a page is folded here. Code stays to the letter; cells that a page hides
are shut and run as before, and those of its checks and solutions show nothing until they run.
Numbers are counted as Sphinx counts them; if the site has been built, numbers and links are
compared with it. Exits with 1 and a line for each fault.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
import site_check
import yaml
from notebooks import BOOK, BUILD, ROOT, Notebook, code_cells, notebooks, tags
from pybtex.database import Entry, parse_file

FOLDER = BUILD / "notebooks"
SHUT = {"hide-input", "remove-input", "remove-cell"}
TITLED = {"admonition", "dropdown", "tab-item"}
FOLDED = {"dropdown", "tab-item"}
BOXES = {
    *("attention", "caution", "danger", "error", "hint", "important", "note", "seealso"),
    *("tip", "warning"),
}
COLAB = {"provenance": [], "toc_visible": True}
EQUATION = re.compile(r"\$\$ \((eq-[\w-]+)\)")
EXERCISE = re.compile(r"^:{3,}\{exercise-start\}.*\n:label: (\S+)", re.MULTILINE)
OPEN = re.compile(r"(:{3,}|`{3,})\{([a-z-]+)\}\s*(.*)")
OPTION = re.compile(r":([\w-]+):\s*(.*)")
LIVE = re.compile(r"^<section\b.*?^</section>", re.MULTILINE | re.DOTALL)
ROLE = r"\{(?P<role>[a-z:-]+)\}`(?P<target>[^`]+)`"
PIECES = re.compile(
    r"(?P<fence>^(?P<ticks>`{3,})\w*\n.*?^(?P=ticks)$)"
    r"|(?P<display>\$\$(?P<tex>.*?)\$\$(?: \((?P<label>eq-[\w-]+)\))?)"
    r"|(?P<tex_in_line>(?<!\\)\$[^$]+?(?<!\\)\$)"
    rf"|(?P<whole_role>{ROLE})"
    r"|(?P<code>(?P<tick>`+).+?(?P=tick))"
    r"|(?P<link>\]\((?P<url>[^)\s]+)\))",
    re.MULTILINE | re.DOTALL,
)
KEPT = re.compile(
    r"^(`{3,})\w*\n.*?^\1$|\$\$.*?\$\$|(?<!\\)\$[^$]+?(?<!\\)\$|"
    r"(?<!\})(?<!`)`[^`]+`(?!`)|``.+?``",
    re.MULTILINE | re.DOTALL,
)
COUNTED = (  # on a built page, what has a number: the number, then the label
    r'eqno">(?P<number>[^<]*)<a class="headerlink" href="#equation-(?P<label>[\w-]+)"',
    r'caption-number">(?P<number>Fig\. \S*) </span>.*?href="#(?P<label>fig-[\w-]+)"',
    r'id="(?P<label>ex-[\w-]+)">\s*<p class="admonition-title">'
    r'<span class="caption-number">(?P<number>Exercise [^ <]*)',
)
RAW = {
    "role": re.compile(r"\{[a-z:-]+\}`"),
    "directive": re.compile(r"^[> ]*(?::{3,}|`{3,}\{).*$", re.MULTILINE),
    "option of a directive": re.compile(r"^[> ]*:[\w-]+:.*$", re.MULTILINE),
    "label": re.compile(r"^\([\w-]+\)=$|\(eq-[\w-]+\)", re.MULTILINE),
    "link into the sources": re.compile(r"\]\((?!https?://|#)[^)]*\)"),
}


class Place(NamedTuple):
    """What a reference says, and where it leads."""

    words: str
    address: str

    def link(self, words: str = "") -> str:
        """As Markdown, with its own words or these."""
        return f"[{words or self.words}]({self.address})"


# --- what references lead to ----------------------------------------------------------------


@cache
def settings() -> dict[str, str]:
    """Title and address of the site, with a slash at its end."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return {"title": config["title"], "site": config["html"]["baseurl"]}


@cache
def page_address(page: str) -> str:
    return f"{settings()['site']}book/{page}.html"


@cache
def order() -> list[str]:
    """The pages of the table of contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [
        page["file"].rsplit("/", 1)[-1]
        for part in toc["parts"]
        for chapter in part["chapters"]
        for page in [chapter, *chapter.get("sections", [])]
    ]


@cache
def numbers() -> dict[str, str]:
    """What stands before the numbers of each page: its chapter, and a letter if it has several.

    A guide has no number, and Sphinx counts through all of them.
    """
    chapters: dict[str, list[str]] = {}
    for name in order():
        if re.match(r"\d\d-", name):
            chapters.setdefault(name[:2], []).append(name)
    return dict.fromkeys(order(), "") | {
        name: str(int(chapter)) + (chr(ord("a") + i) if len(names) > 1 else "") + "."
        for chapter, names in chapters.items()
        for i, name in enumerate(names)
    }


@cache
def places() -> dict[str, Place]:
    """Each equation, exercise and figure by its label, counted through its page."""
    found: dict[str, Place] = {}
    counts: Counter[str] = Counter()
    for path in sorted(notebooks(), key=lambda path: order().index(path.stem)):
        nb, address = read(path), page_address(path.stem)
        text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
        for words, labels in (
            ("({})", EQUATION.findall(text)),
            ("Exercise {}", EXERCISE.findall(text)),
            ("Fig. {}", filter(None, map(figure_name, nb.cells))),
        ):
            for label in labels:
                counts[kind := words.format(numbers()[path.stem])] += 1
                number = f"{numbers()[path.stem]}{counts[kind]}"
                place = f"equation-{label}" if label.startswith("eq-") else label
                found[label] = Place(words.format(number), f"{address}#{place}")
    return found


def figure_name(cell: Notebook) -> str:
    return cell.metadata.get("mystnb", {}).get("figure", {}).get("name", "")


@cache
def terms() -> dict[str, Place]:
    """Each term of the glossary, in small letters."""
    text = (BOOK / "glossary.md").read_text(encoding="utf-8")
    names = re.findall(r"^(?=\S)([^:\n#].*)\n(?=\S.*\n {2}| {2}\S)", text, re.MULTILINE)
    address = page_address("glossary")
    return {name.lower(): Place(name, f"{address}#term-{anchor(name)}") for name in names}


def anchor(name: str) -> str:
    """The part of an address that Sphinx makes of a term."""
    plain_letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-zA-Z0-9._]+", "-", plain_letters)


@cache
def works() -> dict[str, Entry]:
    return dict(parse_file(str(BOOK / "references.bib"), "bibtex").entries)


def authors(key: str) -> str:
    """Who wrote a work, as the page cites it."""
    people = works()[key].persons.get("author") or works()[key].persons["editor"]
    names = [
        " ".join(map(str, [*who.rich_prelast_names, *who.rich_last_names])) for who in people
    ]
    if len(names) > 2:
        return f"{names[0]} *et al.*"
    return " and ".join(names)


def cited(keys: str, in_text: bool) -> str:
    """One or several works: [Radu, 2024], or Radu [2024] within a sentence."""
    address = page_address("bibliography")
    found = []
    for key in keys.split(","):
        who, year = authors(key), works()[key].fields["year"]
        link = Place(year if in_text else f"{who}, {year}", address).link()
        found.append(f"{who} [{link}]" if in_text else link)
    return ", ".join(found) if in_text else f"[{', '.join(found)}]"


def resolved(role: str, target: str) -> str:
    """What a role says, with its link.

    Raises:
        SystemExit: If the role is none of those that the pages use, or leads nowhere.
    """
    named = re.fullmatch(r"(.*?)\s*<(.+)>", target, re.DOTALL)
    words, label = (named[1], named[2]) if named else ("", target)
    try:
        if role in {"eq", "ref", "numref"}:
            return places()[label].link(words)
        if role == "term":
            return terms()[" ".join(label.split()).lower()].link(words or label)
        if role in {"cite", "cite:t"}:
            return cited(label, in_text=role == "cite:t")
    except KeyError:
        raise SystemExit(f"{{{role}}}`{target}` leads nowhere") from None
    raise SystemExit(f"tools/plain_notebooks.py does not know the role {{{role}}}`{target}`")


def moved(url: str, page: str) -> str:
    """Address on the site for one among the sources."""
    if url.startswith(("http://", "https://")):
        return url
    name, _, place = url.partition("#")
    stem = re.sub(r"\.(ipynb|md)$", "", name) or page
    return page_address(stem) + (f"#{place}" if place else "")


# --- a cell of text -------------------------------------------------------------------------


class Text:
    """The text of one page, cell by cell: a fold may begin in one and end in another."""

    def __init__(self, page: str) -> None:
        self.page = page
        self.solution = ""  # the title of the one that is open
        self.pieces = 0  # how much of it has been seen

    def cell(self, source: str) -> str:
        """What stands in place of a cell; nothing if it held only marks."""
        blocks, rest = [], source.split("\n")
        while rest:
            mark = next((i for i, line in enumerate(rest) if OPEN.fullmatch(line)), len(rest))
            blocks.append(self.fold(self.words("\n".join(rest[:mark]))))
            if mark == len(rest):
                break
            block, rest = self.directive(rest[mark:])
            blocks.append(block)
        return "\n\n".join(filter(None, blocks))

    def directive(self, lines: list[str]) -> tuple[str, list[str]]:
        """The block that stands for a directive, and the lines after it."""
        colons, name, title = OPEN.fullmatch(lines[0]).groups()  # type: ignore[union-attr]
        end = lines.index(colons)
        options, body = {}, lines[1:end]
        while body and (option := OPTION.fullmatch(body[0])):
            options[option[1]], body = option[2], body[1:]
        rest = lines[end + 1 :]
        title = self.words(title)
        if name == "exercise-start":
            return f"#### {places()[options['label']].words}: {title}", rest
        if name == "solution-start":
            self.solution, self.pieces = f"Solution of {places()[title].words.lower()}", 0
            return "", rest
        if name in {"exercise-end", "solution-end"}:
            self.solution = ""
            return "", rest
        inside = Text(self.page).cell("\n".join(body))
        if name == "tab-set":
            return self.fold(inside), rest
        if name not in TITLED | BOXES:
            raise SystemExit(f"{self.page}: no form is known for the directive {{{name}}}")
        title = title if name in TITLED else name.capitalize()
        classes = options.get("class", "").replace(",", " ").split()
        folded = name in FOLDED or "dropdown" in classes
        block = details(title, inside) if folded else quoted(f"**{title}**\n\n{inside}")
        return self.fold(block), rest

    def fold(self, block: str) -> str:
        """A block, folded if it belongs to a solution."""
        if not (self.solution and block):
            return block
        self.pieces += 1
        more = ", continued" if self.pieces > 1 else ""
        return details(f"{self.solution}{more}", block)

    def words(self, text: str) -> str:
        """Text without directives, with its roles resolved."""
        address = page_address(self.page)
        live = f"*On the site a part of this page runs here: [see it there]({address}).*"
        return PIECES.sub(self.piece, LIVE.sub(live, text)).strip()

    def piece(self, found: re.Match[str]) -> str:
        """What stands in place of a role, a link or an equation; all else stays."""
        if found["whole_role"]:
            return resolved(found["role"], found["target"])
        if found["link"]:
            return f"]({moved(found['url'], self.page)})"
        if label := found["label"]:
            number = places()[label].words.strip("()")
            return f"$${found['tex'].rstrip()} \\tag{{{number}}}\n$$"
        return found[0]


def details(title: str, block: str) -> str:
    """A fold; what is inside is Markdown, since empty lines part it from the tags."""
    return f"<details>\n<summary>{title}</summary>\n\n{block}\n\n</details>"


def quoted(block: str) -> str:
    """A quotation; its equations stand in one line each, or the marks would be part of them."""
    flat = re.sub(r"\$\$.*?\$\$", lambda m: " ".join(m[0].split()), block, flags=re.DOTALL)
    return "\n".join(f"> {line}".rstrip() for line in flat.split("\n"))


# --- a notebook -----------------------------------------------------------------------------


def read(path: Path) -> Notebook:
    return nbformat.read(path, as_version=4)


def shut(cell: Notebook) -> None:
    """Close a cell in Colab and in JupyterLab."""
    cell.metadata["cellView"] = "form"
    cell.metadata["jupyter"] = {"source_hidden": True}


def plain(nb: Notebook, page: str) -> Notebook:
    """The notebook without MyST: a new one, with the same code."""
    text, cells, first = Text(page), [], True
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = text.cell(cell.source)
            if first:
                cell.source = opened(cell.source, page)
                first = False
            cells += [cell] if cell.source else []
            continue
        hidden = SHUT & set(tags(cell)) and "colab" not in tags(cell)
        if hidden or text.solution:
            shut(cell)
        if text.solution or "remove-cell" in tags(cell):
            cell.outputs = []
        cell.outputs = [out for out in cell.outputs if not is_placeholder(out)]
        cells += [cell, *caption(cell, text)]
    nb.cells = cells
    nb.metadata["colab"] = nbformat.from_dict(COLAB)
    return nb


def is_placeholder(output: Notebook) -> bool:
    """Whether an output is the name of a figure and not the figure, which is drawn anew."""
    data = output.get("data", {})
    return data.get("text/plain", "").startswith("<Figure") and "image/png" not in data


def opened(source: str, page: str) -> str:
    """The first cell with a line under its title that says where the page is at home."""
    title, _, rest = source.partition("\n")
    book, site = settings().values()
    line = (
        f"*From [{book}]({site}), where [this page]({page_address(page)}) has its figures. Run "
        "the first code cell first: on Colab it installs what the page needs.*"
    )
    return f"{title}\n\n{line}\n\n{rest.lstrip()}".rstrip()


def caption(cell: Notebook, text: Text) -> Iterator[Notebook]:
    """The caption of the figure that a cell draws."""
    if name := figure_name(cell):
        words = text.words(cell.metadata["mystnb"]["figure"]["caption"])
        source = f"*{places()[name].words}:* {words}"
        if not text.solution:
            yield nbformat.v4.new_markdown_cell(source, id=f"{cell['id']}-caption")


# --- what must hold -------------------------------------------------------------------------


def code(nb: Notebook) -> list[tuple[str, str]]:
    """Each code cell by its name and its lines."""
    return [(cell["id"], cell.source) for cell in code_cells(nb)]


def faults(nb: Notebook, source: Notebook) -> list[str]:
    """One sentence for each rule that a written notebook breaks."""
    found = []
    if code(nb) != code(source):
        found.append("its code is not that of the page")
    try:
        nbformat.validate(nb)
    except nbformat.ValidationError as error:
        found.append(f"is not a valid notebook: {error.message}")
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            prose = KEPT.sub("", cell.source)
            found += [f"holds the {kind} {m[0]!r}" for kind, raw in RAW.items()
                      for m in raw.finditer(prose)]  # fmt: skip
            if cell.source.count("<details>") != cell.source.count("</details>"):
                found.append(f"has a fold that does not end in cell {cell['id']}")
    return found


def links(nb: Notebook) -> set[str]:
    """Addresses on the site to which a notebook leads, relative to it."""
    site = settings()["site"]
    text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    return set(re.findall(rf"\]\({re.escape(site)}([^)\s]*)\)", text))


def lost(nb: Notebook, site: Path) -> list[str]:
    """One sentence for each link to something that the built site does not have."""
    found = []
    for link in sorted(links(nb) - {""}):
        name, _, place = link.partition("#")
        if not (site / name).exists():
            found.append(f"links to {name}, which the site does not have")
        elif place and place not in site_check.page(site / name).anchors:
            found.append(f"links to {name}, where there is no #{place}")
    return found


def miscounted(page: str, site: Path) -> list[str]:
    """One sentence for each number that the built page says otherwise."""
    text = (site / "book" / f"{page}.html").read_text(encoding="utf-8")
    return [
        f"says {places()[m['label']].words}, and its page {m['number']}"
        for pattern in COUNTED
        for m in re.finditer(pattern, text)
        if m["label"] in places() and places()[m["label"]].words != m["number"]
    ]


def write(folder: Path, said: Callable[[str], None] = print) -> int:
    """Write all pages; returns the number of faults, each of which is said."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "book").mkdir(parents=True)
    bad = 0
    for path in notebooks():
        nb = plain(read(path), path.stem)
        nbformat.write(nb, folder / "book" / path.name)
        found = faults(nb, read(path))
        if (site_check.SITE / "book" / f"{path.stem}.html").exists():
            found += [*lost(nb, site_check.SITE), *miscounted(path.stem, site_check.SITE)]
        bad += len(found)
        for fault in found:
            said(f"{path.stem}: {fault}")
    return bad


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    folder = parser.parse_args(argv).folder
    if not (bad := write(folder)):
        print(f"{len(notebooks())} notebooks without MyST: {folder}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
