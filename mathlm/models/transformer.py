"""The encoder-decoder transformer: from a source and a target to logits of the target."""

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..functional import require_token_batch
from ..functional.pooling import require_mask
from ..layers import (
    Block,
    CrossAttention,
    DecoderBlock,
    DecoderCache,
    FeedForward,
    LayerNorm,
    LearnedPosition,
    PostNormBlock,
    PostNormDecoderBlock,
    RelativePosition,
    RMSNorm,
    SelfAttention,
    SinusoidalPosition,
    Taps,
    scope,
    tap,
)
from ..shapes import Bool, Float
from .bert import real_tokens
from .files.gpt import fill_model
from .files.t5 import read_t5
from .layout import Layout, lay_out
from .transformer_config import TransformerConfig


def count_real(ids: Tensor, real: Bool[Tensor, "B T"] | None) -> Tensor:
    """Positions 0, 1, 2 ... over the real tokens of each row, (T,) where all are real."""
    if real is None:
        return torch.arange(ids.shape[1], device=ids.device)
    return (real.cumsum(1) - 1).clamp(min=0)


def key_mask(real: Bool[Tensor, "B S"] | None) -> Bool[Tensor, "B 1 1 S"] | None:
    """The mask that hides padding from every query of every head alike."""
    return None if real is None else real[:, None, None, :]


def without_padding(
    x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None
) -> Float[Tensor, "B T D"]:
    """The vectors, 0 at padding."""
    return x if real is None else x.masked_fill(~real.unsqueeze(-1), 0.0)


def relative(
    position: nn.Module | None, queries: Tensor, keys: Tensor | None = None
) -> dict[str, Any]:
    """What attention adds to the scores for distances; made once for all layers."""
    if not isinstance(position, RelativePosition):
        return {}
    return {"bias": position(queries, queries if keys is None else keys)}


def starts_wide(config: TransformerConfig) -> bool:
    """Whether embeddings start with standard deviation 1: neither stack nor head asks for less.

    A stream of vectors with entries near 1 needs them where they are not multiplied by √D; a
    head that is the same matrix must then read smaller vectors.
    """
    small_head = config.scale_head or config.tie_embeddings in ("none", "inputs")
    return small_head and not config.scale_embeddings


def make_norm(config: TransformerConfig) -> nn.Module:
    """The normalization that a configuration asks for."""
    if config.norm == "rms":
        return RMSNorm(config.d_model, config.norm_eps)
    return LayerNorm(config.d_model, config.norm_eps, bias=config.bias)


def make_position(config: TransformerConfig, *, both_ways: bool) -> nn.Module | None:
    """The position module of one stack, if any."""
    makers = {
        "sinusoidal": lambda: SinusoidalPosition(config.context, config.d_model),
        "learned": lambda: LearnedPosition(config.context, config.d_model),
        "relative": lambda: RelativePosition(
            config.n_heads, config.n_buckets, config.max_distance, both_ways
        ),
        "none": lambda: None,
    }
    return makers[config.position]()


def make_attention(config: TransformerConfig, *, causal: bool) -> SelfAttention:
    """Self-attention of one block."""
    return SelfAttention(
        config.d_model,
        config.n_heads,
        d_head=config.d_head,
        bias=config.bias,
        causal=causal,
        scale=None if config.attention_scale else 1.0,
    )


def make_feed_forward(config: TransformerConfig) -> FeedForward:
    """The feed-forward network of one block."""
    return FeedForward(config.d_model, config.ff_width, config.activation, config.bias)


def encoder_block(config: TransformerConfig) -> Block | PostNormBlock:
    """One block of the encoder."""
    return (Block if config.norm_first else PostNormBlock)(
        make_norm(config),
        make_attention(config, causal=False),
        make_norm(config),
        make_feed_forward(config),
        config.dropout,
    )


def decoder_block(config: TransformerConfig) -> DecoderBlock | PostNormDecoderBlock:
    """One block of the decoder."""
    cross_attention = CrossAttention(
        config.d_model,
        config.n_heads,
        config.d_head,
        bias=config.bias,
        scale=None if config.attention_scale else 1.0,
    )
    return (DecoderBlock if config.norm_first else PostNormDecoderBlock)(
        make_norm(config),
        make_attention(config, causal=True),
        make_norm(config),
        cross_attention,
        make_norm(config),
        make_feed_forward(config),
        config.dropout,
    )


class Transformer(nn.Module):
    """Encoder of the source, and decoder that reads what the encoder made of it.

    Implements eq-transformer-logits::

        m = E_s[source] √D + P,   m ← block(m) for each block of the encoder
        x = E_t[target] √D + P,   x ← block(x, m) for each block of the decoder
        logits = x W_headᵀ

    Position t of the target sees positions 0 ... t of the target and the whole source, so that
    its logits are those of token t + 1: the target given here is the decoder's input, the
    wanted sentence behind a start token.

    Linear maps start uniform (Xavier), biases 0, gains 1. Tables start normal with standard
    deviation 1/√D, embeddings that are not multiplied by √D with 1, unless they are also a head
    that reads unscaled vectors. Without 1/√K in the scores, W_q starts smaller by it.

    Args:
        config: Sizes and choices.

    Example:
        >>> sizes = dict(vocab_size=100, context=16, d_model=32, n_layers=2, n_heads=4)
        >>> model = Transformer(TransformerConfig(**sizes))
        >>> source, target = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 9]])
        >>> model(source, target).shape
        torch.Size([1, 2, 100])

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        D = config.d_model
        self.source_embedding = nn.Embedding(config.vocab_size, D)
        self.target_embedding = nn.Embedding(config.target_vocab, D)
        self.source_position = make_position(config, both_ways=True)
        self.target_position = make_position(config, both_ways=False)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(encoder_block(config) for _ in range(config.n_layers))
        self.decoder = nn.ModuleList(
            decoder_block(config) for _ in range(config.decoder_layers)
        )
        self.encoder_norm = make_norm(config) if config.norm_first else None
        self.decoder_norm = make_norm(config) if config.norm_first else None
        self.head = nn.Linear(D, config.target_vocab, bias=False)
        self.tie()
        self.reset_parameters()

    def tie(self) -> None:
        """Make those matrices one that the configuration says are."""
        if self.config.tie_embeddings in ("inputs", "all"):
            self.target_embedding.weight = self.source_embedding.weight
        if self.config.tie_embeddings in ("target", "all"):
            self.head.weight = self.target_embedding.weight

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, *, dtype: torch.dtype = torch.float32
    ) -> "Transformer":
        """The model of a T5 folder: ``config.json`` and ``model.safetensors``.

        The feed-forward network may be plain (T5) or gated (version 1.1, FLAN), the head tied
        or not. The model is on the CPU, in evaluation mode, without dropout; no code of the
        files is run. What this model cannot be told is refused, not left out. The context,
        which distances do not limit, is ``n_positions`` of the file, or 512.

        Args:
            folder: A folder of Hugging Face.
            dtype: Of the parameters: float16, bfloat16, float32 or float64.

        Raises:
            CheckpointError: If a file is missing.
            CheckpointCorruptError: If a file cannot be read, or a weight is NaN or infinite.
            CheckpointMismatchError: If it is of another kind of model, tensors are missing,
                left over or of another shape, or the weights are a pickle.
            InputError: If the dtype is not one of those.
        """
        read = read_t5(Path(folder), dtype)
        model = fill_model(lambda: cls(read.config), read)
        model.tie()
        return model.eval()

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        *,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each position of the target.

        Args:
            source: Token ids (B, S), int64.
            target: Token ids (B, T), int64, a start token first.
            source_mask: True where a token of the source is real, (B, S); padding may be on
                either side and changes nothing at real tokens. None = all are real.
            target_mask: The same for the target, (B, T).
            taps: Receives what :meth:`encode` and :meth:`decode` give it.

        Returns:
            Unnormalized log-probabilities.

        Raises:
            InputError: If ids are empty, longer than the context or outside the vocabulary, or
                a mask does not fit them.
            InputTypeError: If a dtype is wrong.
        """
        memory = self.encode(source, source_mask, taps=taps)
        return self.decode(
            target, memory, memory_mask=source_mask, target_mask=target_mask, taps=taps
        )

    def encode(
        self, source: Tensor, mask: Tensor | None = None, *, taps: Taps | None = None
    ) -> Float[Tensor, "B S D"]:
        """What the encoder makes of the source: one vector for each token, 0 at padding.

        Args:
            source: Token ids (B, S), int64.
            mask: True where a token is real, (B, S); None = all are.
            taps: Receives ``source_embedding``, ``encoder.i.…`` (see
                :class:`mathlm.layers.Block`) and ``memory``.

        Raises:
            InputError: As :meth:`forward`.
            InputTypeError: As :meth:`forward`.
        """
        require_token_batch(source, self.config.vocab_size, self.config.context)
        real = None if mask is None else real_tokens(source, mask)
        positions = count_real(source, real)
        x = self.embed(self.source_embedding, self.source_position, source, positions, real)
        x = tap(taps, "source_embedding", x)
        attend = {"mask": key_mask(real), **relative(self.source_position, positions)}
        for i, block in enumerate(self.encoder):
            x = block(x, taps=scope(taps, f"encoder.{i}."), **attend)
        x = x if self.encoder_norm is None else self.encoder_norm(x)
        return tap(taps, "memory", without_padding(x, real))

    def decode(
        self,
        target: Tensor,
        memory: Float[Tensor, "B S D"],
        *,
        memory_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each position of the target, given the memory.

        Args:
            target: Token ids (B, T), int64; with a cache only those that it has not read.
            memory: From :meth:`encode`.
            memory_mask: True where a token of the source is real, (B, S); None = all are.
            target_mask: True where a token of the target is real, (B, T), T counting cached
                and new tokens; None = all are.
            cache: What was read before; takes up ``target``. See :meth:`new_cache`.
            taps: Receives ``target_embedding``, ``decoder.i.…`` (see
                :class:`mathlm.layers.DecoderBlock`) and ``decoded``, what the head reads.

        Raises:
            InputError: As :meth:`forward`; if the memory does not fit the target, or the cache
                is full or holds another memory.
            InputTypeError: As :meth:`forward`.
        """
        self._require_target(target, target_mask, cache)
        self._require_memory(target, memory, memory_mask)
        if cache is not None:
            cache.require_memory(memory)
        layout = lay_out(target, target_mask, None, cache, self.config.context, None)
        positions, real = layout.queries, layout.real
        x = self.embed(self.target_embedding, self.target_position, target, positions, real)
        x = tap(taps, "target_embedding", x)
        x = self._decoder_blocks(x, memory, key_mask(memory_mask), layout, cache, taps)
        if cache is not None:
            layout.remember(cache)
        x = x if self.decoder_norm is None else self.decoder_norm(x)
        x = tap(taps, "decoded", x)
        return self.head(x / math.sqrt(self.config.d_model) if self.config.scale_head else x)

    def embed(
        self,
        embedding: nn.Embedding,
        position: nn.Module | None,
        ids: Tensor,
        positions: Tensor,
        real: Tensor | None,
    ) -> Float[Tensor, "B T D"]:
        """Vectors of tokens, with their positions where these are added; padding is 0."""
        x = embedding(ids)
        if self.config.scale_embeddings:
            x = x * math.sqrt(self.config.d_model)
        if isinstance(position, LearnedPosition | SinusoidalPosition):
            x = x + position(positions)
        return self.dropout(without_padding(x, real))

    def new_cache(self, batch: int, capacity: int | None = None) -> DecoderCache:
        """An empty cache for the targets of ``batch`` rows; by default as long as the context.

        The keys and values of the memory are computed by the first call of :meth:`decode`,
        those of the target as it is read.
        """
        weight, config = self.target_embedding.weight, self.config
        return DecoderCache(
            config.decoder_layers,
            batch,
            config.n_heads,
            config.context if capacity is None else capacity,
            config.head_width,
            weight.dtype,
            weight.device,
        )

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        tables = {id(m.weight) for m in self.modules() if isinstance(m, nn.Embedding)}
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear) and id(module.weight) not in tables:
                nn.init.xavier_uniform_(module.weight)
                if name.endswith("W_q") and not self.config.attention_scale:
                    module.weight /= math.sqrt(self.config.head_width)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)
        if starts_wide(self.config):
            nn.init.normal_(self.source_embedding.weight)
            nn.init.normal_(self.target_embedding.weight)

    def _decoder_blocks(self, x, memory, memory_mask, layout: Layout, cache, taps):
        attend = {"memory_mask": memory_mask, "mask": layout.mask}
        attend |= relative(self.target_position, layout.queries, layout.keys)
        for i, block in enumerate(self.decoder):
            own = None if cache is None else cache.layers[i]
            other = None if cache is None else cache.memory_layers[i]
            at = scope(taps, f"decoder.{i}.")
            x = block(x, memory, cache=own, memory_cache=other, taps=at, **attend)
        return x

    def _require_target(
        self, target: Tensor, mask: Tensor | None, cache: DecoderCache | None
    ) -> None:
        past = 0 if cache is None else cache.length
        require_token_batch(target, self.config.target_vocab, self.config.context, past)
        if cache is not None:
            cache.require_room(*target.shape)
        if mask is None:
            return
        require_mask(mask, "real token of the target")
        if mask.ndim != 2:  # a layout takes other masks too
            raise InputError(
                f"target_mask {tuple(mask.shape)} must have one entry for each token of the "
                f"target, ({len(target)}, {past + target.shape[1]})"
            )

    def _require_memory(self, target: Tensor, memory: Tensor, mask: Tensor | None) -> None:
        B, D = len(target), self.config.d_model
        if not isinstance(memory, Tensor) or not memory.is_floating_point():
            found = getattr(memory, "dtype", type(memory).__name__)
            raise InputTypeError(f"memory must be what encode returns, got {found}")
        if memory.ndim != 3 or len(memory) != B or memory.shape[2] != D:
            raise InputError(
                f"memory {tuple(memory.shape)} does not fit the target {tuple(target.shape)}: "
                f"it must be ({B}, S, {D}), a row of the source for each of the target"
            )
        if mask is None:
            return
        require_mask(mask, "real token of the source")
        if mask.shape != memory.shape[:2]:
            raise InputError(
                f"memory_mask {tuple(mask.shape)} must be {tuple(memory.shape[:2])}, one entry "
                "for each token of the source"
            )
