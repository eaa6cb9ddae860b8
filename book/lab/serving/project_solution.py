"""Reference solution of the project: page tables with shared prefixes."""

from collections.abc import Sequence


class PageTables:
    """Page tables of sequences that share full pages of equal beginnings.

    Args:
        n_pages: Pages of the memory.
        page_size: Tokens of a page.
    """

    def __init__(self, n_pages: int, page_size: int) -> None:
        self.page_size, self.unused = page_size, list(range(n_pages))
        self.tokens = dict[str, list[int]]()
        self.tables = dict[str, list[int]]()
        self.count = [0] * n_pages
        self.known = dict[tuple[int, ...], int]()  # all tokens to the end of a page -> page

    def start(self, name: str, tokens: Sequence[int]) -> int:
        """A new sequence; returns how many of its tokens were found."""
        size, shared = self.page_size, list[int]()
        for end in range(size, len(tokens) + 1, size):
            page = self.known.get(tuple(tokens[:end]))
            if page is None:
                break
            shared.append(page)
        need = -(-len(tokens) // size) - len(shared)
        if need > len(self.unused):
            raise MemoryError(f"{need} pages are needed and {len(self.unused)} are free")
        self.tokens[name] = list(tokens)
        self.tables[name] = shared + [self.unused.pop() for _ in range(need)]
        for page in self.tables[name]:
            self.count[page] += 1
        self._note(name)
        return len(shared) * size

    def append(self, name: str, token: int) -> None:
        """One more token of a sequence."""
        if len(self.tokens[name]) % self.page_size == 0:
            if not self.unused:
                raise MemoryError("a page is needed and none is free")
            page = self.unused.pop()
            self.tables[name].append(page)
            self.count[page] += 1
        self.tokens[name].append(token)
        self._note(name)

    def end(self, name: str) -> None:
        """A sequence gives back what no other one uses."""
        for page in self.tables.pop(name):
            self.count[page] -= 1
            if self.count[page] == 0:
                self.unused.append(page)
                self.known = {key: p for key, p in self.known.items() if p != page}
        del self.tokens[name]

    def table(self, name: str) -> list[int]:
        """Pages of a sequence, in the order of its tokens."""
        return list(self.tables[name])

    def free(self) -> int:
        """Pages that nobody uses."""
        return len(self.unused)

    def _note(self, name: str) -> None:
        """Full pages can be found from now on."""
        tokens = self.tokens[name]
        for i in range(len(tokens) // self.page_size):
            key = tuple(tokens[: (i + 1) * self.page_size])
            self.known.setdefault(key, self.tables[name][i])
