"""Give the project the address of its repository, everywhere that one is named.

    python tools/address.py set https://github.com/OWNER/REPO    also: make address URL=...
    python tools/address.py check                                exit 1, a line for each fault

``set`` writes the settings of the site, the citation, the package and the README, and the cell
by which each page gets its copy of the book on Colab; Binder and the links of the site are made
from the settings. The pages are published where GitHub does that, unless ``--pages`` names
another address. Until then the address is that of nobody: see ``book/_ext/addresses.py``.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple

import yaml
from notebooks import ROOT, colab_folder, is_placeholder

REPOSITORY = re.compile(r"(https://github\.com/[\w-]+/[\w.-]*?[\w-])(?:\.git)?/?")
SITE = re.compile(r"https?://[\w.-]+(?::\d+)?(?:/[\w.~-]+)*/?")
MENTIONS = {
    "_config.yml": ("  url: {url}\n", "  baseurl: {pages}\n", "    ogp_site_url: {pages}\n"),
    "CITATION.cff": ("\nrepository-code: {url}\n", "\nurl: {pages}\n", "\n  url: {pages}\n"),
    "README.md": ("<{pages}>",),
    "pyproject.toml": (
        '\nDocumentation = "{pages}"\n',
        '\nRepository = "{url}"\n',
        '\nChangelog = "{url}/blob/HEAD/CHANGELOG.md"\n',
        '\nIssues = "{url}/issues"\n',
    ),
}
CLONE = "git clone -q --depth 1 {url} {folder}\\n"  # in a notebook, which is JSON


class Address(NamedTuple):
    """Where the repository is, and where its pages are published."""

    url: str
    pages: str

    def fill(self, text: str) -> str:
        """A text with the addresses in place of their names."""
        return text.format(url=self.url, pages=self.pages, folder=colab_folder(self.url))


def address(url: str, pages: str = "") -> Address:
    """The address that a reader typed, in the form in which files have it."""
    if (found := REPOSITORY.fullmatch(url)) is None:
        raise SystemExit(
            f"{url!r} is not the address of a repository on GitHub, from which Colab takes the "
            "pages: make address URL=https://github.com/OWNER/REPO"
        )
    pages = pages or published(found[1])
    if not SITE.fullmatch(pages):
        raise SystemExit(f"{pages!r} is not an address of pages, such as https://x.org/book/")
    return Address(found[1], pages.rstrip("/") + "/")


def published(url: str) -> str:
    """Where GitHub publishes the pages of a repository."""
    owner, name = url.rsplit("/", 2)[1:]
    host = f"{owner}.github.io".lower()
    return f"https://{host}/" + ("" if name.lower() == host else f"{name}/")


def current(root: Path) -> Address:
    """The address that the settings of the site hold."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return Address(config["repository"]["url"], config["html"]["baseurl"])


def pages_of(root: Path) -> list[Path]:
    """The notebooks, each of which clones the repository on Colab."""
    book = root / "book"
    return sorted([*book.glob("[0-9][0-9]-*.ipynb"), *book.glob("guide-*.ipynb")])


def replace(text: str, old: Address, new: Address) -> str:
    """A text with the new address for the old one, but not within a longer one."""
    pairs = [*zip(old, new, strict=True), (colab_folder(old.url), colab_folder(new.url))]
    for before, after in pairs:
        end = "" if before.endswith("/") else r"(?![\w-]|\.(?!git\b)\w)"
        text = re.sub(re.escape(before) + end, after.replace("\\", r"\\"), text)
    return text


def set_address(root: Path, new: Address) -> list[Path]:
    """Write it wherever the old one stands; returns the files that changed."""
    old, changed = current(root), []
    for path in [*(root / name for name in MENTIONS), *pages_of(root)]:
        before = path.read_text(encoding="utf-8")
        if (after := replace(before, old, new)) != before:
            path.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def faults(root: Path) -> list[str]:
    """A sentence for each place that does not hold the address of the settings."""
    now = current(root)
    expected = {root / name: mentions for name, mentions in MENTIONS.items()}
    expected |= {path: (CLONE,) for path in pages_of(root)}
    return [
        f"{path.relative_to(root)} lacks {now.fill(mention).strip()!r}: "
        f"make address URL={now.url}"
        for path, mentions in expected.items()
        for mention in mentions
        if now.fill(mention) not in path.read_text(encoding="utf-8")
    ]


def main(argv: list[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=["set", "check"])
    parser.add_argument("url", nargs="?", default="", help="https://github.com/OWNER/REPO")
    parser.add_argument("--pages", default="", help="address of the published pages")
    args = parser.parse_args(argv)
    if args.what == "set":
        new = address(args.url, args.pages)
        print(
            f"{len(set_address(root, new))} files changed: {new.url}, published at {new.pages}"
        )
    found = faults(root)
    print("\n".join(found) or f"every place names {current(root).url}")
    if is_placeholder(current(root).url):
        print("it belongs to nobody: pages are built without buttons that would lead there")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
