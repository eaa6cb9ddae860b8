"""A tokenizer as the files of a Hugging Face folder, which the transformers package reads."""

import json
import re
from typing import Any

from ...errors import InputError
from .byte_bpe import ByteBPE
from .bytes import Bytes
from .files import to_printable
from .pretokenize import PATTERNS

FILES = ("tokenizer.json", "tokenizer_config.json")


def hugging_face_files(tokenizer: ByteBPE | Bytes) -> dict[str, bytes]:
    """Contents of tokenizer.json and tokenizer_config.json, by name.

    Their ids are those of ``encode``, on a text that spells a special token those with
    ``allowed_special="all"``. A letter that Unicode has had since the version of one of the two
    may be cut otherwise, and a byte that the vocabulary lacks is left out there, an error here.

    Args:
        tokenizer: The tokens of bytes have no merges there.

    Raises:
        InputError: If a special token has the name of another token, which the format keeps
            under one name.
    """
    bpe = as_bpe(tokenizer)
    named = {token: name for name, token in tokenizer.special.items()}
    printed = [to_printable(bpe.token_bytes(i)) for i in range(bpe.vocab_size)]
    vocab = {named.get(i, text): i for i, text in enumerate(printed)}
    if len(vocab) < len(printed):
        others = {text for i, text in enumerate(printed) if i not in named}
        twice = sorted(others & set(tokenizer.special))
        raise InputError(
            f"the special tokens {twice} have the names of other tokens, and tokenizer.json "
            "keeps one token under a name: give them other names, such as '<|end|>'"
        )
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(name, token) for token, name in sorted(named.items())],
        "normalizer": None,
        "pre_tokenizer": cuts(bpe.pattern),
        "post_processor": None,
        "decoder": byte_level(),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": vocab,
            "merges": [f"{printed[left]} {printed[right]}" for left, right in bpe.merges],
        },
    }
    said = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "additional_special_tokens": [name for _, name in sorted(named.items())],
    }
    texts = [json.dumps(x, indent=1, ensure_ascii=False) + "\n" for x in (content, said)]
    return dict(zip(FILES, (text.encode() for text in texts), strict=True))


def as_bpe(tokenizer: ByteBPE | Bytes) -> ByteBPE:
    """Bytes as the byte-pair encoding without merges that they are, special tokens aside."""
    if isinstance(tokenizer, ByteBPE):
        return tokenizer
    return ByteBPE([bytes([i]) for i in range(256)], [])


def cuts(pattern: str) -> dict[str, Any]:
    r"""What cuts a text into words, then writes each in visible characters.

    There ``\z`` is the end of a text, and ``\Z`` also the place before its last line end.
    """
    regex = re.sub(r"\\Z", r"\\z", PATTERNS[pattern])
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated"}
    return {"type": "Sequence", "pretokenizers": [split | {"invert": False}, byte_level()]}


def byte_level() -> dict[str, Any]:
    """GPT-2's visible alphabet of bytes."""
    choices = {"add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"type": "ByteLevel"} | choices


def added(name: str, token: int) -> dict[str, Any]:
    """A special token."""
    strips = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": token, "content": name} | strips | {"special": True}


__all__ = ["hugging_face_files"]
