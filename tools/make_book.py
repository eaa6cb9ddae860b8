"""Run the pages, build the site from what ran, and say what failed.

    python tools/make_book.py                   the whole book
    python tools/make_book.py chapter 10        one chapter, or one page: chapter 19-pretraining
    python tools/make_book.py execute           run the pages, build nothing

``--device cuda`` runs them on a GPU. Exits with 1 if a page failed or the site has a fault, and
builds all of it even so.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import site_check
import yaml
from notebooks import BUILD, notebooks, quiet_environment
from running import Run, cuda_is_there, execute
from staged import changed_texts, stage, stage_files, stage_page, write_changed

try:
    import fcntl
except ImportError:  # Windows has no such lock
    fcntl = None  # type: ignore[assignment]

NEEDED = 1000  # [MB] that runs, copies and site take
OUTSIDE = {errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.ENOSPC, errno.EROFS}
REFERENCE = ["glossary", "bibliography"]  # what a page alone refers to most


class Place:
    """Where a book is built: its sources, its site, and what Sphinx remembers."""

    def __init__(self, folder: Path) -> None:
        self.staged = folder / "staged"
        self.html = folder / "site" / "_build" / "html"
        self.memory = folder / "site" / "_build" / ".doctrees" / "environment.pickle"
        # there if the last build ended without a warning
        self.clean = folder / "site" / "clean"

    def address(self, page: str) -> str:
        """Of one page, as a browser takes it."""
        return (self.html / f"{page}.html").as_uri()


WHOLE, ALONE = Place(BUILD), Place(BUILD / "alone")


# --- one at a time, and with room -----------------------------------------------------------


@contextmanager
def alone(build: Path = BUILD) -> Iterator[None]:
    """Hold the folder; the system lets go of it when this process ends, however it ends."""
    build.mkdir(exist_ok=True)
    with (build / "lock").open("a+") as file:
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise SystemExit(
                f"process {file.read()} builds the book in {build} already: wait until it "
                "ends, or end it, then run this again"
            ) from None
        file.truncate(0)
        print(os.getpid(), end="", file=file, flush=True)
        yield


def require_room(build: Path = BUILD) -> None:
    """End with a sentence if the disk is too full for a book."""
    if (free := shutil.disk_usage(build).free // 10**6) < NEEDED:
        raise SystemExit(
            f"{build} has {free} MB free, and the book takes {NEEDED}: make room there, "
            "then run this again"
        )


# --- the site -------------------------------------------------------------------------------


def build(place: Place, jobs: int, **options: Any) -> bool:
    """Have Sphinx build the site; returns whether it ended without a warning.

    A page that is not read again gives no warning again. So after a build with warnings, or one
    that was stopped, the next one reads every page.
    """
    from jupyter_book.sphinx import build_sphinx

    fresh = options.pop("fresh")
    os.environ["MPLCONFIGDIR"] = quiet_environment()["MPLCONFIGDIR"]
    was_clean = place.clean.exists()
    place.clean.unlink(missing_ok=True)
    # $device in a command of a cell is IPython's, and no Python: only its colors are lost
    silent = [*options.pop("suppress_warnings", ()), "misc.highlighting_failure"]
    status = build_sphinx(
        place.staged,
        place.html,
        path_config=place.staged / "_config.yml",
        noconfig=True,
        confoverrides={
            "external_toc_path": (place.staged / "_toc.yml").as_posix(),
            "latex_individualpages": False,
            "suppress_warnings": silent,
            **options,
        },
        warningiserror=True,
        keep_going=True,
        quiet=True,
        freshenv=fresh,
        jobs=jobs if sys.platform == "linux" else 1,
    )
    if status == 0 and (fresh or was_clean):
        place.clean.touch()
    return status == 0


def is_outdated(place: Place) -> bool:
    """Whether what Sphinx remembers is no use: incomplete, or made by other extensions."""
    if not place.clean.exists() or not place.memory.exists():
        return True
    made = place.memory.stat().st_mtime
    files = (place.staged / "book" / "_ext").glob("*.py")
    return any(file.stat().st_mtime > made for file in files)


def make_book(device: str, jobs: int) -> int:
    """The whole book, and its faults at the end."""
    failed = execute(notebooks(), device, jobs)
    stage(notebooks(), device, WHOLE.staged)
    print("building the site", flush=True)
    good = build(WHOLE, jobs, fresh=is_outdated(WHOLE), nitpicky=True)
    links_lead = site_check.main([]) == 0
    print(f"the book: {WHOLE.address('index')}")
    report(failed, device)
    return bool(failed) or not good or not links_lead


def report(failed: list[Run], device: str) -> None:
    """Each page that failed, with the command that repeats it."""
    on = "" if device == "cpu" else f" DEVICE={device}"
    for run in failed:
        print(f"failed: {run.page}, {run.failure}\n  make chapter N={run.page}{on}")


# --- one chapter ----------------------------------------------------------------------------


def pages_of(chapter: str) -> list[Path]:
    """The pages of a chapter by its number, or one page by its name."""
    number = chapter.zfill(2) + "-"
    found = [p for p in notebooks() if p.stem == chapter or p.stem.startswith(number)]
    if not found:
        names = ", ".join(path.stem for path in notebooks())
        raise SystemExit(f"no chapter is called {chapter!r}: say N=10, or one of {names}")
    return found


def make_chapter(chapter: str, device: str, jobs: int) -> int:
    """One chapter: into the book if that has been built as it is now, else by itself."""
    pages = pages_of(chapter)
    failed = execute(pages, device, jobs)
    place = place_of_chapter()
    good = into_book(pages, device) if place is WHOLE else by_itself(pages, device)
    for path in pages:
        print(f"the page: {place.address(f'book/{path.stem}')}")
    report(failed, device)
    return bool(failed) or not good


def place_of_chapter() -> Place:
    """The book, if it has been built and its texts are those of now.

    An older site refers to names and pages that may be gone, of which Sphinx would warn.
    """
    if not WHOLE.memory.exists():
        return ALONE
    changed = changed_texts(WHOLE.staged)
    if changed:
        print(f"the site was built before {changed[0]} changed: make book builds it anew")
    return ALONE if changed else WHOLE


def into_book(pages: list[Path], device: str) -> bool:
    """Build the pages again among the others, which stay as they are."""
    for path in pages:
        target, _ = stage_page(path, device, WHOLE.staged)
        target.touch()  # so that its warnings come again
    return build(WHOLE, 1, fresh=False, nitpicky=True)


def by_itself(pages: list[Path], device: str) -> bool:
    """Build the pages without the others."""
    print("links to other pages lead nowhere until make book has built them", flush=True)
    stage_files(ALONE.staged)
    for path in pages:
        stage_page(path, device, ALONE.staged)
    chapters = [f"book/{path.stem}" for path in pages] + [f"book/{p}" for p in REFERENCE]
    toc = {"format": "jb-book", "root": "book/index", "parts": [_part(chapters)]}
    write_changed(ALONE.staged / "_toc.yml", yaml.safe_dump(toc).encode())
    unresolved = ["myst", "ref", "toc", "bibtex"]
    return build(ALONE, 1, fresh=True, nitpicky=False, suppress_warnings=unresolved)


def _part(pages: list[str]) -> dict[str, Any]:
    return {"caption": "Chapter", "numbered": 2, "chapters": [{"file": page} for page in pages]}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "what", nargs="?", default="book", choices=["book", "chapter", "execute"]
    )
    parser.add_argument("chapter", nargs="?", default="", help="10, or 19-pretraining")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args(argv)
    if args.device == "cuda" and not cuda_is_there():
        print("skipped: no CUDA device")
        return args.what != "execute"
    with alone():
        require_room()
        if args.what == "book":
            return make_book(args.device, args.jobs)
        if args.what == "chapter":
            return make_chapter(args.chapter, args.device, args.jobs)
        report(failed := execute(notebooks(), args.device, args.jobs), args.device)
        return bool(failed)


def spoken_main(argv: list[str]) -> int:
    """Like main, and what stops it from outside ends in one sentence."""
    try:
        return main(argv)
    except KeyboardInterrupt:
        raise SystemExit("stopped: the same command goes on with what has not run") from None
    except OSError as error:
        if error.errno not in OUTSIDE:
            raise
        raise SystemExit(f"{error}: mend that, then run this again") from None


if __name__ == "__main__":
    sys.exit(spoken_main(sys.argv[1:]))
