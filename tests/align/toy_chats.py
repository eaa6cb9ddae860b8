"""Conversations of a few letters, and a model of a few weights that reads them."""

import torch

from mathlm.align import encode_chats
from mathlm.models import GPT, GPTConfig
from mathlm.text import ChatFormat, Message

NAMED = ChatFormat.named()
LETTERS = "abcdefgh"


class Letters:
    """Each letter a token, behind the special ones; blanks are none."""

    def __init__(self):
        self.special = {name: i for i, name in enumerate(NAMED.special)}
        self.vocab_size = len(self.special) + len(LETTERS)

    def encode(self, text):
        return [len(self.special) + LETTERS.index(letter) for letter in text if letter.strip()]


TOKENIZER = Letters()
V = TOKENIZER.vocab_size
BOS, END = (TOKENIZER.special[name] for name in ("<|bos|>", "<|end|>"))


def chat(*contents):
    """A conversation of a user and an assistant, who take turns."""
    roles = ("user", "assistant")
    return [Message(roles[i % 2], content) for i, content in enumerate(contents)]


CHATS = [
    chat("ab", "cd"),
    chat("a", "bcd", "e", "f"),
    chat("hgf", "a"),
    chat("", "abcabc"),
    chat("abcdef", "gh"),
    chat("c", "c"),
    chat("d", "ddd", "b", "bb"),
]


def encoded(conversations=CHATS, context=24):
    return encode_chats(conversations, NAMED, TOKENIZER, context)


def model(seed=0, **options):
    torch.manual_seed(seed)
    sizes = {"d_model": 16, "n_layers": 2, "n_heads": 2, "context": 24, "position": "rope"}
    return GPT(GPTConfig(vocab_size=V, **(sizes | options))).eval()
