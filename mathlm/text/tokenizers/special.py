"""Special tokens: names that text never becomes unless the caller says so."""

import re
from collections.abc import Collection, Iterable, Sequence

from ...errors import InputError, InputTypeError
from .pretokenize import utf8


def require_names(special: Sequence[str]) -> None:
    """Raise unless ``special`` are distinct names of one character or more.

    Raises:
        InputTypeError: If it is no sequence but a string or a set, or holds what is no string.
        InputError: If a name is empty, repeated or has a lone surrogate.
    """
    if isinstance(special, str) or not isinstance(special, Sequence):
        raise InputTypeError(f"special={special!r} must be a list of names; their order counts")
    for position, name in enumerate(special):
        utf8(name)
        if not name:
            raise InputError(f"special[{position}] is empty; every position of a text has it")
        if name in special[:position]:
            first = special.index(name)
            raise InputError(f"special {name!r} is at {first} and again at {position}")


def require_allowed(allowed: Iterable[str] | str, special: Iterable[str]) -> set[str]:
    """The names that ``allowed`` stands for: those it holds, or every one for "all".

    Raises:
        InputTypeError: If it is a string other than "all", or holds what is no string.
        InputError: If it holds a name that is no special token.
    """
    if isinstance(allowed, str):
        if allowed == "all":
            return set(special)
        raise InputTypeError(f"allowed_special={allowed!r} must be 'all' or a set of names")
    if not isinstance(allowed, Iterable):
        raise InputTypeError(f"allowed_special={allowed!r} must be 'all' or a set of names")
    names = list(allowed)  # once: a generator has no second reading
    if other := [name for name in names if not isinstance(name, str)]:
        raise InputTypeError(f"allowed_special holds {other[0]!r}; a name is a str")
    if unknown := set(names) - set(special):
        raise InputError(
            f"allowed_special has {sorted(unknown)}; the special tokens are {sorted(special)}"
        )
    return set(names)


def split_special(text: str, names: Collection[str]) -> list[str]:
    """Text cut at special names: even items are text, odd items are names.

    Names are found from the left. Where several begin at one position, the longest wins.

    Example:
        >>> split_special("a<x>b", ["<x>"])
        ['a', '<x>', 'b']
    """
    if not names:
        return [text]
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)


__all__ = ["require_allowed", "require_names", "split_special"]
