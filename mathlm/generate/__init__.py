"""Text from a model, one token at a time."""

from .beam import (
    Hypothesis,
    beam_generate,
    beam_search,
    exhaustive_search,
    wu_length_penalty,
)
from .choices import Choices, RandomChoices, outcome_distribution
from .constraint import Constraint
from .decode_step import DecodeStep
from .decoding import generate, generate_ragged, stream
from .drafts import Draft, ModelDraft, PromptLookup, Proposal
from .graph_step import FixedStep
from .penalties import penalize_counts, penalize_repetition
from .quantization import input_scales, quantize, stored_bytes
from .reader import Reader
from .regex_constraint import RegexConstraint
from .rounds import Round, speculate
from .sampling import Sampler, draw, token_probabilities
from .scoring import score, token_log_probabilities
from .speculative import speculative_generate
from .steps import Step
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
    "Reader",
    "RegexConstraint",
    "Round",
    "Sampler",
    "Step",
    "TextStream",
    "beam_generate",
    "beam_search",
    "draw",
    "exhaustive_search",
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
