"""Byte-pair encoding (BPE): how merges are learned, defined and applied."""

import heapq
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise
from operator import add
from typing import Any, NamedTuple

from ...errors import InputError, InputTypeError
from .pretokenize import blocks, pre_tokenize, require_names, require_pattern, utf8

BYTES = 256
LONGEST_PATH = 4096  # characters
MIN_COUNT = 2  # a pair that occurs once is a copy of the text, not a rule
MAX_MERGES = 0x110000 - BYTES  # the fast trainer writes a token as one code point

Pair = tuple[int, int]
Ties = str  # "least", "greatest" or "oldest": which of the most frequent pairs merges first


def count_words(texts: Iterable[str], pattern: str = "gpt2") -> dict[bytes, int]:
    """How often each piece of the documents occurs.

    Args:
        texts: The documents.
        pattern: Name in :data:`~mathlm.text.PATTERNS`.

    Returns:
        From the UTF-8 of a piece to its count.

    Raises:
        InputError: If there is no text, no pattern of that name, or a text holds a lone
            surrogate.
        InputTypeError: If ``texts`` is one str, or a document is not a str.

    Example:
        >>> count_words(["low low"])
        {b'low': 1, b' low': 1}
    """
    require_documents(texts)
    counts: Counter[str] = Counter()
    for text in texts:
        utf8(text)
        for block in blocks(text):
            counts.update(pre_tokenize(block, pattern))
    if not counts:
        raise InputError("the corpus is empty: there is nothing to count or to merge")
    return {word.encode(): count for word, count in counts.items()}


def require_documents(texts: Any) -> None:
    """Refuse one str, or one path, where documents are expected, and a list of paths.

    Raises:
        InputTypeError: With what to write instead.
        InputError: If every text of a list is the path of a file.
    """
    if isinstance(texts, str | os.PathLike) and os.path.isfile(texts):
        path = os.fspath(texts)
        raise InputTypeError(
            f"texts is the path of a file, expected documents; read it: "
            f"[Path({path!r}).read_text()]"
        )
    if isinstance(texts, str | bytes):
        kind = type(texts).__name__
        raise InputTypeError(f"texts is one {kind}, expected documents; write [text]")
    if not isinstance(texts, Iterable):
        raise InputTypeError(f"texts is {texts!r}, expected documents; write [text]")
    if isinstance(texts, Sequence) and texts and all(map(is_file, texts)):
        raise InputError(
            f"each of the {len(texts)} texts is the path of a file, such as {texts[0]!r}, "
            "expected documents: a tokenizer would learn the names. Read them: "
            "[Path(name).read_text() for name in names]"
        )


def is_file(text: Any) -> bool:
    """Whether a text is one short line that names a file."""
    short = isinstance(text, str) and len(text) < LONGEST_PATH and "\n" not in text
    return short and os.path.isfile(text)


def count_pairs(words: Mapping[tuple[int, ...], int]) -> Counter[Pair]:
    """How often each pair of neighbors occurs.

    Implements eq-bpe-count::

        c(a, b) = Σ_w n_w |{i : (w_i, w_i+1) = (a, b)}|

    Overlapping occurrences count: three equal tokens hold the pair twice.

    Args:
        words: From the tokens of a word w to its count n_w.

    Example:
        >>> count_pairs({(1, 1, 1): 2})
        Counter({(1, 1): 4})
    """
    counts: Counter[Pair] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts


def merge_pair(word: tuple[int, ...], pair: Pair, new: int) -> tuple[int, ...]:
    """Write one token for each occurrence of a pair, from the left.

    Args:
        word: Tokens.
        pair: The two tokens to be merged.
        new: The token that takes their place.

    Example:
        >>> merge_pair((97, 97, 97), (97, 97), 256)
        (256, 97)
    """
    merged: list[int] = []
    i = 0
    while i < len(word):
        found = word[i : i + 2] == pair
        merged.append(new if found else word[i])
        i += 2 if found else 1
    return tuple(merged)


def token_bytes(merges: Iterable[Pair]) -> list[bytes]:
    """The bytes of every token: the 256 bytes, then what each merge joins.

    Raises:
        InputError: If a merge joins a token that is not there yet.

    Example:
        >>> token_bytes([(108, 111), (256, 119)])[256:]
        [b'lo', b'low']
    """
    tokens = [bytes([i]) for i in range(BYTES)]
    for i, (left, right) in enumerate(merges):
        if not 0 <= min(left, right) <= max(left, right) < len(tokens):
            raise InputError(
                f"merge {i} joins {left} and {right}, but tokens 0 to {len(tokens) - 1} exist "
                "before it"
            )
        tokens.append(tokens[left] + tokens[right])
    return tokens


def require_words(words: Mapping[bytes, int], n_merges: int) -> None:
    """Refuse what no merges can be learned from."""
    if isinstance(n_merges, bool) or not isinstance(n_merges, int):
        raise InputTypeError(f"n_merges={n_merges!r} must be an integer")
    if not 0 <= n_merges <= MAX_MERGES:
        raise InputError(f"n_merges={n_merges} must be between 0 and {MAX_MERGES}")
    if not words:
        raise InputError("words is empty: there is nothing to merge")
    for word, count in words.items():
        if not isinstance(word, bytes) or not isinstance(count, int):
            raise InputTypeError(f"words[{word!r}]={count!r}, expected bytes and an integer")
        if count < 1:
            raise InputError(f"words[{word!r}]={count} must be at least 1")


def tie_order(ties: Ties, tokens: Sequence[bytes]) -> Callable[[int], Any]:
    """Key of a token by which pairs that are equally frequent are compared; the least wins."""
    orders: dict[str, Callable[[int], Any]] = {
        "least": lambda i: tokens[i],
        "greatest": lambda i: (*(-byte for byte in tokens[i]), 1),  # 1: a prefix is less
        "oldest": lambda i: i,
    }
    if ties not in orders:
        raise InputError(f"ties={ties!r} is none of {', '.join(orders)}")
    return orders[ties]


def learn_merges_naive(
    words: Mapping[bytes, int], n_merges: int, ties: Ties = "least"
) -> list[Pair]:
    """Merges by the definition: count every pair, merge the best one, begin again.

    Implements eq-bpe-merge::

        (a, b) = argmax c(a, b),    words := words with ab for a b

    Each merge reads the whole corpus; :func:`learn_merges` gives the same, much faster.

    Args:
        words: From the bytes of a word to its count.
        n_merges: How many merges to learn; fewer come back if no pair occurs twice.
        ties: Which of the most frequent pairs merges first, by the left token, then the right:
            that of the least bytes, of the greatest bytes, or of the oldest tokens.

    Returns:
        Pairs of tokens, in the order in which they are merged.

    Raises:
        InputError: If there are no words, a count is not positive, ``n_merges`` is out of
            range, or ``ties`` is unknown.
        InputTypeError: If a word is not bytes, or a number not an integer.

    Example:
        >>> learn_merges_naive({b"low": 3, b"lot": 1}, n_merges=2)
        [(108, 111), (256, 119)]
    """
    require_words(words, n_merges)
    split = {tuple(word): count for word, count in words.items()}
    tokens, merges = token_bytes([]), list[Pair]()
    order = tie_order(ties, tokens)
    for new in range(BYTES, BYTES + n_merges):
        counts = count_pairs(split)
        best = min(counts, key=lambda p: (-counts[p], order(p[0]), order(p[1])), default=None)
        if best is None or counts[best] < MIN_COUNT:
            break  # what is left occurs once
        split = {merge_pair(word, best, new): count for word, count in split.items()}
        tokens.append(tokens[best[0]] + tokens[best[1]])
        merges.append(best)
    return merges


class PairTable:
    """Counts of all pairs, kept up to date as words change.

    A word is a str with one code point for each token, so that ``str.replace`` is the merge:
    it too takes occurrences from the left and lets none overlap. A pair is a str of two.

    Args:
        words: From the bytes of a word to its count.
    """

    def __init__(self, words: Mapping[bytes, int]) -> None:
        self.words = [word.decode("latin-1") for word in words]  # byte i is code point i
        self.times = list(words.values())
        self.counts: defaultdict[str, int] = defaultdict(int)
        self.where: defaultdict[str, list[int]] = defaultdict(list)  # words that hold a pair
        for i, word in enumerate(self.words):
            for pair in map(add, word, word[1:]):
                self.counts[pair] += self.times[i]
                self.where[pair].append(i)

    def merge(self, pair: str, new: str) -> set[str]:
        """Merge a pair in the words that hold it.

        Returns:
            The pairs that appear: all of them hold the new token.
        """
        appeared: set[str] = set()
        first, second = pair[0], pair[1]
        counts, where = self.counts, self.where
        for i in where.pop(pair):
            old, times = self.words[i], self.times[i]
            at = old.find(pair)
            if at < 0:
                continue  # it held the pair once, or is listed twice
            self.words[i] = word = old.replace(pair, new)
            if old.find(pair, at + 2) < 0:  # as nearly always: two pairs go and two come
                gone = [old[at - 1] + first] if at else []
                came = [old[at - 1] + new] if at else []
                if at + 2 < len(old):
                    gone.append(second + old[at + 2])
                    came.append(new + old[at + 2])
            else:
                gone = list(map(add, old, old[1:]))
                came = list(map(add, word, word[1:]))
            for lost in gone:
                counts[lost] -= times
            for found in came:
                counts[found] += times
                if new in found:
                    where[found].append(i)
                    appeared.add(found)
        del self.counts[pair]
        return appeared


def learn_merges(words: Mapping[bytes, int], n_merges: int, ties: Ties = "least") -> list[Pair]:
    """Merges by counts that are kept up to date: what :func:`learn_merges_naive` gives.

    A merge changes the words that hold the pair and no others, so only their pairs are counted
    again. The heap is lazy: a pair whose count fell keeps its old, too hopeful place until it
    comes to the top, and is put back where it belongs. No count of a pair ever rises after the
    merge that made it, because every later pair holds a later token.

    Args:
        words: From the bytes of a word to its count.
        n_merges: How many merges to learn; fewer come back if no pair occurs twice.
        ties: Which of the most frequent pairs merges first; see :func:`learn_merges_naive`.

    Returns:
        Pairs of tokens, in the order in which they are merged.

    Raises:
        InputError, InputTypeError: As :func:`learn_merges_naive`.

    Example:
        >>> learn_merges({b"low": 3, b"lot": 1}, n_merges=2)  # l + o, then token 256 + w
        [(108, 111), (256, 119)]
    """
    require_words(words, n_merges)
    table, tokens, merges = PairTable(words), token_bytes([]), list[Pair]()
    order = tie_order(ties, tokens)

    def entry(pair: str) -> tuple[int, Any, Any, str]:
        left, right = map(ord, pair)
        return -table.counts[pair], order(left), order(right), pair

    heap = [entry(pair) for pair in table.counts]
    heapq.heapify(heap)
    while heap and len(merges) < n_merges:
        count, _, _, pair = heapq.heappop(heap)
        if -count != table.counts[pair]:
            heapq.heappush(heap, entry(pair))
        elif -count >= MIN_COUNT:
            appeared = table.merge(pair, chr(len(tokens)))
            left, right = map(ord, pair)
            tokens.append(tokens[left] + tokens[right])
            merges.append((left, right))
            for new in appeared:
                heapq.heappush(heap, entry(new))
    return merges


KEPT_WORDS = 1 << 16
KEPT_LENGTH = 64  # [characters] longest word that is kept


def apply_merges(ids: Sequence[int], rules: dict[Pair, tuple[int, int]]) -> list[int]:
    """Tokens of one word: the merge of lowest rank first, each from left to right.

    Implements eq-bpe-encode::

        i* = argmin_i r(w_i, w_{i+1}),   until no pair has a rank

    The positions that can merge wait in a heap and the tokens are a linked list, so a word of
    n bytes takes O(n log n) steps.

    Args:
        ids: Ids of the bytes of the word.
        rules: Rank and resulting id of each pair that merges.

    Example:
        >>> apply_merges([0, 0, 1, 0], {(0, 1): (0, 2), (0, 2): (1, 3)})
        [3, 0]
    """
    tokens, end = list(ids), len(ids)
    before, after = list(range(-1, end - 1)), list(range(1, end + 1))
    waiting = [(rules[p][0], i) for i, p in enumerate(pairwise(tokens)) if p in rules]
    heapify(waiting)
    while waiting:
        rank, i = heappop(waiting)
        j = after[i]
        rule = rules.get((tokens[i], tokens[j])) if j < end else None
        if rule is None or rule[0] != rank:
            continue  # a token of this pair has merged with another since
        tokens[i], tokens[j] = rule[1], -1
        after[i] = after[j]
        if after[j] < end:
            before[after[j]] = i
        for left, right in ((before[i], i), (i, after[i])):
            if left >= 0 and right < end and (new := rules.get((tokens[left], tokens[right]))):
                heappush(waiting, (new[0], left))
    return [token for token in tokens if token >= 0]


class WordCache(dict[str, tuple[int, ...]]):
    """Tokens of the words seen so far; a missing word is computed.

    It holds at most ``KEPT_WORDS`` words of at most ``KEPT_LENGTH`` characters and begins anew
    when it is full.
    """

    def __init__(self, compute: Callable[[str], list[int]]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, word: str) -> tuple[int, ...]:
        ids = tuple(self._compute(word))
        if len(word) <= KEPT_LENGTH:
            if len(self) >= KEPT_WORDS:
                self.clear()
            self[word] = ids
        return ids


def ids_of(text: str, pattern: str, words: WordCache) -> Iterator[int]:
    """Ids of a text, word by word."""
    for block in blocks(text):
        yield from chain.from_iterable(map(words.__getitem__, pre_tokenize(block, pattern)))


class Definition(NamedTuple):
    """Everything that decides what a byte-pair encoding does.

    Args:
        tokens: Bytes of each id; for a special token its name in UTF-8.
        merges: Pairs of ids, in order of rank.
        special: Id of each special token.
        pattern: Name of the pattern that cuts text into words.
    """

    tokens: tuple[bytes, ...]
    merges: tuple[Pair, ...]
    special: dict[str, int]
    pattern: str


def whole_number(value: Any) -> int | None:
    """``value`` as an int, if it is one integer of Python, NumPy or torch; booleans are not."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    return None if isinstance(value, bool) or not isinstance(value, int) else int(value)


def require_pairs(merges: Iterable[Any]) -> tuple[Pair, ...]:
    """Merges as pairs of ints.

    Raises:
        InputTypeError: If they are no list, or one is no pair of integers.
    """
    if not isinstance(merges, Iterable):
        raise InputTypeError(f"merges={merges!r} must be a list of pairs of ids")
    pairs: list[Pair] = []
    for rank, pair in enumerate(merges):
        if type(pair) is tuple and [*map(type, pair)] == [int, int]:  # as files have them
            left, right = pair
            pairs.append((left, right))
            continue
        ids = [whole_number(token) for token in pair] if isinstance(pair, Iterable) else []
        if len(ids) != 2 or ids[0] is None or ids[1] is None:
            raise InputTypeError(f"merge {rank} is {pair!r}, expected two ids")
        pairs.append((ids[0], ids[1]))
    return tuple(pairs)


def require_tokens(tokens: Iterable[Any]) -> tuple[bytes, ...]:
    """Tokens as a tuple, if each is bytes and none is empty.

    Raises:
        InputTypeError: If they are no list.
        InputError: If one is something else.
    """
    if not isinstance(tokens, Iterable):
        raise InputTypeError(f"tokens={tokens!r} must be a list of bytes")
    tokens = tuple(tokens)
    for token, data in enumerate(tokens):
        if not isinstance(data, bytes) or not data:
            raise InputError(f"token {token} is {data!r}, expected one byte or more")
    return tokens


def require_special(special: Mapping[str, Any], tokens: Sequence[bytes]) -> dict[str, int]:
    """Ids of special tokens as ints, if their bytes are their names.

    Raises:
        InputTypeError: If they are no mapping, or a name is no str.
        InputError: If a name is empty or an id is another token or none.
    """
    if not isinstance(special, Mapping):
        raise InputTypeError(f"special={special!r} must map names to ids")
    require_names(list(special))
    ids: dict[str, int] = {}
    for name, found in special.items():
        token = whole_number(found)
        if token is None or not 0 <= token < len(tokens):
            raise InputError(f"special {name!r} has id {found!r}, outside 0..{len(tokens) - 1}")
        if tokens[token] != name.encode():
            raise InputError(f"id {token} is {tokens[token]!r}, not the special {name!r}")
        ids[name] = token
    return ids


def define(
    tokens: Sequence[bytes], merges: Sequence[Pair], special: Mapping[str, int], pattern: str
) -> Definition:
    """A definition whose special tokens, pattern and token bytes are allowed.

    A special token may be spelled like an ordinary one: they are two ids with the same bytes,
    and text only ever becomes the ordinary one.

    Raises:
        InputError: If a token is empty, a special id is out of range or has other bytes than
            its name, or no pattern is called so.
        InputTypeError: If an argument is of another kind, or an id no integer.
    """
    require_pattern(pattern)
    tokens = require_tokens(tokens)
    ids = require_special(special, tokens)
    return Definition(tokens, require_pairs(merges), ids, pattern)


def ordinary_ids(definition: Definition) -> dict[bytes, int]:
    """Id of the bytes of each token that is not special.

    Raises:
        InputError: If two have the same bytes.
    """
    special = set(definition.special.values())
    ids: dict[bytes, int] = {}
    for token, data in enumerate(definition.tokens):
        if token in special:
            continue
        if data in ids:
            raise InputError(f"tokens {ids[data]} and {token} are both {data!r}")
        ids[data] = token
    return ids


def merge_rules(definition: Definition, ids: dict[bytes, int]) -> dict[Pair, tuple[int, int]]:
    """Rank and resulting id of each pair that merges.

    Raises:
        InputError: If a merge uses a token that is neither a byte nor made by an earlier merge,
            or makes bytes that are no token or were made before.
    """
    tokens = definition.tokens
    made = {token for data, token in ids.items() if len(data) == 1}
    rules: dict[Pair, tuple[int, int]] = {}
    for rank, (left, right) in enumerate(definition.merges):
        if left not in made or right not in made:
            late = right if left in made else left
            raise InputError(
                f"merge {rank} of {left} and {right} uses token {late}, which is neither a "
                f"byte nor made by one of the {rank} merges before it"
            )
        product = ids.get(tokens[left] + tokens[right])
        if product is None or product in made:
            fault = "is no token" if product is None else f"is token {product} already"
            raise InputError(f"merge {rank}: {tokens[left] + tokens[right]!r} {fault}")
        made.add(product)
        rules[left, right] = (rank, product)
    return rules


def from_merges(merges: Sequence[Pair], special: Sequence[str], pattern: str) -> Definition:
    """Ids 0..255 are the bytes, 256 + i is merge i, and the special tokens come last.

    Raises:
        InputError: If a merge uses an id that is not made before it.
    """
    require_names(special)
    pairs = require_pairs(merges)
    tokens = token_bytes(pairs)
    ids = {name: len(tokens) + i for i, name in enumerate(special)}
    return define(tokens + [name.encode() for name in special], pairs, ids, pattern)
