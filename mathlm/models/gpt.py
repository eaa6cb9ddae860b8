"""GPT: a causal transformer from token ids to logits."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError
from ..functional import require_token_batch
from ..layers import (
    AlibiPosition,
    Block,
    BranchNormBlock,
    CappedHead,
    CenteredRMSNorm,
    FeedForward,
    KeyValueCache,
    LayerNorm,
    LearnedPosition,
    RelativePosition,
    RMSNorm,
    RotaryPosition,
    SandwichBlock,
    ScaledEmbedding,
    SelfAttention,
    SinusoidalPosition,
    Taps,
    VariantAttention,
    scope,
    tap,
)
from ..layers.prefix import GatedPrefixKV, KeptKeys, PrefixKV
from ..shapes import Float
from .files.gpt import fill_model, read_model
from .generation import Generates
from .gpt_config import GPTConfig
from .layout import Layout, lay_out
from .virtual import VirtualTokens

INIT_STD = 0.02


class GPT(Generates, nn.Module):
    """Causal language model, of pre-norm blocks unless its variant says otherwise.

    Computes::

        x = E[ids] (+ P[positions]),   x ← block(x) L times,   logits = norm(x) W_headᵀ

    Weights start normal with standard deviation 0.02, those that write to the residual stream
    0.02 / √(2 L), biases 0, gains 1.

    Args:
        config: Sizes and choices.

    Example:
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=2, n_heads=4)
        >>> model = GPT(GPTConfig(**sizes))
        >>> ids = torch.tensor([list(b"To be, or ")])
        >>> model(ids).shape, model.generate(ids, 20, seed=0).shape
        (torch.Size([1, 10, 256]), torch.Size([1, 30]))

    References:
        Radford et al. (2019), Language models are unsupervised multitask learners, section 2.3.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.token_embedding = make_embedding(config)
        self.position = make_position(config)
        self.local_position = make_local_position(config)  # of the layers with a window
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(make_block(config, w) for w in config.windows)
        self.final_norm = make_norm(config)
        self.virtual: VirtualTokens | None = None  # what stands before every text
        self.head = make_head(config)
        if config.tie_embeddings:
            self.head.weight = self.token_embedding.weight
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, path: str | Path, *, dtype: torch.dtype = torch.float32) -> "GPT":
        """A pretrained model: a Hugging Face folder of GPT-2 or the Llama family, or GGUF.

        A folder holds ``config.json`` and ``model.safetensors``; of the Llama family are the
        types llama, mistral, qwen2 and qwen3, with rotary positions as they were trained or
        scaled (linear, llama3, yarn); gemma2, gemma3_text, olmo2 and olmo3 have a
        :class:`BlockVariant`. A GGUF file is of the architecture llama; its quantized weights
        are written out, and the features of queries and keys put into half-split pairs. The
        model is on the CPU, in evaluation mode, without dropout; no code
        of the files is run. What this model cannot be told is refused, not left out.

        Args:
            path: A folder, or a GGUF file such as ``text.pretrained.find("smollm2")``.
            dtype: Of the parameters: float16, bfloat16, float32 or float64.

        Raises:
            CheckpointError: If a file is missing.
            CheckpointCorruptError: If a file cannot be read, or a weight is NaN or infinite.
            CheckpointMismatchError: If it is of another kind of model, tensors are missing,
                left over or of another shape, or the weights are a pickle.
            DataError: If a GGUF file cannot be read, or the gguf package is not installed.
            InputError: If the dtype is not one of those.

        Example:
            >>> import tempfile
            >>> from mathlm.models import save_pretrained
            >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=2, n_heads=4)
            >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     again = GPT.from_pretrained(save_pretrained(model, f"{folder}/mine"))
            >>> torch.equal(again(ids), model(ids))
            True
        """
        read = read_model(Path(path), dtype)
        model = fill_model(lambda: cls(read.config), read)
        if not has_parameters(model.position):
            model.position = make_position(read.config)  # its numbers are computed
            model.local_position = make_local_position(read.config)
        if read.config.tie_embeddings:
            model.head.weight = model.token_embedding.weight
        return model.eval()

    def forward(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        cache: KeyValueCache | None = None,
        prefix: Tensor | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each position.

        Args:
            ids: Token ids (B, T), int64.
            mask: True where a token is real, (B, S), S counting cached and new tokens; padding
                may be on either side and changes nothing at real tokens. Or who may attend to
                whom, (B, T, S) or (B, 1, T, S), within the causal order.
            positions: Of the new tokens, (T,) or (B, T). None = counted over real tokens.
            cache: What was read before; takes up ``ids``. See :meth:`new_cache`.
            prefix: How many real tokens of each row all see each other, (B,), int64; those
                behind them follow in causal order. None = causal order throughout.
            taps: Receives ``embedding``, ``blocks.i.…`` and ``final_norm``; see
                :class:`mathlm.layers.Block`.

        Returns:
            Unnormalized log-probabilities.

        Raises:
            InputError: If ids are empty, longer than the context or outside the vocabulary, or
                the other arguments do not fit them.
            InputTypeError: If a dtype is wrong.
        """
        return self.head(self.hidden(ids, mask, positions, cache, prefix, taps))

    def hidden(
        self,
        ids: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        cache: KeyValueCache | None = None,
        prefix: Tensor | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B T D"]:
        """What the head reads: the residual stream after the last normalization."""
        self._require_ids(ids, cache)
        windows, context = self.config.windows, self.config.context
        shift = 0 if self.virtual is None else self.virtual.shift
        attend: dict[int | None, dict[str, Any]] = {}  # layers with one window see alike
        for window in dict.fromkeys(windows or (self.config.window,)):
            layout = lay_out(ids, mask, positions, cache, context, window, prefix)
            placed = layout.behind(shift)
            attend[window] = {"mask": placed.mask, **self._position_terms(placed, window)}
        x = tap(taps, "embedding", self.embed(ids, placed))
        memory = self._memory_terms(cache)
        for i, block in enumerate(self.blocks):
            x = block(x, taps=scope(taps, f"blocks.{i}."), **memory[i], **attend[windows[i]])
        if cache is not None:
            layout.remember(cache)
        return tap(taps, "final_norm", self.final_norm(x))

    def embed(self, ids: Tensor, layout: Layout) -> Float[Tensor, "B T D"]:
        """Vectors of the tokens, with their positions where these are added; padding is 0."""
        x = self._placed(self.token_embedding(ids), layout)
        if layout.real is not None:
            x = x.masked_fill(~layout.real.unsqueeze(-1), 0.0)
        return self.dropout(x)

    def read_vectors(self, vectors: Float[Tensor, "m D"]) -> list[PrefixKV]:
        """Keys and values of every layer for vectors that stand where embeddings would.

        Args:
            vectors: In causal order, at positions 0 … m - 1.

        Returns:
            Those of each block, (G, m, K), turned to their positions as in a cache.
        """
        places = torch.arange(len(vectors), device=vectors.device)
        layout = Layout(places, places, None, None, False)
        gain = next(self.final_norm.parameters())
        x = self.dropout(self._placed(vectors.to(gain.dtype).unsqueeze(0), layout))
        terms, kept = self._position_terms(layout), [KeptKeys() for _ in self.blocks]
        for block, layer in zip(self.blocks, kept, strict=True):
            x = block(x, cache=layer, **terms)
        return [PrefixKV(layer.k[0], layer.v[0]) for layer in kept]

    def new_cache(
        self, batch: int, capacity: int | None = None, sliding: bool = False
    ) -> KeyValueCache:
        """An empty key/value cache for ``batch`` rows; by default as long as the context.

        With ``sliding`` the cache of a model with a window keeps little more than the window.
        """
        gain = next(self.final_norm.parameters())
        return KeyValueCache(
            self.config.n_layers,
            batch,
            self.config.kv_heads,
            self.config.context if capacity is None else capacity,
            self.config.head_width,
            gain.dtype,
            gain.device,
            self.config.windows if sliding else None,
        )

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        residual = INIT_STD / math.sqrt(2 * self.config.n_layers)
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                writes = name.endswith(("W_o", "W_out"))
                nn.init.normal_(module.weight, std=residual if writes else INIT_STD)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def _placed(self, x: Float[Tensor, "B T D"], layout: Layout) -> Float[Tensor, "B T D"]:
        """Vectors with their positions, where these are added."""
        if isinstance(self.position, LearnedPosition | SinusoidalPosition):
            return x + self.position(layout.queries)
        return x

    def _memory_terms(self, cache: KeyValueCache | None) -> list[dict[str, Any]]:
        """What attention in each layer has before the new tokens: KV cache, prefix, or both."""
        if cache is not None and cache.length:
            require_same_virtual(self.virtual, cache)
        layers = [None] * len(self.blocks) if cache is None else cache.layers
        if self.virtual is None:
            return [{"cache": layer} for layer in layers]
        prefixes = self._prefix_kv(self.virtual, cache)
        return [p.terms(layer) for p, layer in zip(prefixes, layers, strict=True)]

    def _prefix_kv(
        self, virtual: VirtualTokens, cache: KeyValueCache | None
    ) -> Sequence[PrefixKV | GatedPrefixKV]:
        """Keys and values of the virtual tokens, with gradients unless a cache keeps them."""
        if cache is None:
            return virtual(self.read_vectors)
        if cache.prefix_kv is None:
            with torch.no_grad():  # as all of a cache
                cache.prefix_kv = list(virtual(self.read_vectors))
        return cache.prefix_kv

    def _position_terms(self, layout: Layout, window: int | None = None) -> dict[str, Any]:
        """What attention needs to know of positions; made once for layers with one window."""
        if window is not None and self.local_position is not None:
            return {"rotation": self.local_position(layout.queries)}
        if isinstance(self.position, RotaryPosition):
            return {"rotation": self.position(layout.queries)}
        if isinstance(self.position, AlibiPosition | RelativePosition):
            return {"bias": self.position(layout.queries, layout.keys)}
        return {}

    def _require_ids(self, ids: Tensor, cache: KeyValueCache | None) -> None:
        past = 0 if cache is None else cache.length
        require_token_batch(ids, self.config.vocab_size, self.config.context, past)
        if cache is not None:
            cache.require_room(*ids.shape)


def require_same_virtual(virtual: VirtualTokens | None, cache: KeyValueCache) -> None:
    """Refuse a cache whose tokens were read with virtual tokens before them, or without."""
    if (cache.prefix_kv is None) == (virtual is None):
        return
    then, now = ("with", "none") if virtual is None else ("without", "some")
    raise InputError(
        f"the cache holds {cache.length} tokens that were read {then} virtual tokens before "
        f"them, and the model has {now}: start a new cache"
    )


def make_norm(config: GPTConfig) -> nn.Module:
    """The normalization that a configuration asks for."""
    if config.variant is not None and config.variant.centered:
        return CenteredRMSNorm(config.d_model, config.norm_eps)
    if config.norm == "rms":
        return RMSNorm(config.d_model, config.norm_eps)
    return LayerNorm(config.d_model, config.norm_eps, bias=config.bias is True)


def make_position(config: GPTConfig) -> nn.Module | None:
    """The position module that a configuration asks for, if any."""
    makers = {
        "learned": lambda: LearnedPosition(config.context, config.d_model),
        "sinusoidal": lambda: SinusoidalPosition(config.context, config.d_model),
        "rope": lambda: RotaryPosition(
            config.context, config.rotary_width, config.rope_base, config.rope_scaling
        ),
        "alibi": lambda: AlibiPosition(config.n_heads),
        "relative": lambda: RelativePosition(config.n_heads),
        "none": lambda: None,
    }
    return makers[config.position]()


def make_local_position(config: GPTConfig) -> RotaryPosition | None:
    """Rotary positions of the layers with a window, if theirs are other ones."""
    if config.variant is None or config.variant.local_rope_base is None:
        return None
    return RotaryPosition(config.context, config.rotary_width, config.variant.local_rope_base)


def make_embedding(config: GPTConfig) -> nn.Embedding:
    """The token embedding that a configuration asks for."""
    scaled = config.variant is not None and config.variant.scale_embedding
    return (ScaledEmbedding if scaled else nn.Embedding)(config.vocab_size, config.d_model)


def make_head(config: GPTConfig) -> nn.Linear:
    """The map from the last vectors to the logits."""
    cap = None if config.variant is None else config.variant.logit_cap
    if cap is not None:
        return CappedHead(config.d_model, config.vocab_size, cap)
    return nn.Linear(config.d_model, config.vocab_size, bias=False)


def has_parameters(module: nn.Module | None) -> bool:
    """Whether a module learns anything."""
    return module is not None and any(True for _ in module.parameters())


def make_block(config: GPTConfig, window: int | None) -> nn.Module:
    """One block of the sizes and choices of a configuration, with the window of its layer."""
    feed_forward = FeedForward(
        config.d_model, config.ff_width, config.activation, bias=config.bias is True
    )
    attention = make_attention(config, window)
    norms = [make_norm(config), make_norm(config)]
    parts = norms[0], attention, norms[1], feed_forward, config.dropout
    placement = "before" if config.variant is None else config.variant.placement
    if placement == "both":
        out_norms = make_norm(config), make_norm(config)
        return SandwichBlock(
            *parts, attention_out_norm=out_norms[0], feed_forward_out_norm=out_norms[1]
        )
    return (Block if placement == "before" else BranchNormBlock)(*parts)


def make_attention(config: GPTConfig, window: int | None) -> SelfAttention:
    """The attention of a layer with this window."""
    sizes = config.d_model, config.n_heads, config.n_kv_heads, config.d_head
    common: dict[str, Any] = {
        "bias": config.bias,
        "window": window,
        "norm_eps": config.norm_eps,
        "dropout": config.dropout,
    }
    variant = config.variant
    if variant is None:
        return SelfAttention(*sizes, qk_norm=config.qk_norm, **common)
    return VariantAttention(
        *sizes,
        qk_norm=variant.qk_norm_over if config.qk_norm else None,
        centered=variant.centered,
        score_cap=variant.score_cap,
        sinks=variant.sinks,
        gate=variant.gate,
        scale=variant.score_scale,
        **common,
    )
