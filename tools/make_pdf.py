"""The whole book as one PDF, with bookmarks, from the built site.

    python tools/make_pdf.py                       all pages in the order of the contents
    python tools/make_pdf.py 10-attention          some pages

Chromium prints each page as its print style says, with its headings as bookmarks; the parts are
put together, and a link from page to page becomes a link within the PDF. It needs the site of
``make book``, Playwright, pypdf and a Chromium, and says so in a sentence where one is missing.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "site" / "_build" / "html"
TARGET = ROOT / "_build" / "mathematics-of-language-models.pdf"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LEFT_OUT = ("Reference",)  # parts of the contents that nobody reads on paper
KEPT = ("book/glossary", "book/bibliography")  # of them
WAIT = 120_000  # [ms] for the formulas of a page
# Typeset all formulas, load all pictures, and name a place for each element to which another
# page leads: Chromium keeps the places of links that it prints, so each gets an empty one.
PREPARE = """
async places => {
  await window.MathJax?.startup.promise;
  const lazy = window.MathJax?.startup.document.lazyTypesetAll;
  if (lazy) await window.MathJax.startup.document.lazyTypesetAll();
  document.querySelectorAll("img[loading=lazy]").forEach(e => { e.loading = "eager"; });
  await Promise.all([...document.images].map(e => e.decode().catch(() => 0)));
  for (const place of places.filter(id => document.getElementById(id))) {
    const link = document.createElement("a");
    link.href = "#" + place;
    link.textContent = "\\u200b";
    document.querySelector(".bd-article").append(link);
  }
  window.dispatchEvent(new Event("beforeprint"));
}
"""


def pages(toc: dict[str, Any]) -> list[tuple[str | None, str]]:
    """The pages of the contents, each with the part that begins with it.

    Args:
        toc: What ``_toc.yml`` holds.
    """
    found: list[tuple[str | None, str]] = [(None, toc["root"])]
    for part in toc["parts"]:
        caption: str | None = part["caption"]
        for chapter in part["chapters"]:
            for entry in [chapter, *chapter.get("sections", ())]:
                name = entry["file"]
                if part["caption"] not in LEFT_OUT or name in KEPT:
                    found.append((caption, name))
                    caption = None
    return found


def target(link: str, printed: Path) -> tuple[str, str] | None:
    """Page of the site and place to which a link of a printed page leads; None if outside.

    Args:
        link: As it stands in the PDF.
        printed: File of the page that holds it.
    """
    parts = urlsplit(link)
    if parts.scheme not in {"", "file"}:
        return None
    path = Path(unquote(parts.path)) if parts.path else printed
    try:
        inside = path.resolve().relative_to(SITE.resolve())
    except ValueError:
        return None
    return inside.with_suffix("").as_posix(), unquote(parts.fragment)


def wanted(names: list[str]) -> dict[str, list[str]]:
    """For each page the places to which any of these pages leads."""
    from site_check import page

    found: dict[str, set[str]] = {name: set() for name in names}
    for name in names:
        file = SITE / f"{name}.html"
        for link in page(file).links:
            leads = target(_absolute(link, file), file)
            if leads and leads[0] in found and leads[1]:
                found[leads[0]].add(leads[1])
    return {name: sorted(places) for name, places in found.items()}


def _absolute(link: str, file: Path) -> str:
    parts = urlsplit(link)
    if parts.scheme or not parts.path:
        return link
    inside = (file.parent / unquote(parts.path)).resolve()
    return inside.as_uri() + (f"#{parts.fragment}" if parts.fragment else "")


# --- printing -------------------------------------------------------------------------------


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium, or the sentence that says what is missing."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise SystemExit("Playwright is not here: pip install 'mathlm[site]'") from None
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise SystemExit("no Chromium is here: apt-get install chromium")
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


def printed(tab: Any, name: str, places: list[str]) -> bytes:
    """One page of the site as a PDF."""
    tab.goto((SITE / f"{name}.html").as_uri())
    tab.set_default_timeout(WAIT)
    tab.evaluate(PREPARE, places)
    margin = {"top": "18mm", "bottom": "18mm", "left": "16mm", "right": "16mm"}
    number = '<div style="width:100%;text-align:center;font-size:8px" class="title"></div>'
    return tab.pdf(
        format="A4",
        margin=margin,
        outline=True,
        tagged=True,
        display_header_footer=True,
        header_template=number,
        footer_template="<span></span>",
    )


# --- one file of many -----------------------------------------------------------------------


class Part:
    """One printed page of the site within the whole."""

    def __init__(self, name: str, first: int, places: dict[str, int]) -> None:
        self.name, self.first, self.places = name, first, places

    def at(self, place: str) -> int:
        """The sheet on which a place lies; the first one if nothing names it."""
        return self.places.get(place, self.first)


def named_places(reader: Any, first: int) -> dict[str, int]:
    """Sheet of the whole for each place that a part names."""
    found = {}
    for name, spot in reader.named_destinations.items():
        sheet = reader.get_destination_page_number(spot)
        if sheet is not None and sheet >= 0:
            found[unquote(name.lstrip("/"))] = first + sheet
    return found


def join(prints: list[tuple[str | None, str, bytes]], goal: Path) -> int:
    """Write the parts as one PDF; returns the number of its sheets.

    Args:
        prints: Caption of the part of the book that begins, name of the page, its PDF.
        goal: Where the whole goes.
    """
    from pypdf import PdfReader, PdfWriter

    whole, parts = PdfWriter(), {}
    chapter: Any = None
    for caption, name, data in prints:
        reader, first = PdfReader(io.BytesIO(data)), len(whole.pages)
        parts[name] = Part(name, first, named_places(reader, first))
        whole.append(reader, import_outline=False)
        if caption:
            chapter = whole.add_outline_item(title=caption, page_number=first, bold=True)
        _bookmarks(whole, reader, reader.outline, first, chapter)
    for part, end in zip(parts.values(), [*_firsts(parts)[1:], len(whole.pages)], strict=True):
        for sheet in range(part.first, end):
            _lead_inside(whole, whole.pages[sheet], part, parts)
    whole.add_metadata({"/Title": "The Mathematics of Language Models"})
    whole.page_mode = "/UseOutlines"
    kept = goal.with_suffix(".part")
    whole.write(kept)
    kept.replace(goal)
    return len(whole.pages)


def _firsts(parts: dict[str, Part]) -> list[int]:
    return [part.first for part in parts.values()]


def heading(found: str) -> str:
    """A heading as it reads; Chromium says one twice that begins a sheet, and adds its link."""
    words = found.rstrip("#").strip()
    number, _, rest = words.partition(" ")
    rest = rest.removeprefix(f"{number} ")
    half = len(rest) // 2
    if rest and rest[:half] == rest[half:]:
        rest = rest[:half]
    return f"{number} {rest}".strip()


def _bookmarks(whole: Any, reader: Any, outline: list[Any], first: int, parent: Any) -> None:
    """Copy the headings of a part, a list after an entry being what lies below it."""
    last = parent
    for entry in outline:
        if isinstance(entry, list):
            _bookmarks(whole, reader, entry, first, last)
        else:
            sheet = first + (reader.get_destination_page_number(entry) or 0)
            if (name := heading(entry.title)) != "Contents":  # the list of the page itself
                last = whole.add_outline_item(
                    title=name, page_number=sheet, parent=parent, is_open=False
                )


def _lead_inside(whole: Any, sheet: Any, part: Part, parts: dict[str, Part]) -> None:
    """Let each link of a sheet to a page of the book lead to that page in the PDF."""
    from pypdf.generic import ArrayObject, Fit, NameObject

    for note in sheet.get("/Annots", ArrayObject()):
        link = note.get_object()
        address = link.get("/A", {}).get("/URI")
        leads = target(str(address), SITE / f"{part.name}.html") if address else None
        if leads is None or leads[0] not in parts:
            continue
        there = whole.pages[parts[leads[0]].at(leads[1])]
        fit = Fit.fit_horizontally()
        link[NameObject("/Dest")] = ArrayObject(
            [there.indirect_reference, NameObject(fit.fit_type), *fit.fit_args]
        )
        del link["/A"]


def main(argv: list[str]) -> None:
    """Print the pages and put them together."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    chosen = [(part, name) for part, name in pages(toc) if not argv or Path(name).name in argv]
    names = [name for _, name in chosen]
    if missing := [name for name in names if not (SITE / f"{name}.html").exists()]:
        raise SystemExit(f"{SITE} lacks {missing[0]}: make book, then run this again")
    places, prints = wanted(names), []
    with browser() as chromium:
        tab = chromium.new_page(color_scheme="light")
        for number, (part, name) in enumerate(chosen, start=1):
            prints.append((part, name, printed(tab, name, places[name])))
            print(f"[{number}/{len(chosen)}] {name}", flush=True)
    print(f"{join(prints, TARGET)} sheets: {TARGET}")


if __name__ == "__main__":
    main(sys.argv[1:])
