"""Recurrent language models, from token ids to logits."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from ..errors import ConfigError, InputError
from ..functional import require_token_ids, token_cross_entropy
from ..layers import GRU, LSTM, RNN, StateCache
from ..shapes import Float
from .generation import Generates

Kind = Literal["rnn", "lstm", "gru"]


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """Sizes and choices of a recurrent language model.

    Args:
        kind: Cell of every layer.
        vocab_size: V [tokens].
        d_model: Width of embeddings and states, D = H.
        n_layers: Recurrent layers, L.
        tie_embeddings: Whether the weights of the head are the token embedding itself.
        dropout: Probability of dropping an entry of the embedding, between layers and before
            the head, in training.
        forget_bias: Bias of the forget gates at the start, see
            :class:`mathlm.layers.LSTM`; only with the kind "lstm".
        fused: Whether the compiled kernel of torch runs the steps.

    Raises:
        ConfigError: If the kind is not known or a number is out of range.

    Example:
        >>> RecurrentConfig(kind="gru", d_model=32).vocab_size
        256
    """

    kind: Kind = "lstm"
    vocab_size: int = 256
    d_model: int = 256
    n_layers: int = 1
    tie_embeddings: bool = False
    dropout: float = 0.0
    forget_bias: float | int | None = None
    fused: bool = True

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            known = ", ".join(map(repr, get_args(Kind)))
            raise ConfigError(f"kind={self.kind!r} is not one of {known}")
        for name in ("vocab_size", "d_model", "n_layers"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise ConfigError(f"{name}={value} must be an integer")
            if value < 1:
                raise ConfigError(f"{name}={value} must be at least 1")
        if not 0.0 <= self.dropout < 1.0:
            raise ConfigError(f"dropout={self.dropout} is outside 0 <= dropout < 1")
        if self.forget_bias is not None and self.kind != "lstm":
            raise ConfigError(
                f"forget_bias={self.forget_bias} needs kind='lstm': {self.kind!r} has no "
                "forget gate"
            )

    @property
    def context(self) -> None:
        """No sequence is too long: the state has one size."""


class Recurrent(Generates, nn.Module):
    """Causal language model of recurrent layers.

    Computes::

        x = E[ids],   y, s_T = layers(x, s₀),   logits = y W_headᵀ + b_head

    The embedding starts normal with standard deviation 1, or 1 / √D where the head shares it;
    all other weights start uniform within ± 1 / √D.

    Args:
        config: Sizes and choices; or give them by name, ``Recurrent(kind="gru", d_model=64)``.
        sizes: Fields of :class:`RecurrentConfig`, in place of ``config``.

    Raises:
        ConfigError: If a field is out of range, or both forms are used.

    Example:
        >>> model = Recurrent(kind="lstm", vocab_size=256, d_model=32)
        >>> model(torch.tensor([list(b"To be")])).shape
        torch.Size([1, 5, 256])
    """

    def __init__(self, config: RecurrentConfig | None = None, **sizes: Any) -> None:
        super().__init__()
        if config is not None and sizes:
            raise ConfigError(
                f"give config or its fields, not both: got config and {', '.join(sizes)}"
            )
        self.config = config = config or RecurrentConfig(**sizes)
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = make_layers(config)
        self.head = nn.Linear(config.d_model, config.vocab_size)
        if config.tie_embeddings:
            self.head.weight = self.token_embedding.weight
        self.reset_parameters()

    def forward(
        self, ids: Tensor, *, mask: Tensor | None = None, cache: StateCache | None = None
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each position.

        Args:
            ids: Token ids (B, T), int64.
            mask: True where a token is real, (B, S), S counting cached and new tokens; padding
                may be anywhere and changes nothing at real tokens. Steps then run one by one.
            cache: What was read before; takes up ``ids``. See :meth:`new_cache`.

        Returns:
            Unnormalized log-probabilities.

        Raises:
            InputError: If ids are empty or outside the vocabulary, or the other arguments do
                not fit them.
            InputTypeError: If a dtype is wrong.
        """
        return self.head(self.hidden(ids, mask=mask, cache=cache))

    def hidden(
        self, ids: Tensor, *, mask: Tensor | None = None, cache: StateCache | None = None
    ) -> Float[Tensor, "B T D"]:
        """What the head reads: the outputs of the last layer."""
        if cache is None:
            return self._read(ids, None, mask)[0]
        self._require_ids(ids)
        y, state = self._read(ids, cache.state, _newest(mask, ids, cache))
        cache.remember(state, ids.shape[1])
        return y

    def read(
        self, ids: Tensor, state: Any = None, mask: Tensor | None = None
    ) -> tuple[Float[Tensor, "B T V"], Any]:
        """Logits, and the state after the last token, from which reading can go on.

        Args:
            ids: Token ids (B, T), int64.
            state: What an earlier call returned; None = nothing was read. Detach it where no
                gradient is to pass, as in truncated backpropagation through time.
            mask: True where one of ``ids`` is real, (B, T).

        Returns:
            Logits (B, T, V) and the state: (L, B, D), or for the kind "lstm" a pair of them.
        """
        y, state = self._read(ids, state, mask)
        return self.head(y), state

    def new_cache(self, batch: int, capacity: int | None = None) -> StateCache:
        """An empty state for ``batch`` rows; the capacity has no limit, any number will do."""
        return StateCache(batch)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        bound = 1 / math.sqrt(self.config.d_model)
        self.layers.reset_parameters()
        nn.init.uniform_(self.head.weight, -bound, bound)
        nn.init.uniform_(self.head.bias, -bound, bound)
        std = bound if self.config.tie_embeddings else 1.0
        nn.init.normal_(self.token_embedding.weight, std=std)

    def _read(
        self, ids: Tensor, state: Any, mask: Tensor | None
    ) -> tuple[Float[Tensor, "B T D"], Any]:
        self._require_ids(ids)
        x = self.dropout(self.token_embedding(ids))
        y, state = self.layers(x, state, mask)
        return self.dropout(y), state

    def _require_ids(self, ids: Tensor) -> None:
        if ids.ndim != 2 or ids.numel() == 0:
            raise InputError(
                f"ids have shape {tuple(ids.shape)}, expected (batch, tokens), one token or "
                "more"
            )
        require_token_ids(ids, self.config.vocab_size)


def make_layers(config: RecurrentConfig) -> RNN | LSTM | GRU:
    """The recurrent layers of the sizes and choices of a configuration."""
    D, L = config.d_model, config.n_layers
    between = config.dropout if L > 1 else 0.0
    makers: dict[str, Callable[[], RNN | LSTM | GRU]] = {
        "rnn": lambda: RNN(D, D, L, dropout=between, fused=config.fused),
        "gru": lambda: GRU(D, D, L, dropout=between, fused=config.fused),
        "lstm": lambda: LSTM(
            D, D, L, dropout=between, fused=config.fused, forget_bias=config.forget_bias
        ),
    }
    return makers[config.kind]()


def _newest(mask: Tensor | None, ids: Tensor, cache: StateCache) -> Tensor | None:
    """The part of the mask that belongs to ``ids``."""
    if len(ids) != cache.batch:
        raise InputError(f"the cache holds {cache.batch} rows, the ids have {len(ids)}")
    if mask is None:
        return None
    shape = (len(ids), cache.length + ids.shape[1])
    if tuple(mask.shape) != shape:
        raise InputError(
            f"mask has shape {tuple(mask.shape)}, but {cache.length} cached and {ids.shape[1]} "
            f"new tokens in {len(ids)} rows need {shape}"
        )
    return mask[:, -ids.shape[1] :]


def gradient_reach(model: Recurrent, ids: Tensor) -> Float[Tensor, " S"]:
    """How strongly the last prediction of a sequence depends on each input before it.

    Implements eq-gradient-reach::

        g_k = mean over the batch of ‖∂ℓ_S / ∂x_{S-k}‖,   k = 0 … S - 1

    where S = T - 1 inputs are read, x_t is the embedding of input t, and ℓ_S is the loss of the
    last token given all of them [nats].

    Args:
        model: A recurrent language model; its parameters get no gradient.
        ids: Token ids (B, T), at least two in a row; the last of each row is the target.

    Returns:
        g_0 … g_{S-1}, the nearest input first.

    Raises:
        InputError: If there is no input to reach, or an id is outside the vocabulary.
        InputTypeError: If the ids are not int64.

    Example:
        >>> model = Recurrent(kind="lstm", vocab_size=256, d_model=32)
        >>> reach = gradient_reach(model, torch.tensor([list(b"To be")]))
        >>> reach.shape, bool((reach > 0).all())  # of the four letters before the last
        (torch.Size([4]), True)
    """
    if ids.ndim != 2 or ids.shape[1] < 2:
        raise InputError(
            f"ids have shape {tuple(ids.shape)}, expected (batch, tokens) with 2 tokens or more"
        )
    require_token_ids(ids, model.config.vocab_size)
    x = model.token_embedding(ids[:, :-1]).detach().requires_grad_()
    y, _ = model.layers(x, None, None)
    loss = token_cross_entropy(model.head(y[:, -1]), ids[:, -1])
    (dx,) = torch.autograd.grad(loss.sum(), x)
    return dx.norm(dim=-1).mean(0).flip(0)
