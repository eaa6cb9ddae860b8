"""Language models of layers with a linear state, alone or with attention layers among them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from torch import Tensor, nn

from ..errors import ConfigError
from ..functional import require_token_ids
from ..layers import GatedDeltaNet, LayerCache, LinearStateCache, Mamba2, RMSNorm, SelfAttention
from ..shapes import Float

Mixer = Literal["mamba2", "delta", "attention"]
Cache = list[LinearStateCache | LayerCache]


@dataclass(frozen=True, kw_only=True)
class StateSpaceConfig:
    """Sizes and mixers of a language model with linear states.

    Args:
        mixers: Kind of each layer, the first one first: "mamba2", "delta" or "attention".
        vocab_size: V [tokens].
        d_model: Width, D.
        n_heads: Heads of every layer, H.
        d_head: Width of one head, P.
        d_state: Rows of a state, N.
        n_groups: Groups of heads that share B and C in a Mamba-2 layer.
        d_conv: Tokens that the short convolutions see.
        chunk: Tokens in a chunk.
        tie_embeddings: Whether the weights of the head are the token embedding itself.
        norm_eps: ε of the norms.

    Raises:
        ConfigError: If there is no layer, or one of no known kind.

    Example:
        >>> config = StateSpaceConfig(mixers=("mamba2", "attention"), d_model=32)
        >>> len(StateSpaceModel(config).blocks)
        2
    """

    mixers: tuple[Mixer, ...] = ("mamba2", "mamba2")
    vocab_size: int = 256
    d_model: int = 128
    n_heads: int = 4
    d_head: int = 64
    d_state: int = 64
    n_groups: int = 1
    d_conv: int = 4
    chunk: int = 64
    tie_embeddings: bool = False
    norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        unknown = [m for m in self.mixers if m not in get_args(Mixer)]
        if unknown or not self.mixers:
            raise ConfigError(
                f"mixers={self.mixers!r} must name one layer or more, each of {get_args(Mixer)}"
            )

    @property
    def context(self) -> None:
        """No sequence is too long."""


class StateSpaceBlock(nn.Module):
    """A mixer on a normalized input, added to the residual stream.

    Computes::

        y = x + mixer(norm(x))

    Args:
        config: Sizes of the model.
        kind: Of the mixer.

    Example:
        >>> config = StateSpaceConfig(d_model=32, d_head=16, d_state=16)
        >>> StateSpaceBlock(config, "mamba2")(torch.zeros(1, 5, 32)).shape
        torch.Size([1, 5, 32])
    """

    def __init__(self, config: StateSpaceConfig, kind: Mixer) -> None:
        super().__init__()
        self.norm = RMSNorm(config.d_model, config.norm_eps)
        self.mixer = make_mixer(config, kind)

    def forward(
        self, x: Float[Tensor, "B T D"], cache: LinearStateCache | LayerCache | None = None
    ) -> Float[Tensor, "B T D"]:
        """Mix the positions of ``x``."""
        return x + self.mixer(self.norm(x), cache=cache)


class StateSpaceModel(nn.Module):
    """Causal language model of blocks with a Mamba-2, delta-rule or attention layer each.

    Computes::

        x = E[ids],   x ← x + mixer(norm(x)) for each block,   logits = norm(x) W_headᵀ

    There is no feed-forward layer and no position encoding: the states know the order, and an
    attention layer reads it from them. A model of "mamba2" alone has the weights of
    ``Mamba2ForCausalLM`` of transformers; see :meth:`load_transformers`.

    Args:
        config: Sizes and mixers; or give them by name.
        sizes: Fields of :class:`StateSpaceConfig`, in place of ``config``.

    Raises:
        ConfigError: If both forms are used.

    Example:
        >>> model = StateSpaceModel(vocab_size=256, d_model=32, d_head=16, d_state=16)
        >>> model(torch.tensor([list(b"To be")])).shape
        torch.Size([1, 5, 256])

    References:
        Dao and Gu (2024), arXiv:2405.21060.
    """

    def __init__(self, config: StateSpaceConfig | None = None, **sizes: Any) -> None:
        super().__init__()
        if config is not None and sizes:
            raise ConfigError(f"give config or its fields, not both: {', '.join(sizes)}")
        self.config = config = config or StateSpaceConfig(**sizes)
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.blocks = nn.ModuleList(StateSpaceBlock(config, kind) for kind in config.mixers)
        self.norm = RMSNorm(config.d_model, config.norm_eps)
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        nn.init.normal_(self.token_embedding.weight, std=0.02)
        if config.tie_embeddings:
            self.head.weight = self.token_embedding.weight

    def forward(self, ids: Tensor, *, cache: Cache | None = None) -> Float[Tensor, "B T V"]:
        """Logits of the token after each position.

        Args:
            ids: Token ids (B, T), int64.
            cache: What was read before, of :meth:`new_cache`; takes up ``ids``.

        Raises:
            InputError: If an id is outside the vocabulary.
        """
        require_token_ids(ids, self.config.vocab_size)
        x = self.token_embedding(ids)
        for i, block in enumerate(self.blocks):
            x = block(x, None if cache is None else cache[i])
        return self.head(self.norm(x))

    def new_cache(self, batch: int, capacity: int) -> Cache:
        """An empty cache; ``capacity`` [tokens] is what attention layers make room for."""
        c, weight = self.config, self.head.weight
        shape = (batch, c.n_heads, capacity, c.d_head)
        return [
            LayerCache(weight.new_empty(shape), weight.new_empty(shape))
            if kind == "attention"
            else LinearStateCache()
            for kind in c.mixers
        ]

    def load_transformers(self, state: Mapping[str, Tensor]) -> None:
        """Take the weights of a ``Mamba2ForCausalLM`` of transformers of the same sizes.

        Args:
            state: Its ``state_dict()``.
        """
        self.load_state_dict({_our_name(name): w for name, w in state.items()})


def make_mixer(config: StateSpaceConfig, kind: Mixer) -> nn.Module:
    """A layer of this kind and these sizes."""
    sizes = (config.d_model, config.n_heads, config.d_head, config.d_state)
    d_conv, chunk, eps = config.d_conv, config.chunk, config.norm_eps
    if kind == "mamba2":
        groups = config.n_groups
        return Mamba2(*sizes, n_groups=groups, d_conv=d_conv, chunk=chunk, norm_eps=eps)
    if kind == "delta":
        return GatedDeltaNet(*sizes, d_conv=d_conv, chunk=chunk, norm_eps=eps)
    return SelfAttention(config.d_model, config.n_heads, d_head=config.d_head)


def _our_name(name: str) -> str:
    """Name of a weight here, by its name in transformers."""
    name = name.removeprefix("backbone.").replace("layers.", "blocks.", 1)
    name = name.replace("embeddings.", "token_embedding.").replace("lm_head.", "head.")
    name = name.replace("norm_f.weight", "norm.gamma")
    inner = name.startswith("blocks.") and "mixer" not in name
    return name.replace("norm.weight", "norm.gamma") if inner else name
