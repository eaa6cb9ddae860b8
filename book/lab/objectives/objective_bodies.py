"""One body for every objective: what differs is who sees whom, and what is asked.

A GPT serves all but one of them, in causal order, with a prefix, or seeing both ways. Only
cutting spans needs an encoder and a decoder, which share the blocks.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from lab.architectures.one_body import start
from mathlm.errors import ConfigError, InputTypeError
from mathlm.models import GPT, GPTConfig, Transformer, TransformerConfig
from mathlm.text.masking import BERT_SHARES

from .play_lines import VOCABULARY

Kind = Literal["causal", "prefix", "masked", "masked + pairs", "span"]
Shares = tuple[float | int, float | int, float | int]


@dataclass(frozen=True, kw_only=True)
class ObjectiveConfig:
    """One training run.

    Args:
        kind: Objective.
        blocks: In all; half in the encoder and half in the decoder where there are two.
        width: D.
        batch: Windows of a step, each of ``context`` symbols.
        rate: Share of the symbols that are hidden or cut out.
        shares: Of these, those that are masked, replaced and left alone.
        negatives: What stands in for the next line, where pairs are judged.
        seed: Of the weights and the batches.
    """

    kind: Kind = "causal"
    blocks: int = 2
    width: int = 64
    heads: int = 4
    context: int = 64
    batch: int = 16
    steps: int = 60
    lr: float = 1e-2
    rate: float = 0.15
    shares: Shares = BERT_SHARES
    negatives: Literal["elsewhere", "same", "swapped"] = "elsewhere"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ConfigError(f"kind={self.kind!r} is not one of {', '.join(get_args(Kind))}")
        if self.blocks < 2 or self.blocks % 2 or min(self.steps, self.batch) < 1:
            raise ConfigError("blocks must be even, steps at least 1 and batch at least 1")


class BothWays(nn.Module):
    """A GPT whose tokens all see each other, with a head for pairs if asked for."""

    def __init__(self, config: GPTConfig, pairs: bool) -> None:
        super().__init__()
        self.gpt = GPT(config)
        self.follows = nn.Linear(config.d_model, 2) if pairs else None

    def hidden(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """One vector for each token, which knows both sides."""
        return self.gpt.hidden(ids, mask, prefix=lengths(ids, mask))

    def forward(
        self, ids: Tensor, *, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Logits of the token at each place, and of the pairs if there is a head for them."""
        h = self.hidden(ids, mask)
        tokens = self.gpt.head(h)
        return tokens if self.follows is None else (tokens, self.follows(h[:, 0]))


def lengths(ids: Tensor, mask: Tensor | None) -> Tensor:
    """Real tokens of each row."""
    return torch.full((len(ids),), ids.shape[1]) if mask is None else mask.sum(1)


def build(config: ObjectiveConfig) -> nn.Module:
    """An untrained model for an objective, its matrices drawn alike whatever the kind."""
    torch.manual_seed(config.seed)
    sizes: dict[str, Any] = {"d_model": config.width, "n_heads": config.heads}
    sizes |= {"vocab_size": VOCABULARY, "context": 2 * config.context, "activation": "gelu"}
    if config.kind == "span":
        parts = {"norm_first": True, "position": "relative", "tie_embeddings": "all"}
        sizes |= parts | {"n_layers": config.blocks // 2, "scale_embeddings": False}
        return start(Transformer(TransformerConfig(**sizes)))
    shape = GPTConfig(n_layers=config.blocks, position="rope", **sizes)
    if config.kind in ("causal", "prefix"):
        return start(GPT(shape))
    return start(BothWays(shape, pairs=config.kind == "masked + pairs"))


def both_ways(model: nn.Module) -> BothWays:
    """The model, if it sees both ways; others are refused."""
    if not isinstance(model, BothWays):
        raise InputTypeError(f"no objective here trains a {type(model).__name__}")
    return model
