"""What to minimize: ``objective(model, batch) -> (loss summed over targets, their number)``.

The sum and the number are returned apart, so that the caller can divide once, by all targets of
a step, however they are split into micro-batches and over ranks. An objective calls the model
once and nothing else of it, so that a model may be wrapped, as it is where ranks share it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from ..errors import ConfigError, InputError, InputTypeError
from ..functional import (
    balance_loss,
    cross_entropy,
    document_mask,
    document_positions,
    masked_diffusion_loss,
    z_loss,
)

Batch = dict[str, Tensor]


class Idle(dict[str, Tensor]):
    """A batch that counts on another rank; here it passes through the model with weight 0."""


def check_rows(batch: Batch, now: str) -> int:
    """Rows of a batch, which all its tensors must have."""
    rows = {name: len(tensor) for name, tensor in batch.items()}
    if len(set(rows.values())) != 1 or 0 in rows.values():
        raise InputError(
            f"the tensors of a batch must have equally many rows, at least one; {now}: {rows}"
        )
    return next(iter(rows.values()))


def split(batch: Batch, rows: int, parts: int) -> list[Batch]:
    """Cut ``batch`` into at most ``parts`` batches of nearly equal size, none of them empty."""
    parts = min(parts, rows)
    columns = {name: tensor.tensor_split(parts) for name, tensor in batch.items()}
    return [{name: column[i] for name, column in columns.items()} for i in range(parts)]


def name_samples(batch: Batch) -> str:
    """The numbers of the samples in ``batch``; without an ``index`` those of its rows."""
    rows = range(len(next(iter(batch.values()))))
    return ", ".join(str(int(i)) for i in batch.get("index", rows))


Objective = Callable[[nn.Module, Batch], tuple[Tensor, int]]
IGNORED = -100


def next_token(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """Cross-entropy of each token given those before it, summed over the targets.

    Implements eq-next-token::

        (-Σ log p(targetₜ | ids₁ … idsₜ), number of targets)

    Targets equal to -100 do not count; a batch without others has the loss 0. Documents that
    share a row do not see each other, and each counts its positions from 0.

    Args:
        model: From ``ids`` (B, T) to logits (B, T, V).
        batch: ``ids`` and ``targets``, both (B, T); ``targets`` is the text shifted by one.
            ``documents``, if there, numbers the document of each token; -1 = padding.

    Returns:
        Loss [nats], summed over targets, and how many targets there are.

    Raises:
        InputError: If the logits and ``targets`` differ in shape, or padding is a target.
        InputTypeError: If the ids or targets are not int64.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Embedding(4, 4), torch.nn.Linear(4, 4))
        >>> ids = torch.tensor([[0, 1, 2]])
        >>> loss, count = next_token(model, {"ids": ids[:, :-1], "targets": ids[:, 1:]})
        >>> count
        2
    """
    return token_loss(read_causal(model, batch), batch["targets"])


def masked_token(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """Cross-entropy of each hidden token given all that is left, summed over them.

    Implements eq-masked-token::

        (-Σ_{t hidden} log p(targetₜ | ids₁ … ids_T), number of hidden tokens)

    Args:
        model: Such as :class:`mathlm.models.MaskedBert`; its logits at a place are about it.
        batch: ``ids`` with holes and ``targets``, -100 where nothing is asked, (B, T);
            ``mask``, if there, is True where a token is real.

    Returns:
        Loss [nats], summed over targets, and how many targets there are.

    Raises:
        InputError, InputTypeError: As :func:`next_token`.

    Example:
        >>> def model(ids):  # knows nothing of four tokens
        ...     return torch.zeros(*ids.shape, 4)
        >>> batch = {"ids": torch.tensor([[0, 9]]), "targets": torch.tensor([[-100, 1]])}
        >>> masked_token(model, batch)  # ln 4
        (tensor(1.3863), 1)
    """
    return token_loss(read_masked(model, batch), batch["targets"])


def masked_diffusion(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """Cross-entropy of the hidden tokens of each row divided by its level, summed over rows.

    Implements eq-diffusion-loss::

        (Σ_rows (1/m) Σ_{t hidden} -log p(targetₜ | ids), number of tokens, hidden or not)

    The quotient estimates an upper bound of the negative log-likelihood per token.

    Args:
        model: Such as :class:`mathlm.models.MaskedDiffusion`.
        batch: ``ids`` with masks, ``targets``, -100 where a token is visible, (B, T), and
            ``levels`` (B,), as :class:`MaskLevels` makes them; ``mask``, if there, is True
            where a token is real.

    Returns:
        Loss [nats], summed over rows, and how many tokens there are.

    Raises:
        InputError, InputTypeError: As :func:`next_token`, or if a level is out of range.

    Example:
        >>> def model(ids):  # knows nothing of four tokens
        ...     return torch.zeros(*ids.shape, 4)
        >>> batch = {"ids": torch.tensor([[0, 9]]), "targets": torch.tensor([[-100, 1]])}
        >>> masked_diffusion(model, batch | {"levels": torch.tensor([0.5])})  # ln 4 / 0.5
        (tensor(2.7726), 2)
    """
    logits, targets = read_masked(model, batch), batch["targets"]
    loss = masked_diffusion_loss(logits, targets, batch["levels"]).sum()
    real = batch.get("mask")
    return loss, targets.numel() if real is None else int(real.sum())


def prefix_token(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """Cross-entropy of each token behind a prefix that is read in both directions.

    Implements eq-prefix-token::

        (-Σ_{t ≥ n} log p(x_{t+1} | x₁ … xₜ), T - n),   x₁ … x_n all see each other

    Args:
        model: Such as :class:`mathlm.models.GPT`, which takes ``prefix``.
        batch: As for :func:`next_token`, and ``prefix`` (B,), the length n of each row's.
            Targets inside a prefix, which the model can see, must be -100.

    Returns:
        Loss [nats], summed over targets, and how many targets there are.

    Raises:
        InputError: As :func:`next_token`, or if a target lies in the prefix.
        InputTypeError: As :func:`next_token`.

    Example:
        >>> def model(ids, prefix):  # knows nothing of four tokens
        ...     return torch.zeros(*ids.shape, 4)
        >>> batch = {"ids": torch.tensor([[0, 1, 2]]), "targets": torch.tensor([[-100, 2, 3]])}
        >>> prefix_token(model, batch | {"prefix": torch.tensor([2])})  # 2 ln 4
        (tensor(2.7726), 2)
    """
    return token_loss(read_prefix(model, batch), batch["targets"])


def span_corruption(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """Cross-entropy of what was cut out of a text, given the rest and what was said of it.

    Implements eq-span-corruption::

        (-Σ log p(targetₜ | source, ids₁ … idsₜ), number of targets)

    Args:
        model: Such as :class:`mathlm.models.Transformer`.
        batch: ``source`` (B, S), the text with sentinels for holes; ``ids`` and ``targets``
            (B, R), what the decoder reads and is to say. ``source_mask``, if there, is True
            where a token of the source is real.

    Returns:
        Loss [nats], summed over targets, and how many targets there are.

    Raises:
        InputError, InputTypeError: As :func:`next_token`.

    Example:
        >>> def model(source, ids):  # knows nothing of four tokens
        ...     return torch.zeros(*ids.shape, 4)
        >>> batch = {"source": torch.tensor([[0, 9, 3]]), "ids": torch.tensor([[0, 9]])}
        >>> span_corruption(model, batch | {"targets": torch.tensor([[1, 2]])})  # 2 ln 4
        (tensor(2.7726), 2)
    """
    return token_loss(read_spans(model, batch), batch["targets"])


def next_sentence(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """Cross-entropy of whether the second sentence of each row follows the first.

    Implements eq-next-sentence::

        (-Σ log p(follows | [CLS] A [SEP] B), number of pairs)

    Args:
        model: Such as :class:`mathlm.models.SentencePairs`, which returns two kinds of logits.
        batch: ``ids`` (B, T) and ``follows`` (B,), 1 or 0; ``segments`` and ``mask`` (B, T),
            if there, say which sentence a token is of and whether it is real.

    Returns:
        Loss [nats], summed over pairs, and how many there are.

    Raises:
        InputError: If ``follows`` is not 0 or 1, or does not fit.
        InputTypeError: If a dtype is wrong.

    Example:
        >>> def model(ids):  # knows nothing of four tokens, nor of what follows
        ...     return torch.zeros(*ids.shape, 4), torch.zeros(len(ids), 2)
        >>> batch = {"ids": torch.tensor([[0, 1], [0, 2]]), "follows": torch.tensor([1, 0])}
        >>> next_sentence(model, batch)  # 2 ln 2
        (tensor(1.3863), 2)
    """
    return token_loss(read_pairs(model, batch)[1], batch["follows"])


@dataclass(frozen=True)
class MaskedPairs:
    """BERT's two objectives at once: hidden tokens, and whether a sentence follows.

    Implements eq-masked-pairs::

        (Σ_{t hidden} ℓₜ + w Σ_pairs ℓ, number of hidden tokens)

    With w hidden tokens in every row, the loss for each of them is the sum of the two means,
    as published; another w weighs them otherwise.

    Args:
        weight: w, what a pair counts in hidden tokens.

    Raises:
        ConfigError: If the weight is negative or not finite.

    Example:
        >>> from mathlm.models import BertConfig, SentencePairs
        >>> sizes = dict(vocab_size=100, context=16, d_model=32, n_layers=1, n_heads=4)
        >>> model = SentencePairs(BertConfig(**sizes)).eval()
        >>> batch = {"ids": torch.tensor([[1, 5]]), "targets": torch.tensor([[-100, 9]])}
        >>> loss, hidden = MaskedPairs(weight=0)(model, batch | {"follows": torch.tensor([1])})
        >>> torch.equal(loss, masked_token(model.masked, batch)[0]), hidden
        (True, 1)
    """

    weight: float | int

    def __post_init__(self) -> None:
        _require_weight("weight", self.weight)

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss [nats], summed, and the number of hidden tokens."""
        tokens, pairs = read_pairs(model, batch)
        loss, count = token_loss(tokens, batch["targets"])
        return loss + self.weight * token_loss(pairs, batch["follows"])[0], count


@dataclass(frozen=True)
class MultiToken:
    """Cross-entropy of the next token and of some that follow it, each by a head of its own.

    Implements eq-multi-token::

        (-Σ_{i=1}^{H} Σₜ log pᵢ(x_{t+i} | x₁ … xₜ), number of targets of all heads)

    A head asks nothing where its token lies behind the window or in another document.

    Example:
        >>> def model(ids):  # two heads that know nothing of four tokens
        ...     return torch.zeros(*ids.shape, 2, 4)
        >>> batch = {"ids": torch.tensor([[0, 1, 2]]), "targets": torch.tensor([[1, 2, 3]])}
        >>> MultiToken()(model, batch)  # 5 ln 4: behind the last there is no second next token
        (tensor(6.9315), 5)
    """

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss [nats], summed over the targets of all heads, and their number.

        Args:
            model: Such as :class:`mathlm.models.MultiTokenGPT`, to logits (B, T, H, V).
            batch: As for :func:`next_token`.

        Raises:
            InputError: If the logits have no axis for the heads.
        """
        logits = read_causal(model, batch)
        if logits.ndim != 4:
            raise InputError(
                f"logits {tuple(logits.shape)} need an axis of heads: (B, T, H, V)"
            )
        ahead = [shifted(batch, i) for i in range(logits.shape[2])]
        return token_loss(logits, torch.stack(ahead, 2))


def shifted(batch: Batch, steps: int) -> Tensor:
    """Targets that many tokens further on, -100 where the text of the row ends before."""
    targets, documents = batch["targets"], batch.get("documents")
    T = targets.shape[1]
    moved = torch.full_like(targets, IGNORED)
    moved[:, : max(0, T - steps)] = targets[:, steps:]
    if documents is not None and 0 < steps < T:
        other = document_mask(documents)[:, 0].diagonal(steps, 1, 2).logical_not()
        moved[:, : T - steps].masked_fill_(other, IGNORED)
    return moved


Reader = Callable[[nn.Module, Batch], Tensor]


def read_causal(model: Callable[..., Tensor], batch: Batch) -> Tensor:
    """Logits of :func:`next_token`; documents of one row are kept apart.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105, 72, 105]])
        >>> batch = {"ids": ids, "targets": ids, "documents": torch.tensor([[0, 0, 1, 1]])}
        >>> logits = read_causal(model, batch)
        >>> torch.allclose(logits[:, :2], logits[:, 2:], atol=1e-5)  # neither sees the other
        True
    """
    ids = _token_ids(batch)
    documents = batch.get("documents")
    if documents is None:
        return model(ids)
    _require_no_padding_asked(documents, batch["targets"])
    return model(ids, mask=document_mask(documents), positions=document_positions(documents))


def read_masked(model: nn.Module, batch: Batch) -> Tensor:
    """Logits of :func:`masked_token`.

    Example:
        >>> def model(ids, mask):  # knows nothing of four tokens
        ...     return torch.zeros(*ids.shape, 4)
        >>> batch = {"ids": torch.tensor([[5, 0]]), "targets": torch.tensor([[-100, 6]])}
        >>> read_masked(model, batch | {"mask": torch.tensor([[True, False]])}).shape
        torch.Size([1, 2, 4])
    """
    return model(_token_ids(batch), **_given(batch, "mask"))


def read_prefix(model: nn.Module, batch: Batch) -> Tensor:
    """Logits of :func:`prefix_token`.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> batch = {"ids": torch.tensor([[0, 1]]), "targets": torch.tensor([[-100, 2]])}
        >>> read_prefix(GPT(GPTConfig(**sizes)), batch | {"prefix": torch.tensor([2])}).shape
        torch.Size([1, 2, 256])
    """
    ids, targets, prefix = _token_ids(batch), batch["targets"], batch["prefix"]
    asked = torch.arange(1, ids.shape[1] + 1, device=ids.device) < prefix[:, None]
    if (asked & (targets != IGNORED)).any():
        where = (asked & (targets != IGNORED)).nonzero()[0].tolist()
        raise InputError(
            f"the target at {where} lies in the prefix of {int(prefix[where[0]])} tokens, "
            f"which the model sees: set it to {IGNORED}"
        )
    return model(ids, prefix=prefix)


def read_spans(model: nn.Module, batch: Batch) -> Tensor:
    """Logits of :func:`span_corruption`.

    Example:
        >>> def model(source, ids):  # knows nothing of four tokens
        ...     return torch.zeros(*ids.shape, 4)
        >>> batch = {"source": torch.tensor([[5, 90, 7]]), "ids": torch.tensor([[0, 90]])}
        >>> read_spans(model, batch | {"targets": torch.tensor([[90, 6]])}).shape
        torch.Size([1, 2, 4])
    """
    return model(batch["source"], _token_ids(batch), **_given(batch, "source_mask"))


def read_pairs(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits of tokens and of pairs, of a model with both heads."""
    logits = model(_token_ids(batch, "follows"), **_given(batch, "mask", "segments"))
    if not (isinstance(logits, tuple) and len(logits) == 2):
        raise InputTypeError(
            "the model must return logits of tokens and of pairs, as SentencePairs does, got "
            f"{type(logits).__name__}"
        )
    return logits


@dataclass(frozen=True, kw_only=True)
class TokenLoss:
    """Cross-entropy with a smoothed target, a penalty on the logits' size, or both.

    Implements eq-token-loss::

        (Σₜ ℓₜ + λ Σₜ (log Σ_c exp z_{tc})², number of targets),   ℓₜ with label smoothing ε

    Without either it is the objective of its reader: ``TokenLoss()`` is :func:`next_token`.

    Args:
        read: From model and batch to logits: read_causal, read_masked, read_prefix, read_spans.
        label_smoothing: ε.
        z: λ, weight of the z-loss; 1e-4 is usual.

    Raises:
        ConfigError: If a number is out of range.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Embedding(4, 4), torch.nn.Linear(4, 4))
        >>> ids = torch.tensor([[0, 1, 2]])
        >>> loss, count = TokenLoss(label_smoothing=0.1)(model, {"ids": ids, "targets": ids})
        >>> count
        3
    """

    read: Reader = read_causal
    label_smoothing: float | int = 0.0
    z: float | int = 0.0

    def __post_init__(self) -> None:
        _require_weight("z", self.z)
        if not 0 <= self.label_smoothing <= 1:
            raise ConfigError(f"label_smoothing={self.label_smoothing} is outside 0..1")

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss [nats], summed over targets, and how many targets there are."""
        logits, targets = self.read(model, batch), batch["targets"]
        loss, count = token_loss(logits, targets, self.label_smoothing)
        if self.z:
            loss = loss + self.z * z_loss(logits[targets != IGNORED]).sum()
        return loss, count


@dataclass(frozen=True, kw_only=True)
class BalancedExperts:
    """Cross-entropy of the next token, and losses on the routers of a model with experts.

    Implements eq-moe-objective::

        (Σₜ ℓₜ + n Σ_layers (α E Σ_e f_e P_e + λ mean (log Σ_e exp z_e)²), n targets)

    The routers' losses are means over the tokens of a micro-batch; with several of them, or
    several ranks, f is the load of each and not of all. ``BalancedExperts(balance=0)`` is
    :func:`next_token`.

    Args:
        balance: α; 0.01 is Switch's.
        z: λ of the router z-loss; 0.001 is usual.

    Raises:
        ConfigError: If a weight is negative or not finite.

    Example:
        >>> from mathlm.models import GPTConfig, MixtureConfig, MixtureGPT
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=1, n_heads=4)
        >>> small = GPTConfig(**sizes, norm="rms", activation="swiglu", bias=False)
        >>> model = MixtureGPT(MixtureConfig(gpt=small, n_experts=4, top_k=2))
        >>> batch = {"ids": torch.tensor([[72, 105]]), "targets": torch.tensor([[105, 33]])}
        >>> loss, targets = BalancedExperts(balance=0.1)(model, batch)
        >>> bool(loss > next_token(model, batch)[0]), targets  # the routers cost something
        (True, 2)

    References:
        Fedus et al. (2022), arXiv:2101.03961, eq. (4); Zoph et al. (2022), arXiv:2202.08906,
        eq. (5).
    """

    balance: float | int = 0.01
    z: float | int = 0.0

    def __post_init__(self) -> None:
        _require_weight("balance", self.balance)
        _require_weight("z", self.z)

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss [nats], summed over targets, and how many targets there are.

        Raises:
            InputError: If the model has no router.
        """
        taps: dict[str, Tensor] = {}
        logits = read_causal(partial(model, taps=taps), batch)
        loss, count = token_loss(logits, batch["targets"])
        routers = [name for name in taps if name.endswith("router_logits")]
        if not routers:
            raise InputError("the model has no router: train it with next_token")
        for name in routers:
            scores, chosen = taps[name], taps[name.replace("router_logits", "experts")]
            loss = loss + count * self.balance * balance_loss(scores, chosen)
            loss = loss + count * self.z * z_loss(scores).mean()
        return loss, count


def token_loss(
    logits: Tensor, targets: Tensor, label_smoothing: float | int = 0.0
) -> tuple[Tensor, int]:
    """Cross-entropy summed over the targets that are not -100, and their number."""
    loss, count = cross_entropy(
        logits,
        targets,
        ignore_index=IGNORED,
        label_smoothing=float(label_smoothing),
        empty="zero",
    )
    return loss, int(count)


def _token_ids(batch: Batch, asked: str = "targets") -> Tensor:
    """The ids, if they and what is asked are int64."""
    for name, value in (("token ids", batch["ids"]), (asked, batch[asked])):
        if value.dtype != torch.int64:
            found = str(value.dtype).removeprefix("torch.")
            raise InputTypeError(f"{name} must be int64, got {found}")
    return batch["ids"]


def _given(batch: Batch, *names: str) -> dict[str, Tensor]:
    """Those of the arguments that the batch has."""
    return {name: batch[name] for name in names if name in batch}


def _require_no_padding_asked(documents: Tensor, targets: Tensor) -> None:
    if documents.shape != targets.shape:
        raise InputError(
            f"documents {tuple(documents.shape)} must have the shape of targets "
            f"{tuple(targets.shape)}"
        )
    asked = (documents < 0) & (targets != IGNORED)
    if asked.any():
        raise InputError(
            f"padding at {asked.nonzero()[0].tolist()} has a target: set it to -100"
        )


def _require_weight(name: str, value: float | int) -> None:
    if not 0 <= value < float("inf"):
        raise ConfigError(f"{name}={value} must be at least 0 and finite")
