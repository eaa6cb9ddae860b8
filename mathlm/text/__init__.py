"""Text to integers and back, the corpora, and what a text costs; no torch."""

from . import corpus, digits, numerals, pretrained, samples, vectors, word_tests
from .archive import extract
from .byte_alphabet import from_printable, to_printable
from .byte_bpe import ByteBPE
from .chat import ChatFormat, Message
from .completion import Chat, ChatTokenizer, prompt_and_completion
from .compression import bits_per_byte, conditional_bits_per_byte
from .cooccurrence import cooccurrence_counts, pair_counts, shrinking_windows, skip_gram_pairs
from .counts import NGramCounts
from .download import fetch
from .fertility import Fertility, token_fertility, token_premium
from .gguf_file import gguf_tensor, open_gguf
from .masking import choose_tokens, mask_tokens
from .merge_scores import merge_gain, wordpiece_score
from .merge_trace import MergeStep, reachable_tokens, trace_merges
from .merges import (
    count_pairs,
    count_words,
    learn_merges,
    learn_merges_naive,
    merge_pair,
    token_bytes,
)
from .ngram import KneserNey
from .pretokenize import PATTERNS, pre_tokenize
from .redundancy import block_counts, block_entropy, letters
from .smoothing import AddK, Backoff, Interpolated
from .spans import corrupt_spans, cut_spans, draw_spans, restore_spans
from .stream import DecodeStream
from .token_costs import flop_per_byte, token_loss_to_bits
from .unigram import (
    em_step,
    expected_counts,
    log_marginal,
    sample_segmentation,
    viterbi,
)
from .utf8 import utf8_encode, utf8_length
from .vocabulary import Vocabulary, keep_probability, negative_distribution, split_words
from .word_vocabulary import Characters, Words
from .wordpiece import WordPiece

__all__ = [
    "AddK",
    "Backoff",
    "ByteBPE",
    "Characters",
    "Chat",
    "ChatFormat",
    "ChatTokenizer",
    "DecodeStream",
    "Fertility",
    "Interpolated",
    "KneserNey",
    "MergeStep",
    "Message",
    "NGramCounts",
    "PATTERNS",
    "Vocabulary",
    "WordPiece",
    "Words",
    "bits_per_byte",
    "block_counts",
    "block_entropy",
    "choose_tokens",
    "conditional_bits_per_byte",
    "cooccurrence_counts",
    "corpus",
    "corrupt_spans",
    "count_pairs",
    "count_words",
    "cut_spans",
    "digits",
    "draw_spans",
    "em_step",
    "expected_counts",
    "extract",
    "fetch",
    "flop_per_byte",
    "from_printable",
    "gguf_tensor",
    "keep_probability",
    "learn_merges",
    "learn_merges_naive",
    "letters",
    "log_marginal",
    "mask_tokens",
    "merge_gain",
    "merge_pair",
    "negative_distribution",
    "numerals",
    "open_gguf",
    "pair_counts",
    "pre_tokenize",
    "pretrained",
    "prompt_and_completion",
    "reachable_tokens",
    "restore_spans",
    "sample_segmentation",
    "samples",
    "shrinking_windows",
    "skip_gram_pairs",
    "split_words",
    "to_printable",
    "token_bytes",
    "token_fertility",
    "token_loss_to_bits",
    "token_premium",
    "trace_merges",
    "utf8_encode",
    "utf8_length",
    "vectors",
    "viterbi",
    "word_tests",
    "wordpiece_score",
]
