"""Text from a model, one token at a time."""

from .beam import (
    Hypothesis,
    beam_generate,
    beam_search,
    exhaustive_search,
    wu_length_penalty,
)
from .constraint import Constraint, RegexConstraint
from .cuda_graph import FixedStep
from .decoding import generate, generate_ragged, stream
from .drafts import (
    Choices,
    Draft,
    ModelDraft,
    PromptLookup,
    Proposal,
    RandomChoices,
    outcome_distribution,
)
from .fused_step import DecodeStep
from .kv_reader import IncrementalReader
from .masked_diffusion import fill_masks
from .quantization import input_scales, quantize, stored_bytes
from .sampling import Sampler, draw, penalize_counts, penalize_repetition, token_probabilities
from .scoring import score, token_log_probabilities
from .speculative import Round, speculate, speculative_generate
from .stopping import Step
from .streaming import TextStream, stream_text, write
from .translation import translate
from .truncation import keep_min_p, keep_top_k, keep_top_p, keep_typical

__all__ = [
    "Choices",
    "Constraint",
    "DecodeStep",
    "Draft",
    "FixedStep",
    "Hypothesis",
    "ModelDraft",
    "PromptLookup",
    "Proposal",
    "RandomChoices",
    "IncrementalReader",
    "RegexConstraint",
    "Round",
    "Sampler",
    "Step",
    "TextStream",
    "beam_generate",
    "beam_search",
    "draw",
    "exhaustive_search",
    "fill_masks",
    "generate",
    "generate_ragged",
    "input_scales",
    "keep_min_p",
    "keep_top_k",
    "keep_top_p",
    "keep_typical",
    "outcome_distribution",
    "penalize_counts",
    "penalize_repetition",
    "quantize",
    "score",
    "speculate",
    "speculative_generate",
    "stored_bytes",
    "stream",
    "stream_text",
    "token_log_probabilities",
    "token_probabilities",
    "translate",
    "write",
    "wu_length_penalty",
]
