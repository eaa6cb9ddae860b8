"""What a practitioner would search for stands in a first line of the package."""

import ast
import re

from sources import LIBRARY, expect_nothing, nodes

DEFINITIONS = ast.Module | ast.ClassDef | ast.FunctionDef
TERMS = (
    "ablation loss",
    "activation checkpointing",
    "activation patching",
    "beam search",
    "byte-level BPE",
    "causal tracing",
    "chat template",
    "contamination",
    "CUDA graph",
    "early stopping",
    "EMA",
    "exponential moving average",
    "gradient accumulation",
    "gradient checkpointing",
    "KV cache",
    "logit lens",
    "LoRA",
    "loss scaling",
    "mixed precision",
    "nucleus sampling",
    "span corruption",
    "speculative decoding",
)


def first_lines():
    """First lines of all docstrings, without regard to capitals."""
    for file in LIBRARY:
        for node in nodes(file):
            if isinstance(node, DEFINITIONS) and (text := ast.get_docstring(node)):
                yield text.partition("\n")[0].casefold()


def missing(terms, lines):
    """Terms that no line has as words of their own."""
    return [
        t for t in terms if not re.search(rf"(?<!\w){re.escape(t.casefold())}(?!\w)", lines)
    ]


def test_terms_of_the_field_are_found():
    lines = "\n".join(first_lines())
    expect_nothing(f"no first line says {term!r}" for term in missing(TERMS, lines))


def test_a_part_of_a_word_is_no_term():
    assert missing(["EMA", "KV cache"], "a schema of the kv cache") == ["EMA"]
