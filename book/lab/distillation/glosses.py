"""Definitions from WordNet in few tokens, and SmolLM2 cut down to those tokens."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from mathlm.models import GPT
from mathlm.shapes import Int
from mathlm.text import ByteBPE, Bytes
from mathlm.text.corpora import corpus

TOKENS = 3072  # V, the tokens that are kept
WINDOW = 64  # positions of a row
VALIDATION, TEST = 32, 96  # rows held out


@dataclass(frozen=True, eq=False)
class Rows:
    """A text in rows of ``WINDOW`` inputs and the targets one further, (n, WINDOW + 1).

    Args:
        train: What students read.
        validation: On which the number of steps and the step size are chosen.
        test: On which results are reported.
        vocabulary: Number in the teacher's vocabulary of each kept token, rising, (V,).
    """

    train: Int[Tensor, "N T"]
    validation: Int[Tensor, "n T"]
    test: Int[Tensor, "m T"]
    vocabulary: Int[Tensor, " V"]


def definitions() -> list[str]:
    """All definitions of the corpus, each once, in an order that is drawn once."""
    lines = [line for entry in corpus.documents("glosses") for line in entry.split("\n")]
    unique = sorted({line.split(" : ", 1)[1] for line in lines if " : " in line})
    return [unique[i] for i in np.random.default_rng(0).permutation(len(unique))]


def closed_text(
    ids: Int[np.ndarray, " n"], newline: int, count: int = TOKENS
) -> tuple[np.ndarray, np.ndarray]:
    """The definitions that use no token but the most frequent ones.

    Args:
        ids: A text of definitions, a newline before each.
        newline: Its token.
        count: Tokens that are kept; of equally frequent ones the smaller number.

    Returns:
        The text that is left, in numbers 0 … count - 1, and the old number of each, rising.
    """
    counts = Counter(ids.tolist())
    frequent = sorted(counts, key=lambda i: (-counts[i], i))[:count]
    vocabulary = np.array(sorted(frequent))
    starts = np.flatnonzero(ids == newline)
    closed = np.minimum.reduceat(np.isin(ids, vocabulary), starts)
    lengths = np.diff(np.append(starts, len(ids)))
    kept = ids[starts[0] :][np.repeat(closed, lengths)]
    return np.searchsorted(vocabulary, kept), vocabulary


def load_rows(tokenizer: ByteBPE | Bytes, count: int = TOKENS) -> Rows:
    """The closed text in rows, with what is held out at its end."""
    ids = np.array(tokenizer.encode("\n" + "\n".join(definitions())))
    text, vocabulary = closed_text(ids, int(tokenizer.encode("\n")[0]), count)
    n = (len(text) - 1) // WINDOW
    rows = torch.from_numpy(text[: n * WINDOW + 1]).unfold(0, WINDOW + 1, WINDOW)
    end = n - VALIDATION - TEST
    return Rows(
        rows[:end].clone(),
        rows[end : end + VALIDATION].clone(),
        rows[end + VALIDATION :].clone(),
        torch.from_numpy(vocabulary),
    )


@torch.no_grad()
def cut_vocabulary(model: GPT, vocabulary: Int[Tensor, " V"]) -> GPT:
    """Keep these tokens of a model with tied embeddings, which is changed and returned.

    Computes::

        p'(v | x) = p(v | x) / Σ_{w kept} p(w | x)

    The logits of the kept tokens stay as they are, so the softmax over them is the old one,
    renormalized.
    """
    kept = nn.Parameter(model.token_embedding.weight[vocabulary].clone())
    model.token_embedding.weight = model.head.weight = kept
    model.token_embedding.num_embeddings = model.head.out_features = len(vocabulary)
    model.config = replace(model.config, vocab_size=len(vocabulary))
    return model
