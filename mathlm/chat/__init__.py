"""A model with its tokenizer and its chat template, and a conversation with it."""

from .conversation import Conversation
from .folder import load, load_pretrained
from .model import ChatModel

__all__ = ["ChatModel", "Conversation", "load", "load_pretrained"]
