"""What texts cost their writer and a judge, and how much they repeat themselves."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from mathlm.generate import score
from mathlm.text import (
    KneserNey,
    compression_ratio,
    distinct_share,
    repeated_share,
    self_bleu,
)

from .decoding_texts import Writer, Written, texts

ORDER = 6  # bytes of the longest n-gram of the judge
WORD = re.compile(r"[a-z']+|[^\sa-z']")


def beginnings(writer: Writer) -> list[str]:
    """The prompts as text, without the token that stands before a document."""
    return [text.removeprefix("<|endoftext|>") for text in texts(writer, writer.prompts)]


def judge(counts: KneserNey, before: Sequence[str], after: Sequence[str]) -> float:
    """Surprise of the second texts behind the first, for counts of other plays [bits/byte]."""
    nats, size = 0.0, 0
    for prompt, text in zip(before, after, strict=True):
        data, given = (prompt + text).encode(), len(prompt.encode())
        nats -= float(counts.log_probabilities(data)[given:].sum())
        size += len(data) - given
    return nats / math.log(2) / size


@torch.no_grad()
def said_again(writer: Writer, length: int, times: int) -> list[float]:
    """Mean log-probability of a token of a passage that stands there again and again.

    The first ``length`` tokens of each human text follow its prompt, ``times`` times over.

    Returns:
        [nats] for each time; means over tokens and passages.
    """
    passage = writer.human[:, :length].repeat(1, times)
    logp = torch.stack(score(writer.model, list(writer.prompts), list(passage)))
    return logp.unflatten(1, (times, length)).mean((0, 2)).tolist()


def measure(writer: Writer, written: Written, counts: KneserNey) -> dict[str, Any]:
    """What the texts cost, and how varied they are."""
    after = texts(writer, written.ids)
    words = [WORD.findall(text.lower()) for text in after]
    return {
        "own": -written.logp.mean().item(),  # nats/token, by the writer itself
        "entropy": written.entropy.mean().item(),  # nats/token
        "judge": judge(counts, beginnings(writer), after),  # bits/byte
        "distinct": [distinct_share(words, n) for n in (1, 2, 3)],
        "repeated": repeated_share(words, 4),
        "self_bleu": self_bleu(words, 3),
        "compression": compression_ratio(after),
    }


def by_groups(
    writer: Writer, written: Written, counts: KneserNey, groups: int = 4
) -> list[dict[str, Any]]:
    """The same measures for each of some groups of passages, which say how far they spread."""
    parts = []
    groups = max(1, min(groups, len(written.ids) // 2))  # two texts or more in each
    for i in range(groups):
        rows = slice(i, None, groups)
        some = replace(writer, prompts=writer.prompts[rows], human=writer.human[rows])
        kept = Written(written.ids[rows], written.logp[rows], written.entropy[rows])
        found = measure(some, kept, counts)
        parts.append({k: found[k] for k in ("own", "judge", "distinct", "repeated")})
    return parts
