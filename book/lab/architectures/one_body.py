"""GPT, BERT and an encoder-decoder with one body: the same width and number of blocks.

Their matrices are drawn alike too. What differs is who sees whom, what is asked, and the head.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from mathlm.errors import ConfigError
from mathlm.models import GPT, BertConfig, GPTConfig, MaskedBert, Transformer, TransformerConfig

from .code_pairs import LENGTH, OBJECTIVES, vocabulary

Kind = Literal["gpt", "bert", "encoder-decoder"]


@dataclass(frozen=True, kw_only=True)
class ArchitectureConfig:
    """One training run.

    Args:
        kind: Mask, objective and head.
        published: Whether holes are those of the paper, 15 % of the words; otherwise of any
            size. For a GPT there is no difference.
        blocks: In all; half of them in the encoder and half in the decoder where there are two.
        width: D.
        steps: Of AdamW, each on ``batch`` sentences.
        seed: Of the weights and the batches; the sentences held out are always the same.
    """

    kind: Kind = "gpt"
    published: bool = False
    blocks: int = 2
    width: int = 64
    heads: int = 4
    steps: int = 300
    batch: int = 32
    lr: float = 5e-3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in OBJECTIVES:
            raise ConfigError(f"kind={self.kind!r} is not one of {', '.join(OBJECTIVES)}")
        if self.blocks < 2 or self.blocks % 2 or self.steps < 2 or self.batch < 1:
            raise ConfigError("blocks must be even, steps at least 2 and batch at least 1")


def build(config: ArchitectureConfig) -> nn.Module:
    """An untrained model, its matrices drawn alike whatever the kind."""
    torch.manual_seed(config.seed)
    sizes: dict[str, Any] = {"d_model": config.width, "n_heads": config.heads}
    sizes |= {"vocab_size": len(vocabulary()), "context": LENGTH + 2}
    all_of = {"n_layers": config.blocks, **sizes}
    if config.kind == "gpt":
        return start(GPT(GPTConfig(activation="gelu", **all_of)))
    if config.kind == "bert":
        return start(MaskedBert(BertConfig(n_segments=1, norm_eps=1e-5, **all_of)))
    sizes |= {"position": "learned", "tie_embeddings": "all", "scale_embeddings": False}
    half = config.blocks // 2
    return start(Transformer(TransformerConfig(activation="gelu", n_layers=half, **sizes)))


@torch.no_grad()
def start(model: nn.Module) -> nn.Module:
    """Linear maps uniform (Xavier), tables of tokens and positions normal with D^-½."""
    for name, p in model.named_parameters():
        if "embedding.weight" in name or "position" in name:
            nn.init.normal_(p, std=p.shape[-1] ** -0.5)
        elif p.ndim == 2:
            nn.init.xavier_uniform_(p)
    return model
