"""The whole book as one PDF, with bookmarks, from the built site.

    python tools/make_pdf.py                       all pages in the order of the contents
    python tools/make_pdf.py 10-attention          some pages

Chromium prints each page as its print style says, with its headings as bookmarks; the parts are
put together and their sheets numbered, and a link from page to page becomes a link within the
PDF. A link to a page that is not printed leads to where the book is published, if it is. It
needs the site of ``make book``, Playwright, pypdf and a Chromium, and names what is missing.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "site" / "_build" / "html"
TARGET = ROOT / "_build" / "mathematics-of-language-models.pdf"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LEFT_OUT = ("Reference",)  # parts of the contents that nobody reads on paper
KEPT = ("book/glossary", "book/bibliography")  # of them
WAIT = 120_000  # [ms] for the formulas of a page
MARGIN = {"top": "18mm", "bottom": "18mm", "left": "16mm", "right": "16mm"}
PRINTED = {"width": 673, "height": 988}  # [px] what the margins leave of A4
FOOT = 24  # [pt] from the lower edge to the number of a sheet
# Typeset all formulas, make those smaller that are wider than the sheet, load all pictures, and
# name a place for each element to which another page leads: Chromium keeps the places of links
# that it prints, so each gets an empty one. Returns the headings as they read.
PREPARE = """
async places => {
  await window.MathJax?.startup.promise;
  const lazy = window.MathJax?.startup.document.lazyTypesetAll;
  if (lazy) await window.MathJax.startup.document.lazyTypesetAll();
  for (const formula of document.querySelectorAll("div.math mjx-container[display=true]")) {
    const wide = formula.firstElementChild.getBoundingClientRect().width / formula.clientWidth;
    const size = parseFloat(getComputedStyle(formula).fontSize);
    if (wide > 1) formula.style.fontSize = `${size / wide}px`;
  }
  document.querySelectorAll("img[loading=lazy]").forEach(e => { e.loading = "eager"; });
  await Promise.all([...document.images].map(e => e.decode().catch(() => 0)));
  for (const place of places.filter(id => document.getElementById(id))) {
    const link = document.createElement("a");
    link.href = "#" + place;
    link.textContent = "\\u200b";
    document.querySelector(".bd-article").append(link);
  }
  window.dispatchEvent(new Event("beforeprint"));
  return [...document.querySelectorAll(".bd-article :is(h1, h2, h3, h4, h5)")].map(e => {
    const plain = e.cloneNode(true);
    plain.querySelectorAll(".headerlink").forEach(link => link.remove());
    return plain.textContent.trim().replace(/\\s+/g, " ");
  });
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


def program() -> str | None:
    """The Chromium of this machine, if it has one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium, or the sentence that says what is missing."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise SystemExit("Playwright is not here: pip install 'mathlm[site]'") from None
    if (chromium := program()) is None:
        raise SystemExit("no Chromium is here: apt-get install chromium")
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


class Print(NamedTuple):
    """A printed page of the site, with its headings as they read."""

    pdf: bytes
    headings: list[str]


def printed(tab: Any, name: str, places: list[str]) -> Print:
    """One page of the site as a PDF."""
    tab.goto((SITE / f"{name}.html").as_uri())
    tab.set_default_timeout(WAIT)
    headings = tab.evaluate(PREPARE, places)
    title = '<div style="width:100%;text-align:center;font-size:8px" class="title"></div>'
    pdf = tab.pdf(
        format="A4",
        margin=MARGIN,
        outline=True,
        tagged=True,  # without which Chromium writes no outline
        display_header_footer=True,
        header_template=title,
        footer_template="<span></span>",
    )
    return Print(pdf, headings)


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


def join(prints: list[tuple[str | None, str, Print]], goal: Path, site: str = "") -> int:
    """Write the parts as one PDF; returns the number of its sheets.

    Args:
        prints: Caption of the part of the book that begins, name of the page, its print.
        goal: Where the whole goes.
        site: Where the book is published, for links to pages that are not printed.
    """
    from pypdf import PdfReader, PdfWriter

    whole, parts = PdfWriter(), {}
    chapter: Any = None
    for caption, name, print_ in prints:
        reader, first = PdfReader(io.BytesIO(print_.pdf)), len(whole.pages)
        parts[name] = Part(name, first, named_places(reader, first))
        whole.append(reader, import_outline=False)
        if caption:
            chapter = whole.add_outline_item(title=caption, page_number=first, bold=True)
        titles = {_bare(heading): heading for heading in print_.headings}
        _bookmarks(whole, reader, reader.outline, first, chapter, titles)
    for part, end in zip(parts.values(), [*_firsts(parts)[1:], len(whole.pages)], strict=True):
        for sheet in range(part.first, end):
            _lead_inside(whole, whole.pages[sheet], part, parts, site)
    number_sheets(whole)
    whole.compress_identical_objects()  # a font or an icon that many pages have
    whole.add_metadata({"/Title": "The Mathematics of Language Models"})
    whole.page_mode = "/UseOutlines"
    kept = goal.with_suffix(".part")
    whole.write(kept)
    kept.replace(goal)
    return len(whole.pages)


def _firsts(parts: dict[str, Part]) -> list[int]:
    return [part.first for part in parts.values()]


def heading(found: str, titles: dict[str, str]) -> str:
    """A heading as it reads on its page.

    Args:
        found: As Chromium has it: without the blanks at the ends of lines, twice if it begins a
            sheet, and with its link.
        titles: The headings of the page by their letters without blanks.
    """
    bare = _bare(found.rstrip("#"))
    for title, whole in titles.items():
        number = re.match(r"[\w.]*\.(?=\D)|", title)[0]
        words = title.removeprefix(number)
        if bare in {
            title,
            words,
            title + title,
            title + words,
            words + words,
            2 * number + 2 * words,
        }:
            return whole
    return found.rstrip("#").strip()


def _bare(title: str) -> str:
    return re.sub(r"[\s\u200b]", "", title)


def _bookmarks(
    whole: Any, reader: Any, outline: list[Any], first: int, parent: Any, titles: dict[str, str]
) -> None:
    """Copy the headings of a part, a list after an entry being what lies below it."""
    last = parent
    for entry in outline:
        if isinstance(entry, list):
            _bookmarks(whole, reader, entry, first, last, titles)
        else:
            sheet = first + (reader.get_destination_page_number(entry) or 0)
            last = whole.add_outline_item(
                title=heading(entry.title, titles),
                page_number=sheet,
                parent=parent,
                is_open=False,
            )


def number_sheets(whole: Any) -> None:
    """Write its number at the foot of each sheet, in a font that every reader of PDF has."""
    from pypdf.generic import ArrayObject, DictionaryObject, NameObject, StreamObject

    def stream(code: str) -> Any:
        content = StreamObject()
        content.set_data(code.encode())
        return whole._add_object(content)

    kinds = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = whole._add_object(
        DictionaryObject({NameObject(key): NameObject(kind) for key, kind in kinds.items()})
    )
    save = stream("q\n")
    for number, sheet in enumerate(whole.pages, start=1):
        fonts = sheet["/Resources"].setdefault(NameObject("/Font"), DictionaryObject())
        fonts.get_object()[NameObject("/FNumber")] = font
        middle = float(sheet.mediabox.width) / 2 - 2.2 * len(str(number))  # half of its width
        code = f"\nQ BT /FNumber 8 Tf {middle:.1f} {FOOT} Td ({number}) Tj ET\n"
        old = sheet.raw_get("/Contents") if "/Contents" in sheet else ArrayObject()
        parts = old.get_object() if isinstance(old.get_object(), ArrayObject) else [old]
        sheet[NameObject("/Contents")] = ArrayObject([save, *parts, stream(code)])


def _lead_inside(whole: Any, sheet: Any, part: Part, parts: dict[str, Part], site: str) -> None:
    """Let each link of a sheet to a page of the book lead to that page in the PDF.

    A link to another file of the site leads to where that is published, or goes.
    """
    from pypdf.generic import ArrayObject, Fit, NameObject, TextStringObject

    kept = ArrayObject()
    for note in sheet.get("/Annots", ArrayObject()):
        link = note.get_object()
        address = str(link.get("/A", {}).get("/URI", ""))
        leads = target(address, SITE / f"{part.name}.html") if address else None
        if leads is not None and leads[0] in parts:
            there = whole.pages[parts[leads[0]].at(leads[1])]
            fit = Fit.fit_horizontally()
            link[NameObject("/Dest")] = ArrayObject(
                [there.indirect_reference, NameObject(fit.fit_type), *fit.fit_args]
            )
            del link["/A"]
        elif urlsplit(address).scheme == "file":
            if not (public := published(address, site)):
                continue
            link["/A"][NameObject("/URI")] = TextStringObject(public)
        kept.append(note)
    if "/Annots" in sheet:
        sheet[NameObject("/Annots")] = kept


def published(address: str, site: str) -> str:
    """Where a page of the site is published that a link names by its file; "" if nowhere.

    Args:
        address: That of the file.
        site: Where the book is published, or "".
    """
    parts = urlsplit(address)
    path = Path(unquote(parts.path))
    if not site or path.suffix != ".html" or not path.is_relative_to(SITE.resolve()):
        return ""
    place = f"#{parts.fragment}" if parts.fragment else ""
    return site + path.relative_to(SITE.resolve()).as_posix() + place


def published_site() -> str:
    """Where the book is published; "" while its repository has no address."""
    from address import current, is_placeholder

    now = current(ROOT)
    return "" if is_placeholder(now.url) else now.pages


def main(argv: list[str]) -> None:
    """Print the pages and put them together."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    chosen = [(part, name) for part, name in pages(toc) if not argv or Path(name).name in argv]
    names = [name for _, name in chosen]
    if missing := [name for name in names if not (SITE / f"{name}.html").exists()]:
        raise SystemExit(f"{SITE} lacks {missing[0]}: make book, then run this again")
    places, prints = wanted(names), []
    with browser() as chromium:
        tab = chromium.new_page(color_scheme="light", viewport=PRINTED)
        tab.emulate_media(media="print")
        for number, (part, name) in enumerate(chosen, start=1):
            prints.append((part, name, printed(tab, name, places[name])))
            print(f"[{number}/{len(chosen)}] {name}", flush=True)
    print(f"{join(prints, TARGET, published_site())} sheets: {TARGET}")


if __name__ == "__main__":
    main(sys.argv[1:])
