"""Text to integers and back, the corpora, and what a text costs; no torch."""

from . import (
    corpus,
    digits,
    instructions,
    numerals,
    preferences,
    pretrained,
    ratings,
    regular,
    samples,
    sentiment,
    tagged,
    vectors,
    word_tests,
)
from .archive import extract
from .automaton import Automaton
from .byte_alphabet import from_printable, to_printable
from .byte_bpe import ByteBPE
from .chat import ChatFormat, Message
from .cleaning import CLEANING_RULES, Cleaned, clean, common_lines, prose_lines
from .completion import Chat, ChatTokenizer, prompt_and_completion
from .compression import bits_per_byte, conditional_bits_per_byte
from .cooccurrence import cooccurrence_counts, pair_counts, shrinking_windows, skip_gram_pairs
from .counts import NGramCounts
from .deduplication import NearDuplicate, exact_duplicates, first_of_group, near_duplicates
from .diversity import compression_ratio, distinct_share, repeated_share, self_bleu
from .documents import read_documents
from .download import fetch
from .fertility import Fertility, token_fertility, token_premium
from .gguf_file import gguf_tensor, open_gguf
from .judgements import Judged, Preference
from .leakage import Contamination, Overlap, contamination
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
from .packing import Packed, number_documents, pack
from .plain_bytes import Bytes
from .pretokenize import PATTERNS, pre_tokenize
from .quality import C4_RULES, GOPHER_RULES, QualityRule, broken_rules, filter_quality
from .quality_classifier import QualityClassifier, hashed_features
from .redundancy import block_counts, block_entropy, letters
from .regular_parser import parse_pattern
from .signatures import candidate_pairs, collision_probability, jaccard, minhash, shingles
from .smoothing import AddK, Backoff, Interpolated
from .spans import corrupt_spans, cut_spans, draw_spans, restore_spans
from .stream import DecodeStream
from .token_costs import flop_per_byte, token_loss_to_bits
from .token_file import TokenManifest, open_tokens, read_manifest, write_tokens
from .token_trie import TokenTrie, tokens_to_match
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
    "Automaton",
    "Backoff",
    "ByteBPE",
    "Bytes",
    "C4_RULES",
    "CLEANING_RULES",
    "Characters",
    "Chat",
    "ChatFormat",
    "ChatTokenizer",
    "Cleaned",
    "Contamination",
    "DecodeStream",
    "Fertility",
    "GOPHER_RULES",
    "Interpolated",
    "Judged",
    "KneserNey",
    "MergeStep",
    "Message",
    "NGramCounts",
    "NearDuplicate",
    "Overlap",
    "PATTERNS",
    "Packed",
    "Preference",
    "QualityClassifier",
    "QualityRule",
    "TokenManifest",
    "TokenTrie",
    "Vocabulary",
    "WordPiece",
    "Words",
    "bits_per_byte",
    "block_counts",
    "block_entropy",
    "broken_rules",
    "candidate_pairs",
    "choose_tokens",
    "clean",
    "collision_probability",
    "common_lines",
    "compression_ratio",
    "conditional_bits_per_byte",
    "contamination",
    "cooccurrence_counts",
    "corpus",
    "corrupt_spans",
    "count_pairs",
    "count_words",
    "cut_spans",
    "digits",
    "distinct_share",
    "draw_spans",
    "em_step",
    "exact_duplicates",
    "expected_counts",
    "extract",
    "fetch",
    "filter_quality",
    "first_of_group",
    "flop_per_byte",
    "from_printable",
    "gguf_tensor",
    "hashed_features",
    "instructions",
    "jaccard",
    "keep_probability",
    "learn_merges",
    "learn_merges_naive",
    "letters",
    "log_marginal",
    "mask_tokens",
    "merge_gain",
    "merge_pair",
    "minhash",
    "near_duplicates",
    "negative_distribution",
    "number_documents",
    "numerals",
    "open_gguf",
    "open_tokens",
    "pack",
    "pair_counts",
    "parse_pattern",
    "pre_tokenize",
    "preferences",
    "pretrained",
    "prompt_and_completion",
    "prose_lines",
    "ratings",
    "reachable_tokens",
    "read_documents",
    "read_manifest",
    "regular",
    "repeated_share",
    "restore_spans",
    "sample_segmentation",
    "samples",
    "self_bleu",
    "sentiment",
    "shingles",
    "shrinking_windows",
    "skip_gram_pairs",
    "split_words",
    "tagged",
    "to_printable",
    "token_bytes",
    "token_fertility",
    "token_loss_to_bits",
    "token_premium",
    "tokens_to_match",
    "trace_merges",
    "utf8_encode",
    "utf8_length",
    "vectors",
    "viterbi",
    "word_tests",
    "wordpiece_score",
    "write_tokens",
]
