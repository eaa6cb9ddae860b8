"""What a model thinks of answers: the number that tuning raises and preferences compare."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from ..checks import require_positive
from ..errors import InputError
from ..functional import token_cross_entropy
from ..generate.decoding import evaluating
from ..models import GPT, shared_hidden, shared_rows
from ..shapes import Float
from ..train import read_causal
from ..train.objectives import IGNORED, Batch
from .masks import require_columns

LogProbabilities = Callable[..., Tensor]  # as target_log_probabilities


def target_log_probabilities(
    model: nn.Module, batch: Batch, *, temperature: float | int = 1.0
) -> Float[Tensor, "B T"]:
    """Log-probability of each token that is asked for, given what stands before it.

    Computes::

        out[b, t] = log p(target[b, t] | ids[b, 0] … ids[b, t])   with p = softmax(logits / τ)

    It is the one place where alignment asks a model for log-probabilities. The model is in
    evaluation mode meanwhile: with dropout, a policy and an equal reference would differ, and
    texts would be judged by another model than the one that writes. Gradients pass.

    Args:
        model: From ``ids`` (B, T) to logits (B, T, V).
        batch: ``ids`` and ``targets`` (B, T), int64; -100 where nothing is asked.
        temperature: Divides the logits: what the texts were drawn with [1]; above 0.

    Returns:
        (B, T) [nats]; exactly 0 where nothing is asked.

    Raises:
        InputError: If the temperature is not positive and finite, a column is missing, or as in
            :func:`mathlm.train.next_token`.
        InputTypeError: If the ids or targets are not int64.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Embedding(4, 8), torch.nn.Linear(8, 4))
        >>> with torch.no_grad():
        ...     nothing = [p.zero_() for p in model.parameters()]  # four tokens alike
        >>> batch = {"ids": torch.tensor([[0, 1]]), "targets": torch.tensor([[-100, 2]])}
        >>> target_log_probabilities(model, batch)  # 0 where nothing is asked, and -ln 4
        tensor([[ 0.0000, -1.3863]], grad_fn=...)
    """
    require_columns(batch, "target_log_probabilities", "ids", "targets")
    if not (isinstance(model, GPT) and has_plain_forward(model)):
        logits = answer_logits(model, batch, temperature)
        return 0.0 - token_cross_entropy(logits, batch["targets"])
    with evaluating(model):
        asked = asked_places(batch)
        hidden = read_causal(partial(hidden_at, model, asked), batch)
        logits = model.head(hidden)  # (N, V): no logits where nothing is asked
    logp = 0.0 - token_cross_entropy(divided(logits, temperature), batch["targets"][asked])
    return logp.new_zeros(asked.shape).masked_scatter(asked, logp)


def hidden_at(model: GPT, asked: Tensor, ids: Tensor, **packed: Any) -> Tensor:
    """What the head reads where a token is asked for, (N, D).

    Beginnings that rows share, such as a prompt with several answers, are read once, and what
    stands behind the last token that is asked for is not read.
    """
    apart = model.virtual is not None or model.config.variant is not None
    if packed or apart or not asked.any():
        return model.hidden(ids, **packed)[asked]
    behind = torch.arange(1, ids.shape[1] + 1, device=ids.device)
    rows = shared_rows(ids, (asked * behind).amax(1))
    return embedding(rows.place[asked], shared_hidden(model, ids, rows))


def answer_logits(
    model: nn.Module, batch: Batch, temperature: float | int = 1.0
) -> Float[Tensor, "B T V"]:
    """Logits divided by the temperature, in 32 bits or more, without dropout.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Embedding(4, 8), torch.nn.Linear(8, 4))
        >>> batch = {"ids": torch.tensor([[0, 1]]), "targets": torch.tensor([[-100, 2]])}
        >>> logits = answer_logits(model, batch, temperature=2.0)
        >>> torch.allclose(logits, model(batch["ids"]) / 2)
        True
    """
    with evaluating(model):
        return divided(read_causal(model, batch), temperature)


def divided(logits: Float[Tensor, "*batch V"], temperature: float | int) -> Tensor:
    """Logits divided by the temperature, in 32 bits or more."""
    require_positive(temperature=temperature)
    logits = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    return logits if temperature == 1 else logits / temperature


def has_plain_forward(model: GPT) -> bool:
    """Whether a forward pass is its hidden states and its head, and nothing else."""
    return (
        type(model).forward is GPT.forward
        and type(model).hidden is GPT.hidden
        and "forward" not in vars(model)
        and not model._forward_hooks
        and not model._forward_pre_hooks
        and not model._backward_hooks
        and not model._backward_pre_hooks
        and model._compiled_call_impl is None
    )


def asked_places(batch: Batch) -> Tensor:
    """True where a token is asked for, (B, T)."""
    ids, targets = batch["ids"], batch["targets"]
    if ids.shape != targets.shape:
        raise InputError(
            f"ids {tuple(ids.shape)} and targets {tuple(targets.shape)} must have one shape: "
            "at each place the token that follows, or -100"
        )
    return targets != IGNORED


def answer_log_probabilities(
    model: nn.Module, batch: Batch, *, temperature: float | int = 1.0
) -> Float[Tensor, " B"]:
    """Log-probability of what is asked in each row, given what stands before it.

    Implements eq-tune-answer::

        out[b] = Σ_{t : target[b, t] ≠ -100} log p(target[b, t] | ids[b, 0] … ids[b, t])

    For rows of one conversation each, as :class:`ChatBatches` gives them with ``packed=False``:
    every token of its answers counts, the end of each turn among them, and nothing else does.
    Dropout is off, as in :func:`target_log_probabilities`, whose row sums these are.

    Args:
        model: From ``ids`` (B, T) to logits (B, T, V).
        batch: ``ids`` and ``targets`` (B, T).
        temperature: Divides the logits; above 0.

    Returns:
        (B,) [nats], summed over the answers' tokens; 0 where nothing is asked.

    Raises:
        InputError: If rows hold several documents, whose sums would be one, or as in
            :func:`mathlm.train.next_token`.
        InputTypeError: If the ids or targets are not int64.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Embedding(4, 8), torch.nn.Linear(8, 4))
        >>> with torch.no_grad():
        ...     nothing = [p.zero_() for p in model.parameters()]  # four tokens alike
        >>> batch = {"ids": torch.tensor([[0, 1, 2]]), "targets": torch.tensor([[-100, 2, 3]])}
        >>> answer_log_probabilities(model, batch).detach()  # -2 ln 4
        tensor([-2.7726])
    """
    documents = batch.get("documents")
    if documents is not None:
        _require_one_each(documents)
    return target_log_probabilities(model, batch, temperature=temperature).sum(1)


def _require_one_each(documents: Tensor) -> None:
    """Refuse rows with two documents or more."""
    last = documents.amax(1)
    first = documents.where(documents >= 0, last[:, None]).amin(1)
    if (first != last).any():
        row = int((first != last).nonzero()[0])
        raise InputError(
            f"row {row} holds the documents {int(first[row])} to {int(last[row])}; give rows "
            "of one each, as ChatBatches(..., packed=False) does"
        )
