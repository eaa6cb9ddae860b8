"""Grader of the project of this page: page tables with shared prefixes."""

from collections.abc import Callable
from typing import Any

from lab.grading import Case, FaultError, Report, grade_by

Make = Callable[[int, int], Any]
A, B = list(range(10, 22)), list(range(50, 62))


def grade(make: Make) -> Report:
    """Test an implementation of page tables.

    Args:
        make: ``make(n_pages, page_size)`` returns an object with ``start(name, tokens)``, which
            returns how many tokens were found, ``append(name, token)``, ``end(name)``,
            ``table(name)`` and ``free()``.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, make)


def _free(tables: Any, expected: int, when: str) -> None:
    if (found := tables.free()) != expected:
        raise FaultError(f"{when}, {found} pages are free; it should be {expected}.")


def _table(tables: Any, name: str, pages: int, tokens: int) -> list[int]:
    table = list(tables.table(name))
    if len(table) != pages:
        raise FaultError(f"{tokens} tokens in pages of 4 need {pages} pages, not {len(table)}.")
    if len(set(table)) != len(table) or not set(table) <= set(range(8)):
        raise FaultError(f"a table must hold different pages of 0 to 7; yours is {table}.")
    return table


def _one(make: Make) -> None:
    for length, pages in ((1, 1), (4, 1), (5, 2), (8, 2), (9, 3)):
        tables = make(8, 4)
        if found := tables.start("a", A[:length]):
            raise FaultError(f"nothing is known yet, and start says that {found} were found.")
        _table(tables, "a", pages, length)
        _free(tables, 8 - pages, f"With one sequence of {length} tokens")


def _grow(make: Make) -> None:
    tables = make(8, 4)
    tables.start("a", A[:3])
    for length in range(4, 10):
        tables.append("a", A[length - 1])
        _table(tables, "a", -(-length // 4), length)


def _back(make: Make) -> None:
    tables = make(8, 4)
    for turn in range(3):
        tables.start("a", A[:9])
        tables.end("a")
        _free(tables, 8, f"After {turn + 1} sequences that have ended")


def _apart(make: Make) -> None:
    tables = make(8, 4)
    tables.start("a", A[:6])
    tables.start("b", B[:6])
    both = set(_table(tables, "a", 2, 6)) & set(_table(tables, "b", 2, 6))
    if both:
        raise FaultError(f"two sequences without a common token share the pages {both}.")


def _share(make: Make) -> None:
    tables = make(8, 4)
    tables.start("a", A[:10])
    found = tables.start("b", [*A[:8], *B[:2]])
    if found == 10 or tables.table("a")[2:] == tables.table("b")[2:]:
        raise FaultError(
            "a page that is not full is shared: the next token would overwrite it."
        )
    if found != 8:
        raise FaultError(f"the first 8 tokens are in two full pages; start says {found}.")
    if tables.table("a")[:2] != tables.table("b")[:2]:
        raise FaultError("start says that tokens were found, and the tables share no pages.")
    _free(tables, 4, "With two pages shared and two of their own")


def _written(make: Make) -> None:
    tables = make(8, 4)
    tables.start("a", A[:3])
    tables.append("a", A[3])
    if tables.start("b", A[:4]) != 4:
        raise FaultError("a page that was filled by append is not found by a later prompt.")


def _prefix(make: Make) -> None:
    tables = make(8, 4)
    tables.start("a", A[:8])
    if tables.start("b", [*A[4:8], *B[:4]]):
        raise FaultError(
            "a page is found by its own tokens; its keys depend on all tokens before them, so "
            "it may be shared only where everything before it is equal."
        )


def _outlive(make: Make) -> None:
    tables = make(8, 4)
    tables.start("a", A[:8])
    tables.start("b", A[:8])
    kept = list(tables.table("b"))
    tables.end("a")
    _free(tables, 6, "After the first of two sequences with the same pages has ended")
    tables.start("c", B[:12])
    if set(kept) & set(tables.table("c")):
        raise FaultError("pages that a sequence still uses were given to another one.")
    tables.end("b")
    _free(tables, 5, "After the last user of two pages has ended")
    if tables.start("d", A[:8]):
        raise FaultError("pages that were given back are found all the same.")


def _full(make: Make) -> None:
    tables = make(2, 4)
    tables.start("a", A[:5])
    try:
        tables.start("b", B[:1])
    except MemoryError:
        pass
    else:
        raise FaultError("with no page free, start must raise MemoryError.")
    tables.append("a", 1)  # there is room in the last page
    tables.end("a")
    _free(tables, 2, "After a refused start")
    if tables.start("b", B[:5]):
        raise FaultError("a refused sequence has left something behind.")
    tables = make(2, 4)
    tables.start("a", A[:8])
    try:
        tables.append("a", A[8])
    except MemoryError:
        pass
    except IndexError as error:
        raise FaultError("with no page free, append must raise MemoryError.") from error
    else:
        raise FaultError("with no page free, append must raise MemoryError.")
    _table(tables, "a", 2, 8)
    tables.end("a")
    _free(tables, 2, "After a refused append")


ONE, SHARE = "one sequence", "a shared prefix"
TESTS = (
    Case(ONE, _one),
    Case("growing", _grow, (ONE,)),
    Case("giving back", _back, (ONE,)),
    Case("two sequences apart", _apart, (ONE,)),
    Case(SHARE, _share, (ONE,)),
    Case("pages filled while writing", _written, (SHARE,)),
    Case("the same page after another beginning", _prefix, (SHARE,)),
    Case("a page outlives its first user", _outlive, (SHARE,)),
    Case("no room", _full, (ONE,)),
)
