"""Training on what people asked for: conversations, and which tokens of them are learned."""

from .answers import answer_log_probabilities, answer_logits, target_log_probabilities
from .chat_batches import ChatBatches
from .sft import Encoded, encode_chats

__all__ = [
    "ChatBatches",
    "Encoded",
    "answer_log_probabilities",
    "answer_logits",
    "encode_chats",
    "target_log_probabilities",
]
