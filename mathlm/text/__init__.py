"""Text to integers and back, the corpora, and what a text costs; no torch."""

from .chat import Chat, ChatFormat, ChatTokenizer, Message, prompt_and_completion
from .cleaning.cleaning import CLEANING_RULES, Cleaned, clean, common_lines, prose_lines
from .cleaning.contamination import Contamination, Overlap, contamination
from .cleaning.deduplication import (
    NearDuplicate,
    candidate_pairs,
    collision_probability,
    exact_duplicates,
    first_of_group,
    jaccard,
    minhash,
    near_duplicates,
    shingles,
)
from .cleaning.quality import C4_RULES, GOPHER_RULES, QualityRule, broken_rules, filter_quality
from .cooccurrence import cooccurrence_counts, pair_counts, shrinking_windows, skip_gram_pairs
from .corpora import (
    corpus,
    digits,
    instructions,
    numerals,
    preferences,
    pretrained,
    ratings,
    sentiment,
    tagged,
    vectors,
    word_tests,
)
from .corpora.documents import read_documents
from .corpora.preferences import Preference, Unpaired
from .corpora.token_file import TokenManifest, open_tokens, read_manifest, write_tokens
from .gguf_file import gguf_tensor, open_gguf
from .masking import (
    choose_tokens,
    corrupt_spans,
    cut_spans,
    draw_spans,
    mask_tokens,
    restore_spans,
)
from .measures import (
    bits_per_byte,
    block_counts,
    block_entropy,
    compression_ratio,
    conditional_bits_per_byte,
    distinct_share,
    letters,
    repeated_share,
    self_bleu,
)
from .ngrams import AddK, Backoff, Interpolated, KneserNey, NGramCounts
from .packing import Packed, number_documents, pack
from .patterns import regular
from .patterns.automaton import Automaton, TokenTrie, tokens_to_match
from .patterns.parser import parse_pattern
from .tokenizers.bpe import (
    count_pairs,
    count_words,
    learn_merges,
    learn_merges_naive,
    merge_pair,
    token_bytes,
)
from .tokenizers.byte_bpe import ByteBPE
from .tokenizers.bytes import Bytes
from .tokenizers.files import from_printable, to_printable
from .tokenizers.pretokenize import PATTERNS, pre_tokenize
from .tokenizers.stream import DecodeStream, utf8_encode, utf8_length
from .tokenizers.unigram import (
    em_step,
    expected_counts,
    log_marginal,
    sample_segmentation,
    viterbi,
)
from .tokenizers.wordpiece import WordPiece
from .tokenizers.words import (
    Characters,
    Vocabulary,
    Words,
    keep_probability,
    negative_distribution,
    split_words,
)

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
    "GOPHER_RULES",
    "Interpolated",
    "Unpaired",
    "KneserNey",
    "Message",
    "NGramCounts",
    "NearDuplicate",
    "Overlap",
    "PATTERNS",
    "Packed",
    "Preference",
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
    "filter_quality",
    "first_of_group",
    "from_printable",
    "gguf_tensor",
    "instructions",
    "jaccard",
    "keep_probability",
    "learn_merges",
    "learn_merges_naive",
    "letters",
    "log_marginal",
    "mask_tokens",
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
    "read_documents",
    "read_manifest",
    "regular",
    "repeated_share",
    "restore_spans",
    "sample_segmentation",
    "self_bleu",
    "sentiment",
    "shingles",
    "shrinking_windows",
    "skip_gram_pairs",
    "split_words",
    "tagged",
    "to_printable",
    "token_bytes",
    "tokens_to_match",
    "utf8_encode",
    "utf8_length",
    "vectors",
    "viterbi",
    "word_tests",
    "write_tokens",
]
