"""The pages around the chapters agree with the chapters."""

import json
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"


def read(name: str) -> str:
    return (BOOK / name).read_text(encoding="utf-8")


def sources() -> dict[str, str]:
    """Text of every page and notebook that may use a term or a citation."""
    paths = [*BOOK.glob("*.md"), *BOOK.glob("*.ipynb"), *BOOK.glob("api/*.md")]
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def contents() -> list[str]:
    """Chapters in their order, each followed by the pages that are sections of it."""
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    chapters = [chapter for part in parts for chapter in part["chapters"]]
    return [page["file"] for c in chapters for page in (c, *c.get("sections", ()))]


def test_the_map_links_the_chapters_of_the_table_of_contents_and_no_others():
    titles = re.findall(r"^\| \d+ \| (.*?) \|", read("index.md"), re.M)
    linked = re.findall(r"\[[^]]+\]\((\d\d-[\w-]+)\.ipynb\)", " ".join(titles))
    assert [f"book/{name}" for name in linked] == [
        c for c in contents() if re.search(r"/\d\d-", c)
    ]


def test_the_map_counts_from_1_to_27_and_marks_what_is_planned():
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", read("index.md"), re.M)
    assert [int(number) for number, _ in rows] == list(range(1, 28))
    assert all(("(planned)" in title) != ("](" in title) for _, title in rows)


def test_every_chapter_on_disk_is_in_the_table_of_contents():
    chapters = sorted(path.stem for path in BOOK.glob("[0-9][0-9]-*.ipynb"))
    listed = [name.removeprefix("book/") for name in contents() if re.search(r"/\d\d-", name)]
    assert sorted(listed) == chapters
    assert [name[:2] for name in listed] == [name[:2] for name in chapters]
    guides = sorted(f"book/{path.stem}" for path in BOOK.glob("guide-*.ipynb"))
    assert sorted(name for name in contents() if name.startswith("book/guide-")) == guides


def test_every_term_that_is_linked_is_defined():
    terms = {
        line.lower() for line in read("glossary.md").splitlines() if re.match(r"[\w(]", line)
    }
    used = {
        (name, " ".join((target or word).split()).lower())
        for name, text in sources().items()
        for word, target in re.findall(
            r"\{term\}`([^`<]+?)(?:\s*<([^>]+)>)?`", text.replace("\\n", " ")
        )
    }
    assert not {(name, term) for name, term in used if term not in terms}


def test_no_term_is_defined_twice():
    terms = re.findall(r"^(\w.*)\n  \S", read("glossary.md"), re.M)
    assert len(terms) > 100
    assert len(terms) == len(set(terms))


def test_every_citation_has_an_entry_and_no_entry_stands_twice():
    keys = re.findall(r"^@\w+\{([^,]+),", read("references.bib"), re.M)
    cited = {
        key.strip()
        for text in sources().values()
        for group in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", text)
        for key in group.split(",")
    }
    assert len(keys) == len(set(keys))
    assert not cited - set(keys)


def test_every_installed_data_package_has_its_licence_on_the_page():
    page = read("data-and-licences.md").split("## Planned")[0]
    for pin in (ROOT / "data.txt").read_text(encoding="utf-8").split():
        package, version = pin.split("==")
        assert f"`{package}` {version}" in page


def test_no_page_asks_for_anything_from_outside():
    for path in (path for path in (BOOK / "_static").rglob("*") if path.is_file()):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import|url\(", text), path.name


def figures_and_references(path: Path) -> tuple[list[str], list[str]]:
    """Names of the figures of a page, and those to which its text refers by number."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    named = [c["metadata"].get("mystnb", {}).get("figure", {}).get("name") for c in cells]
    prose = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return [*filter(None, named)], re.findall(r"\{numref\}`(?:[^`<]*<)?([\w-]+)>?`", prose)


def test_every_figure_that_a_text_refers_to_by_number_exists_once():
    found = [figures_and_references(path) for path in sorted(BOOK.glob("[0-9]*.ipynb"))]
    names = [name for figures, _ in found for name in figures]
    assert len(names) == len(set(names)) > 300
    assert not {name for _, references in found for name in references} - set(names)


def test_each_text_refers_by_number_to_most_of_its_figures():
    for path in sorted(BOOK.glob("[0-9]*.ipynb")):
        figures, references = figures_and_references(path)
        assert 2 * len(set(figures) & set(references)) >= len(figures), path.stem


def test_no_text_leaves_open_which_figure_it_means():
    vague = re.compile(
        r"\b(?:figure|picture) (?:above|below|at the top)|\bnext (?:figure|picture)\b"
    )
    for path in sorted(BOOK.glob("[0-9]*.ipynb")):
        assert not vague.findall(path.read_text(encoding="utf-8")), path.stem


def test_the_start_page_and_the_readme_lead_to_the_guides():
    guides = {path.name for path in BOOK.glob("guide-*.ipynb")}
    linked = re.findall(r"\((guide-[\w-]+\.ipynb)\)", read("index.md"))
    assert set(linked) == guides
    assert "(book/guide-tokenizer.ipynb)" in (ROOT / "README.md").read_text(encoding="utf-8")
