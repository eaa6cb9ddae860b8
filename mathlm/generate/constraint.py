"""What a text may be, asked one token at a time."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from ..shapes import Bool


@runtime_checkable
class Constraint(Protocol):
    """A set of texts, as the tokens that may follow each beginning of one.

    A state stands for what a row has written so far; the prompt is not part of it. States are
    never changed in place, so that rows may share them.
    """

    def start(self) -> Any:
        """State of a row that has written nothing."""
        ...

    def allowed(self, state: Any, room: int | None = None) -> Bool[Tensor, " V"]:
        """Tokens after which the text can still be completed.

        Args:
            state: Of the row; not a finished one, with the same room.
            room: Tokens that may still be written, this one among them; None = any number.
                The text must then be complete within them.

        Returns:
            True where a token may follow; at least one may.

        Raises:
            InputError: If the text is finished, or cannot be completed within the room.
        """
        ...

    def next(self, state: Any, token: int) -> Any:
        """State after one more token, one of the allowed ones."""
        ...

    def finished(self, state: Any, room: int | None = None) -> bool:
        """Whether the text is complete and nothing may follow: the row stops here.

        Args:
            state: Of the row; that of a row that has written nothing may be finished too.
            room: As in :meth:`allowed`, 1 or more: a text that could go on, but to no end
                within the room, is finished.
        """
        ...

    def tokens_needed(self, state: Any) -> int:
        """Fewest tokens that complete the text; 0 where it may end as it is."""
        ...

    def may_contain(self, tokens: Sequence[int]) -> bool:
        """Whether these tokens, in a row, occur in any text that is allowed."""
        ...
