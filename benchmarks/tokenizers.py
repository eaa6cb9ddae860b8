"""Our byte-pair encoding against the tokenizers package, on the whole of Shakespeare."""

from collections.abc import Callable, Sequence
from functools import partial

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from mathlm.text import ByteBPE, corpus, pretrained, to_printable
from mathlm.text.tokenizers.bpe import count_words, learn_merges
from mathlm.text.tokenizers.pretokenize import PATTERNS

from .timing import Row, compare

MERGES = 4096


def peer_train(texts: Sequence[str], n_merges: int = MERGES) -> Tokenizer:
    """What a user of the package writes; it runs on all cores."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=256 + n_merges,
        min_frequency=2,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def bpe_train(device: str, rounds: int = 7) -> Row:
    """Pieces, their counts and 4,096 merges, by GPT-2's pattern; no accelerator is used."""
    texts = corpus.documents("shakespeare")
    return compare(
        "bpe-train", "tokenizers, all cores",
        lambda: learn_merges(count_words(texts, "gpt2"), MERGES), lambda: peer_train(texts),
        work=sum(len(text.encode()) for text in texts) / 1e6, unit="MB/s",
        rounds=rounds, repeats=1,
    )  # fmt: skip


def peer_of(bpe: ByteBPE) -> Tokenizer:
    """The same vocabulary, merges and pattern in the package."""
    texts = [to_printable(bpe.token_bytes(i)) for i in range(bpe.vocab_size)]
    ids = {text: i for i, text in enumerate(texts)}
    merges = [(texts[left], texts[right]) for left, right in bpe.merges]
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges))
    cut = pre_tokenizers.Split(Regex(PATTERNS[bpe.pattern]), "isolated")
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, plain])
    return tokenizer


def bpe_encode(device: str, kind: str = "trained", rounds: int = 7) -> Row:
    """The whole corpus, after a first pass; ids are equal. No accelerator is used."""
    text = corpus.load("shakespeare")
    if kind == "trained":
        ours = ByteBPE.train([text], MERGES)
    else:
        ours = ByteBPE.from_gpt2(pretrained.find("gpt2"))
    peer = peer_of(ours)
    if ours.encode(text) != peer.encode(text).ids:
        raise AssertionError("both sides must give the same ids")
    return compare(
        "bpe-encode" if kind == "trained" else f"bpe-encode-{kind}", "tokenizers",
        lambda: ours.encode(text), lambda: peer.encode(text).ids,
        work=len(text.encode()) / 1e6, unit="MB/s", rounds=rounds, repeats=1,
    )  # fmt: skip


BENCHMARKS: dict[str, Callable[[str], Row]] = {
    "bpe-train": bpe_train,
    "bpe-encode": bpe_encode,
    "bpe-encode-gpt2": partial(bpe_encode, kind="gpt2"),
}
