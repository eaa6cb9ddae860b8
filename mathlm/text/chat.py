"""Chat templates: conversations as token ids, with roles, their order, and markers between."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy import ndarray

from ..errors import ConfigError, InputError, InputTypeError
from ..shapes import Bool, Int
from .tokenizers.pretokenize import utf8

log = logging.getLogger(__name__)


@runtime_checkable
class ChatTokenizer(Protocol):
    """What a chat needs of a tokenizer, such as `ByteBPE`."""

    @property
    def special(self) -> dict[str, int]:
        """Id of each special token."""
        ...

    def encode(self, text: str) -> list[int]:
        """Ids of a text, none of them special."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Chat:
    """A conversation, or a prompt and its completion, as a model sees it.

    Args:
        ids: Ids of the tokens.
        mask: True on each token that the model is to predict from those before it: the
            assistant's tokens and the marker that ends its turn.
        mismatches: How many answers are cut into other tokens alone than behind their prompt.
    """

    ids: Int[ndarray, " T"]
    mask: Bool[ndarray, " T"]
    mismatches: int

    def __len__(self) -> int:
        return len(self.ids)


def prompt_and_completion(
    prompt: str,
    completion: str,
    tokenizer: ChatTokenizer,
    *,
    bos: str | None = None,
    end: str | None = None,
) -> Chat:
    """A prompt and the completion that a model is to learn.

    Computes::

        ids = [bos] + encode(p) + encode(c) + [end],   mask = True from encode(c) on

    The boundary of the loss is the one between the tokens of encode(p) and what follows, as it
    is when a model completes the prompt. If encode(p + c) is not encode(p) + encode(c), a token
    would reach across it; that is counted in ``mismatches`` and logged.

    Args:
        prompt: p.
        completion: c.
        tokenizer: Has ``bos`` and ``end`` as special tokens.
        bos: Special token before the prompt, exactly once, or None.
        end: Special token after the completion, or None.

    Raises:
        InputTypeError: If a text is not a str.
        InputError: If the tokenizer lacks a special token, or there is nothing to learn, or
            nothing to learn it from.

    Example:
        >>> from mathlm.text import Bytes
        >>> chat = prompt_and_completion("2 + 3 = ", "5", Bytes())
        >>> chat.ids.tolist()[-2:], chat.mask.tolist()[-2:]  # the completion alone is learned
        ([32, 53], [False, True])
    """
    for name, text in (("prompt", prompt), ("completion", completion)):
        if not isinstance(text, str):
            raise InputTypeError(f"{name} must be a str, got {type(text).__name__}")
    if not completion and end is None:
        raise InputError('completion is "" and there is no end: nothing is left to learn')
    if not prompt and bos is None:
        raise InputError('prompt is "" and there is no bos: the first token has no context')
    specials = special_ids(tokenizer, [name for name in (bos, end) if name is not None])
    chat = ChatBuilder(tokenizer, None if bos is None else specials[bos])
    chat.turn(prompt, completion, learn=True)
    if end is not None:
        chat.special(specials[end], learn=True)
    return chat.done()


class ChatBuilder:
    """Ids and mask as they grow."""

    def __init__(self, tokenizer: ChatTokenizer, bos: int | None) -> None:
        self.tokenizer = tokenizer
        self.never = set(tokenizer.special.values())
        self.bos = bos
        self.ids: list[int] = []
        self.mask: list[bool] = []
        self.mismatches = 0
        if bos is not None:
            self.special(bos)

    def special(self, token: int, learn: bool = False) -> None:
        """Append a special token."""
        self.ids.append(token)
        self.mask.append(learn)

    def text(self, text: str, learn: bool = False) -> None:
        """Append a text, of which no token is special."""
        ids = self.ordinary(text)
        self.ids += ids
        self.mask += [learn] * len(ids)

    def turn(self, before: str, text: str, learn: bool) -> None:
        """Text after what comes before it: one piece, or two if only the second is learned."""
        if not learn:
            self.text(before + text)
            return
        start = len(self.ids)
        self.text(before)
        self.text(text, learn=True)
        if self.ids[start:] != self.ordinary(before + text):
            self.mismatches += 1

    def ordinary(self, text: str) -> list[int]:
        """Ids of a text without the BOS that a tokenizer may put before every text."""
        ids = list(self.tokenizer.encode(text)) if text else []
        if ids and self.bos is not None and ids[0] == self.bos:
            ids = ids[1:]
        if made := self.never.intersection(ids):
            raise InputError(
                f"the tokenizer makes the special ids {sorted(made)} from the text "
                f"{text!r:.60}; it must keep them for markers"
            )
        return ids

    def done(self) -> Chat:
        """What was appended; mismatches are logged."""
        if self.mismatches:
            log.info(
                "%d answers are cut into other tokens behind their prompt than alone; the loss "
                "begins after the tokens of the prompt",
                self.mismatches,
            )
        return Chat(
            ids=np.array(self.ids, np.int64),
            mask=np.array(self.mask, bool),
            mismatches=self.mismatches,
        )


def special_ids(tokenizer: ChatTokenizer, names: Iterable[str]) -> dict[str, int]:
    """Ids of the special tokens, once it is known that the named ones are there."""
    missing = [name for name in names if name not in tokenizer.special]
    if missing:
        raise InputError(
            f"the tokenizer lacks the special tokens {missing}; it has "
            f"{list(tokenizer.special)}; train it with special=format.special"
        )
    return dict(tokenizer.special)


ROLES = ("system", "user", "assistant", "tool")
FOLLOWS = {  # who may speak after whom; None is the beginning
    None: ("system", "user"),
    "system": ("user",),
    "user": ("assistant",),
    "assistant": ("user", "tool"),
    "tool": ("tool", "assistant"),
}


@dataclass(frozen=True)
class Message:
    """One turn of a conversation.

    Args:
        role: "system", "user", "assistant" or "tool".
        content: What was said; any text.

    Example:
        >>> Message("user", "Hello")
        Message(role='user', content='Hello')
    """

    role: str
    content: str


@dataclass(frozen=True, kw_only=True)
class ChatFormat:
    """A chat template: how a conversation is written.

    Each turn is ``marker header content end separator``. Markers and ends are special tokens;
    headers, contents and separators are text, and text never becomes a special token: a user
    who writes the name of a marker gets ordinary tokens.

    A conversation begins with an optional system message and then a user; a user is answered
    by the assistant; after the assistant comes a user or a tool, and after a tool another one
    or the assistant.

    Args:
        markers: Special token that begins a turn, by role; the roles it lacks are not allowed.
        headers: Text after the marker, by role.
        end: Special token that ends every turn.
        separator: Text between turns, after ``end``.
        bos: Special token before the first turn, or None. There is exactly one, whatever the
            tokenizer adds and whatever the contents say.
        default_system: Content of the system message of a conversation that has none, or None.

    Raises:
        ConfigError: If a role is unknown or lacks its header, a special token or a text is no
            str, or a special token is there for two things: the BOS, the end, and the
            beginnings of turns.

    Example:
        >>> print(ChatFormat.chatml().render([Message("user", "Hi")], answer=True))
        <|im_start|>user
        Hi<|im_end|>
        <|im_start|>assistant
        <BLANKLINE>
    """

    markers: Mapping[str, str]
    headers: Mapping[str, str]
    end: str
    separator: str = ""
    bos: str | None = None
    default_system: str | None = None

    def __post_init__(self) -> None:
        for name in ("markers", "headers"):
            if not isinstance(getattr(self, name), Mapping):
                raise ConfigError(f"{name}={getattr(self, name)!r} must map roles to str")
        names = (*([] if self.bos is None else [self.bos]), *self.markers.values(), self.end)
        if not all(isinstance(name, str) and name for name in names):
            raise ConfigError(f"the special tokens {names} must be names, none empty")
        for text in (*self.headers.values(), self.separator, self.default_system or ""):
            _require_text(text)
        if not {"user", "assistant"} <= set(self.markers) <= set(ROLES):
            raise ConfigError(
                f"markers={dict(self.markers)} must have user and assistant, and no role but "
                f"{ROLES}"
            )
        if set(self.markers) != set(self.headers):
            raise ConfigError(
                f"markers are for {sorted(self.markers)}, headers for {sorted(self.headers)}; "
                'give every role both, a header may be ""'
            )
        if self.bos in (self.end, *self.markers.values()):
            raise ConfigError(
                f"bos={self.bos!r} also marks turns: it would not be the only one"
            )
        if self.end in self.markers.values():
            raise ConfigError(f"end={self.end!r} also begins turns; give it a name of its own")
        if self.default_system is not None and "system" not in self.markers:
            raise ConfigError(f"default_system needs a marker; there are {list(self.markers)}")

    @classmethod
    def chatml(cls, default_system: str | None = None) -> "ChatFormat":
        r"""ChatML, the format of SmolLM2: ``<|im_start|>role\ncontent<|im_end|>\n``; no BOS.

        Args:
            default_system: Content of the system message of a conversation that has none.
        """
        return cls(
            markers=dict.fromkeys(ROLES, "<|im_start|>"),
            headers={role: f"{role}\n" for role in ROLES},
            end="<|im_end|>",
            separator="\n",
            default_system=default_system,
        )

    @classmethod
    def named(cls) -> "ChatFormat":
        """A marker for each role: ``<|bos|><|user|>content<|end|><|assistant|>...``."""
        return cls(
            markers={role: f"<|{role}|>" for role in ROLES},
            headers=dict.fromkeys(ROLES, ""),
            end="<|end|>",
            bos="<|bos|>",
        )

    @property
    def special(self) -> tuple[str, ...]:
        """Names of the special tokens that a tokenizer needs, each once."""
        names = (*([] if self.bos is None else [self.bos]), *self.markers.values(), self.end)
        return tuple(dict.fromkeys(names))

    def encode(
        self,
        messages: Iterable[Message | Mapping[str, str]],
        tokenizer: ChatTokenizer,
        *,
        answer: bool = False,
    ) -> Chat:
        """Ids and mask of a conversation.

        The answers are encoded apart from their headers, as they are when a model writes them;
        where that gives other tokens than encoding both at once, a mismatch is counted and
        logged.

        Args:
            messages: Turns, as `Message` or as maps with "role" and "content".
            tokenizer: Has every name of ``special`` as a special token.
            answer: Whether to open the assistant's turn at the end, so that a model answers. If
                not, the conversation must end with the assistant.

        Raises:
            InputTypeError: If a message is neither, or a content is not a str.
            InputError: If there is no message, a role is unknown or out of order, the end is
                not the one that ``answer`` needs, or the tokenizer lacks a special token.

        Example:
            >>> from mathlm.text import Bytes
            >>> form = ChatFormat.named()
            >>> tokenizer = Bytes(form.special)
            >>> turns = [Message("user", "Hi"), Message("assistant", "Ho")]
            >>> chat = form.encode(turns, tokenizer)
            >>> tokenizer.decode(chat.ids)
            '<|bos|><|user|>Hi<|end|><|assistant|>Ho<|end|>'
        """
        turns, specials = self._turns(messages, answer), special_ids(tokenizer, self.special)
        chat = ChatBuilder(tokenizer, None if self.bos is None else specials[self.bos])
        for turn in turns:
            learn = turn.role == "assistant"
            chat.special(specials[self.markers[turn.role]])
            chat.turn(self.headers[turn.role], turn.content, learn)
            chat.special(specials[self.end], learn)
            chat.text(self.separator)
        if answer:
            chat.special(specials[self.markers["assistant"]])
            chat.text(self.headers["assistant"])
        return chat.done()

    def render(
        self, messages: Iterable[Message | Mapping[str, str]], *, answer: bool = False
    ) -> str:
        """The conversation as text, to be looked at.

        It is no input for a model: in it the name of a marker that a user wrote looks like the
        marker. `encode` keeps them apart.

        Raises:
            InputError: As `encode`.
        """
        parts = [self.bos or ""]
        for turn in self._turns(messages, answer):
            parts += [self.markers[turn.role], self.headers[turn.role], turn.content]
            parts += [self.end, self.separator]
        if answer:
            parts += [self.markers["assistant"], self.headers["assistant"]]
        return "".join(parts)

    def _turns(
        self, messages: Iterable[Message | Mapping[str, str]], answer: bool
    ) -> list[Message]:
        if isinstance(messages, str | Mapping | Message) or not isinstance(messages, Iterable):
            raise InputTypeError(
                f"messages must be a list of them, got {type(messages).__name__}"
            )
        turns = [_message(message, i) for i, message in enumerate(messages)]
        self._require_order(turns, answer)
        if self.default_system is not None and turns[0].role != "system":
            turns.insert(0, Message("system", self.default_system))
        return turns

    def _require_order(self, turns: list[Message], answer: bool) -> None:
        if not turns:
            raise InputError("there are no messages; a conversation has at least one")
        before = None
        for i, turn in enumerate(turns):
            if turn.role not in self.markers:
                raise InputError(
                    f"message {i} has role {turn.role!r}; the roles are {sorted(self.markers)}"
                )
            if turn.role not in FOLLOWS[before]:
                place = f"after {before!r}" if before else "at the beginning"
                raise InputError(
                    f"message {i} has role {turn.role!r} {place}; expected one of "
                    f"{FOLLOWS[before]}"
                )
            before = turn.role
        if answer and before not in ("user", "tool"):
            raise InputError(
                f"the last message is of {before!r}, so there is nothing to answer; pass "
                "answer=False, or end with a user or a tool"
            )
        if not answer and before != "assistant":
            raise InputError(
                f"the last message is of {before!r} and has no answer; pass answer=True to "
                "open the assistant's turn, or end with the assistant"
            )


def _require_text(text: Any) -> None:
    try:
        utf8(text)
    except (InputError, InputTypeError) as error:
        raise ConfigError(
            f"a header, separator or system message is no text: {error}"
        ) from None


def _message(message: Any, i: int) -> Message:
    if isinstance(message, Mapping):
        if set(message) != {"role", "content"}:
            raise InputError(f"message {i} has keys {list(message)}; expected role and content")
        message = Message(message["role"], message["content"])
    if not isinstance(message, Message):
        raise InputTypeError(
            f"message {i} must be a Message or a map, got {type(message).__name__}"
        )
    for name, value in (("role", message.role), ("content", message.content)):
        if not isinstance(value, str):
            raise InputTypeError(
                f"message {i} has a {name} of {type(value).__name__}; expected a str"
            )
    try:
        utf8(message.content)
    except InputError as error:
        raise InputError(f"message {i}: {error}") from error
    return message
