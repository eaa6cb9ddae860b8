"""A conversation with a model: what was said so far, and what of it still fits.

Used by recipes.chat; it neither reads nor prints.
"""

from collections.abc import Generator
from typing import Any

from ..errors import InputError
from ..generate import TextStream, stream_text
from ..text import Message
from .model import ChatModel


class Conversation:
    """Turns of a user and a model.

    When the context is full the oldest turns are forgotten, always a question together with its
    answer; the system message stays.

    Args:
        chat_model: The model, its tokens and its format.
        system: Content of the system message, or None.
        max_new_tokens: Tokens of an answer at most.
        options: Of :func:`mathlm.generate.stream_text`, such as temperature and top_p.

    Raises:
        InputError: If the format has no system message.

    Example:
        >>> from mathlm.chat import ChatModel
        >>> from mathlm.models import GPT, GPTConfig
        >>> from mathlm.text import Bytes, ChatFormat
        >>> sizes = dict(vocab_size=256, context=128, d_model=16, n_layers=1, n_heads=2)
        >>> form = ChatFormat.named()
        >>> gpt, tokenizer = GPT(GPTConfig(**sizes)), Bytes(form.special)
        >>> model = ChatModel(model=gpt, tokenizer=tokenizer, format=form)
        >>> talk = Conversation(model, max_new_tokens=8, seed=0)
        >>> answer = "".join(talk.ask("Hello"))
        >>> [turn.role for turn in talk.messages]
        ['user', 'assistant']
    """

    def __init__(
        self,
        chat_model: ChatModel,
        system: str | None = None,
        max_new_tokens: int = 200,
        **options: Any,
    ) -> None:
        if system is not None and "system" not in chat_model.format.markers:
            raise InputError("--system: the format of this model has no system message")
        if max_new_tokens < 1:
            raise InputError(f"--max-new-tokens {max_new_tokens} must be at least 1")
        self.chat_model, self.max_new_tokens, self.options = chat_model, max_new_tokens, options
        self.system = [] if system is None else [Message("system", system)]
        self.messages: list[Message] = []
        self.forgotten = 0  # messages, at the last question
        self.stream: TextStream | None = None

    def reset(self) -> None:
        """Forget everything but the system message."""
        self.messages = []

    def ask(self, question: str) -> Generator[str, None, None]:
        """Pieces of the answer; when they have come, both turns are remembered.

        An answer that the caller ends early is remembered as far as it came.

        Raises:
            InputError: If the question alone does not fit, or is no text; it is not remembered.
        """
        kept, ids = self.fitting([*self.messages, Message("user", question)])
        room = self.chat_model.context - len(ids)
        self.stream = stream_text(
            self.chat_model.model,
            self.chat_model.tokenizer,
            ids,
            min(self.max_new_tokens, room),
            stop=self.chat_model.format.special,
            **self.options,
        )
        self.forgotten = len(self.messages) + 1 - len(kept)
        said = ""
        try:
            for piece in self.stream:
                said += piece
                yield piece
        finally:
            self.stream.close()
            self.messages = [*kept, Message("assistant", said)]

    def fitting(self, messages: list[Message]) -> tuple[list[Message], list[int]]:
        """The newest messages that leave room for an answer, and their ids."""
        room = min(self.max_new_tokens, self.chat_model.context // 4)
        while True:
            ids = self.encoded(messages)
            if len(ids) + room <= self.chat_model.context or len(messages) == 1:
                break
            messages = messages[2:]
        if len(ids) >= self.chat_model.context:
            raise InputError(
                f"the message takes {len(ids)} tokens with its marks, the model reads "
                f"{self.chat_model.context} in all and has to answer: shorten it"
            )
        return messages, ids

    def encoded(self, messages: list[Message]) -> list[int]:
        """Ids of the conversation, up to where the answer begins."""
        form, tokenizer = self.chat_model.format, self.chat_model.tokenizer
        return form.encode([*self.system, *messages], tokenizer, answer=True).ids.tolist()
