"""What somebody thought of answers: which of two is better, or whether one is good."""

from dataclasses import dataclass

from ..chat import Message

Prompt = tuple[Message, ...]


@dataclass(frozen=True, kw_only=True)
class Preference:
    """Two answers to one prompt, of which one was preferred.

    Args:
        prompt: The conversation so far, which ends with the user or a tool.
        chosen: The answer that was preferred.
        rejected: The other.
    """

    prompt: Prompt
    chosen: str
    rejected: str


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One answer to a prompt, found good or bad.

    Args:
        prompt: The conversation so far, which ends with the user or a tool.
        completion: The answer.
        label: Whether it is desirable.
    """

    prompt: Prompt
    completion: str
    label: bool
