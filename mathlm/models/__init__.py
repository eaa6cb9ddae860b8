"""Whole models, one file each."""

from . import one_page_gpt
from .bert import Bert, MaskedBert, SentencePairs
from .bert_config import BertConfig
from .block_variant import BlockVariant
from .files.gguf_saving import save_gguf
from .files.saving import save_pretrained
from .files.weights import load_weights
from .gpt import GPT
from .gpt_config import PRESETS, GPTConfig
from .masked_diffusion import MaskedDiffusion
from .mixture_gpt import MixtureConfig, MixtureGPT
from .mlp import MLP, MLPConfig
from .multi_token import MultiTokenGPT
from .recurrent import Recurrent, RecurrentConfig, gradient_reach
from .sentences import sentence_embeddings
from .shared_prefixes import SharedRows, shared_hidden, shared_rows
from .state_space import StateSpaceBlock, StateSpaceConfig, StateSpaceModel
from .transformer import Transformer
from .transformer_config import TransformerConfig
from .word2vec import SkipGram

__all__ = [
    "GPT",
    "MLP",
    "PRESETS",
    "Bert",
    "BertConfig",
    "BlockVariant",
    "GPTConfig",
    "MLPConfig",
    "MaskedBert",
    "MaskedDiffusion",
    "MixtureConfig",
    "MixtureGPT",
    "MultiTokenGPT",
    "Recurrent",
    "RecurrentConfig",
    "SentencePairs",
    "SharedRows",
    "SkipGram",
    "Transformer",
    "TransformerConfig",
    "gradient_reach",
    "load_weights",
    "one_page_gpt",
    "save_gguf",
    "save_pretrained",
    "sentence_embeddings",
    "shared_hidden",
    "shared_rows",
    "StateSpaceBlock",
    "StateSpaceConfig",
    "StateSpaceModel",
]
