"""Check the built pages: every local link leads somewhere, nothing is fetched from afar.

python tools/site_check.py [FOLDER]    exit 1 with a line for each broken link or outside asset
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "site" / "_build" / "html"
ASSETS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
HIDDEN = re.compile(r"<!--.*?-->|(<script\b[^>]*>).*?</script>", re.DOTALL)  # holds no tags
TAG = re.compile(r"<([a-z]\w*)((?:\s+[^\s\"'>=]+(?:=(?:\"[^\"]*\"|'[^']*'|[^\s\"'>]*))?)+)")
ATTRIBUTE = re.compile(r"(?<![\w-])(href|src|rel|id|name)=(?:\"([^\"]*)\"|'([^']*)')")
FETCHED = {"stylesheet", "preload", "modulepreload", "icon", "alternate"}


class Page(NamedTuple):
    """The links, assets and anchors of one page."""

    links: list[str]
    assets: list[str]
    anchors: set[str]


def parse(text: str) -> Page:
    """Find the addresses in the tags; a parser of HTML takes five times as long."""
    found = Page([], [], set())
    for tag, inside in TAG.findall(HIDDEN.sub(r"\1", text)):
        has = {key.lower(): unescape(a or b) for key, a, b in ATTRIBUTE.findall(inside)}
        found.anchors.update(has[key] for key in ("id", "name") if has.get(key))
        if tag == "a" and has.get("href"):
            found.links.append(has["href"])
        address = has.get(ASSETS.get(tag, ""))
        if address and (tag != "link" or FETCHED & set(has.get("rel", "").split())):
            found.assets.append(address)
    return found


@cache
def page(path: Path) -> Page:
    return parse(path.read_text(encoding="utf-8"))


def faults(path: Path) -> list[str]:
    """One sentence for each address on the page that leads nowhere or outside."""
    found = []
    for address in page(path).assets:
        if urlsplit(address).scheme in {"http", "https"} or address.startswith("//"):
            found.append(f"fetches {address}")
        elif fault := _missing(path, address):
            found.append(fault)
    return found + [fault for link in page(path).links if (fault := _missing(path, link))]


@cache
def target(folder: Path, address: str) -> Path | None:
    """The file to which an address in a folder leads; None if it is not there."""
    found = (folder / unquote(address)).resolve()
    found = found / "index.html" if found.is_dir() else found
    return found if found.exists() else None


def _missing(path: Path, address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return ""
    found = target(path.parent, parts.path) if parts.path else path
    if found is None:
        return f"links to {address}, which does not exist"
    anchor = unquote(parts.fragment)
    if anchor and found.suffix == ".html" and anchor not in page(found).anchors:
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
