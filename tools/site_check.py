"""Check the built pages: every local link leads somewhere, nothing is fetched from afar.

python tools/site_check.py [FOLDER]    exit 1 with a line for each broken link or outside asset
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "site" / "_build" / "html"
ASSETS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
FETCHED = {"stylesheet", "preload", "modulepreload", "icon"}


class Page(HTMLParser):
    """The links, assets and anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.assets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort one tag's addresses into links and assets."""
        has = dict(attrs)
        self.anchors |= {value for key, value in attrs if key in {"id", "name"} and value}
        if tag == "a" and has.get("href"):
            self.links.append(has["href"] or "")
        address = has.get(ASSETS.get(tag, ""))
        if address and (tag != "link" or FETCHED & set((has.get("rel") or "").split())):
            self.assets.append(address)


@cache
def page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def faults(path: Path) -> list[str]:
    """One sentence for each address on the page that leads nowhere or outside."""
    found = []
    for address in page(path).assets:
        if urlsplit(address).scheme in {"http", "https"} or address.startswith("//"):
            found.append(f"fetches {address}")
        elif fault := _missing(path, address):
            found.append(fault)
    return found + [fault for link in page(path).links if (fault := _missing(path, link))]


def _missing(path: Path, address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return f"links to {address}, which does not exist"
    anchor = unquote(parts.fragment)
    if anchor and target.suffix == ".html" and anchor not in page(target).anchors:
        return f"links to {address}, but there is no #{anchor}"
    return ""


def main(argv: list[str]) -> int:
    site = Path(argv[0]).resolve() if argv else SITE
    pages = sorted(p for p in site.rglob("*.html") if "_static" not in p.parts)
    found = [f"{p.relative_to(site)}: {fault}" for p in pages for fault in faults(p)]
    print(
        "\n".join(dict.fromkeys(found))
        or f"{len(pages)} pages: every local link leads somewhere"
    )
    return bool(found) or not pages


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
