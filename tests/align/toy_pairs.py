"""Pairs of answers of a few letters, for the model of toy_chats."""

from align.toy_chats import NAMED, TOKENIZER, chat

from mathlm.align import PairBatches, Reference, encode_pairs, encode_unpaired
from mathlm.text import Preference, Unpaired


def pair(asked, chosen, rejected):
    """A preference; ``asked`` is one question, or the turns of a conversation."""
    turns = chat(*([asked] if isinstance(asked, str) else asked))
    return Preference(prompt=tuple(turns), chosen=chosen, rejected=rejected)


PAIRS = [
    pair("ab", "cd", "e"),
    pair("a", "bcd", "efg"),
    pair("hgf", "a", "bb"),
    pair(["c", "ab", "d"], "abc", "c"),
    pair("", "h", "g"),
    pair("abc", "abcabc", "cc"),
]
UNPAIRED = [
    Unpaired(prompt=p.prompt, completion=answer, label=label)
    for p in PAIRS
    for answer, label in ((p.chosen, True), (p.rejected, False))
]


def encoded(pairs=PAIRS, context=24):
    return encode_pairs(pairs, NAMED, TOKENIZER, context)


def unpaired(answers=UNPAIRED, context=24):
    return encode_unpaired(answers, NAMED, TOKENIZER, context)


def batches(network, size=99, pairs=PAIRS, **options):
    """Batches with what the network says now."""
    data = PairBatches(encoded(pairs), size, **options)
    return data.with_reference(Reference.of(network))
