"""What defines a byte-pair encoding: its tokens, merges, special tokens and pattern."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...errors import InputError, InputTypeError
from .merges import token_bytes
from .pretokenize import require_pattern
from .special import require_names

Pair = tuple[int, int]


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
        if late := [token for token in (left, right) if token not in made]:
            raise InputError(
                f"merge {rank} of {left} and {right} uses token {late[0]}, which is neither a "
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


__all__ = ["Definition", "define", "from_merges", "merge_rules", "ordinary_ids", "whole_number"]
