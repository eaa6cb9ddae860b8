"""A paged KV cache: fixed pages, shared prefixes, counted references."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from mathlm.errors import InputError

Key = tuple[int, ...]  # all tokens up to the end of a full page


@dataclass(eq=False)
class PagePool:
    """Pages of equal size, handed out to sequences and shared where their tokens agree.

    A page is free, used by one or more sequences, or *kept*: used by none, full, and known by
    the tokens up to its end, so that a later prompt may find it. Kept pages are given up, the
    longest unused first, when no page is free.

    Args:
        n_pages: Pages of the pool.
        page_size: Tokens of a page.
        share: Whether full pages are kept and found again.
    """

    n_pages: int
    page_size: int = 16
    share: bool = True
    free: list[int] = field(init=False)
    references: list[int] = field(init=False)

    def __post_init__(self) -> None:
        if min(self.n_pages, self.page_size) < 1:
            raise InputError(
                f"n_pages={self.n_pages} and page_size={self.page_size} must be at least 1"
            )
        self.free = list(range(self.n_pages))[::-1]
        self.references = [0] * self.n_pages
        self._page_of = dict[Key, int]()  # prefix -> page, for full pages
        self._key_of = dict[int, Key]()
        self._kept = OrderedDict[int, None]()  # pages without references, oldest first

    @property
    def available(self) -> int:
        """Pages that nobody uses."""
        return len(self.free) + len(self._kept)

    def find(self, tokens: Sequence[int]) -> list[int]:
        """Pages that hold the longest known prefix of these tokens; whole pages only."""
        pages: list[int] = []
        if not self.share:
            return pages
        for end in range(self.page_size, len(tokens) + 1, self.page_size):
            page = self._page_of.get(tuple(tokens[:end]))
            if page is None:
                break
            pages.append(page)
        return pages

    def acquire(self, pages: Sequence[int]) -> None:
        """One more sequence uses these pages."""
        for page in pages:
            self.references[page] += 1
            self._kept.pop(page, None)

    def take(self) -> int:
        """An empty page for one sequence.

        Raises:
            InputError: If every page is used.
        """
        if not self.free:
            if not self._kept:
                raise InputError(f"all {self.n_pages} pages are used: end or evict a sequence")
            page, _ = self._kept.popitem(last=False)
            del self._page_of[self._key_of.pop(page)]
            self.free.append(page)
        page = self.free.pop()
        self.references[page] = 1
        return page

    def publish(self, page: int, prefix: Sequence[int]) -> None:
        """A page is full; ``prefix`` are all tokens up to its end."""
        key = tuple(prefix)
        if self.share and key not in self._page_of:
            self._page_of[key], self._key_of[page] = page, key

    def release(self, pages: Sequence[int]) -> None:
        """A sequence ends; what nobody uses any more is kept if it is known, or free."""
        for page in reversed(pages):  # later pages are given up before those they build on
            if self.references[page] < 1:
                raise InputError(f"page {page} is released and nobody uses it")
            self.references[page] -= 1
            if self.references[page]:
                continue
            if page in self._key_of:
                self._kept[page] = None
            else:
                self.free.append(page)


def pages_needed(tokens: int, page_size: int) -> int:
    """Pages of a sequence: ⌈tokens / page_size⌉."""
    return -(-tokens // page_size)
