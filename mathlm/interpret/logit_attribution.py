"""Logit attribution: the residual stream and every logit as sums of what each part writes."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..layers import FeedForward, RMSNorm
from ..models import GPT
from ..models.files.saving import added_parts, explain_parts
from ..models.gpt_config import require_no_variant
from ..shapes import Float, Int
from .lens import require_stream
from .recording import record
from .steering import require_unsteered


@torch.no_grad()
def stream_contributions(
    model: nn.Module, ids: Tensor, mask: Tensor | None = None
) -> dict[str, Float[Tensor, "B T D"]]:
    """What every embedding, head, feed-forward network and bias writes to the stream.

    Implements eq-interp-contributions::

        x_L = token + position + Σ_l (Σ_h W_o[:, h] headₕ + b_o + W_out hidden + b_out)

    The finest sum that is exact: their sum is the stream behind the last block up to rounding.
    A bias of the values is part of its head, since the weights of a query sum to 1.

    Args:
        model: A GPT as its class says, without adapters, whose maps are no quantized ones.
        ids: Token ids (B, T).
        mask: Of the model; None = every token is real.

    Returns:
        In the order of the model, as far as it has them: ``token_embedding``,
        ``position_embedding`` (where positions are added), and of each block i
        ``blocks.i.attention.heads.h``, ``blocks.i.attention.W_o.bias``,
        ``blocks.i.feed_forward`` and ``blocks.i.feed_forward.W_out.bias``.

    Raises:
        InputTypeError: If the model is not a GPT, a map is no plain linear one, or a
            feed-forward network is a mixture of experts.
        InputError: If something was added to the model, or as :func:`record`.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> stream = record(model, ids)["blocks.1.resid_post"]
        >>> torch.allclose(sum(stream_contributions(model, ids).values()), stream, atol=1e-5)
        True

    References:
        Elhage et al. (2021), A mathematical framework for transformer circuits.
    """
    gpt = require_plain(require_stream(model))
    taps = record(gpt, ids, mask)
    parts = embeddings(gpt, ids, taps["embedding"], mask)
    for i, block in enumerate(gpt.blocks):
        for name, write in block_writes(block, taps, i).items():
            parts[f"blocks.{i}.{name}"] = write
    return parts


@torch.no_grad()
def logit_contributions(
    model: nn.Module,
    writes: Mapping[str, Float[Tensor, "B T D"]],
    tokens: Int[Tensor, " N"] | None = None,
) -> dict[str, Float[Tensor, "B T N"]]:
    """Share of every write in the logits.

    Implements eq-arch-shares::

        logit = Σ_i w_i · (γ ⊙ u) / s + β · u,   s of the whole stream

    u is the row of a token in the head. The shares of two tokens, one less the other, are those
    of the difference of their logits.

    Args:
        model: Whose writes they are.
        writes: From :func:`stream_contributions` or :func:`stream_writes`, all of them.
        tokens: Ids of the tokens; None = the whole vocabulary.

    Returns:
        Under the name of each write, and of a layer norm with a bias under
        ``final_norm.beta``; their sum is the logits.

    Raises:
        InputTypeError: If the model is not a GPT, its head is no plain linear map, or tokens
            are no tensor of int64.
        InputError: If a token is not in the vocabulary, there are no writes, or one is not as
            wide as the stream, of another shape than the first, or not finite.

    Example:
        >>> from mathlm.interpret import stream_writes
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> shares = logit_contributions(model, stream_writes(model, ids))
        >>> torch.allclose(sum(shares.values()), model(ids), atol=1e-4)
        True
    """
    gpt = require_stream(model)
    require_no_variant(gpt.config, "the attribution of logits")
    require_linear("head", gpt.head)
    if tokens is not None:
        require_tokens(tokens, gpt.config.vocab_size)
    require_writes(writes, gpt.config.d_model)
    rows = gpt.head.weight if tokens is None else gpt.head.weight[tokens]
    reads, scale, constant = readout(gpt, torch.stack([*writes.values()]).sum(0), rows)
    shares = {name: (write @ reads.mT) / scale for name, write in writes.items()}
    return shares if constant is None else shares | {"final_norm.beta": constant}


def require_tokens(tokens: Tensor, V: int) -> None:
    """Refuse what are not the ids of some tokens."""
    if not isinstance(tokens, Tensor) or tokens.dtype != torch.int64:
        found = tokens.dtype if isinstance(tokens, Tensor) else type(tokens).__name__
        raise InputTypeError(f"tokens must be a tensor of int64, (N,), got {found}")
    if tokens.ndim != 1 or not len(tokens):
        raise InputError(f"tokens {tuple(tokens.shape)} must be (N,), one or more")
    if not ((tokens >= 0) & (tokens < V)).all():
        raise InputError(f"tokens {tokens.tolist()}: expected tokens from 0 to {V - 1}")


def require_writes(writes: Mapping[str, Tensor], D: int) -> None:
    """Refuse writes that are none, or of which no stream is the sum."""
    if not isinstance(writes, Mapping):
        raise InputTypeError(
            f"writes must be a dict, as it was made, got {type(writes).__name__}"
        )
    if not writes:
        raise InputError("there are 0 writes: expected all that a model makes")
    first = next(iter(writes.values())).shape
    for name, write in writes.items():
        if write.ndim != 3 or write.shape[-1] != D or write.shape != first:
            expected = f"(B, T, {D})" if first[-1] != D else f"{tuple(first)} as the first"
            raise InputError(f"{name} is {tuple(write.shape)}, expected {expected}")
        if not write.isfinite().all():
            raise InputError(f"{name} holds NaN or infinite numbers")


def readout(
    model: GPT, stream: Tensor, rows: Float[Tensor, "N D"]
) -> tuple[Tensor, Tensor, Tensor | None]:
    """What rows of the head read writes by, the scale of the stream, and the share of β."""
    norm: Any = model.final_norm
    reads = norm.gamma * rows
    if isinstance(norm, RMSNorm):
        return reads, (stream.square().mean(-1, keepdim=True) + norm.eps).sqrt(), None
    scale = (stream.var(-1, correction=0, keepdim=True) + norm.eps).sqrt()  # (B, T, 1)
    constant = None if norm.beta is None else (rows @ norm.beta).expand(*scale.shape[:2], -1)
    return reads - reads.mean(-1, keepdim=True), scale, constant  # a write less its mean


def embeddings(
    model: GPT, ids: Tensor, total: Tensor, mask: Tensor | None
) -> dict[str, Tensor]:
    """What stands in front of the first block: of the tokens, and of their positions."""
    token = model.token_embedding(ids)
    if mask is not None and mask.ndim == 2:
        token = token.masked_fill(~mask.unsqueeze(-1), 0.0)  # as the model does with padding
    if model.config.position not in ("learned", "sinusoidal"):
        return {"token_embedding": token}
    return {"token_embedding": token, "position_embedding": total - token}


def block_writes(block: Any, taps: Mapping[str, Tensor], i: int) -> dict[str, Tensor]:
    """What the heads, the feed-forward network and the biases of a block write."""
    W_o, W_out = block.attention.W_o, block.feed_forward.W_out
    heads = taps[f"blocks.{i}.attention.heads"]  # (B, H, T, K)
    maps = W_o.weight.unflatten(1, heads.shape[1::2])  # (D, H, K)
    written = torch.einsum("bhtk,dhk->hbtd", heads, maps)
    writes = {f"attention.heads.{h}": write for h, write in enumerate(written)}
    if W_o.bias is not None:
        writes["attention.W_o.bias"] = W_o.bias.expand_as(written[0])
    hidden = taps[f"blocks.{i}.feed_forward.hidden"]
    writes["feed_forward"] = hidden @ W_out.weight.mT
    if W_out.bias is not None:
        writes["feed_forward.W_out.bias"] = W_out.bias.expand_as(written[0])
    return writes


def require_plain(model: GPT) -> GPT:
    """Refuse a model whose parts are not those that its class says."""
    require_no_variant(model.config, "the attribution of logits")
    require_unsteered(model)
    if added_parts(model):
        raise InputError(f"the model has {explain_parts(model)}, before it is taken apart")
    for name, W in model.named_modules():
        if name.endswith(("W_o", "W_out", "head")):
            require_linear(name, W)
        if name.endswith("feed_forward") and not isinstance(W, FeedForward):
            raise InputTypeError(
                f"{name} is a {type(W).__name__}, of which no single map writes to the "
                "stream: take a model with one feed-forward network in each block"
            )
    return model


def require_linear(name: str, W: nn.Module) -> None:
    """Refuse a map that is no plain linear one."""
    if type(W) is not nn.Linear:
        raise InputTypeError(
            f"{name} is a {type(W).__name__}, whose weights are not at hand: take the "
            "model as it was before its maps were replaced"
        )


def stream_writes(model: nn.Module, ids: Tensor) -> dict[str, Tensor]:
    """What the embedding and every half of every block write to the stream, in order.

    Implements eq-arch-stream::

        x_L = x_0 + Σ_l (a_l + f_l)

    x_0 is the embedding, a_l what the attention and f_l what the feed-forward network of block
    l return. Their sum is the stream behind the last block, up to rounding.

    Args:
        model: Of pre-norm blocks, so that nothing but additions happens to the stream.
        ids: Token ids (B, T).

    Returns:
        2 L + 1 tensors (B, T, D) under the names of their taps.

    Raises:
        InputTypeError: If the model is not a GPT: behind post-norm blocks there is no sum.
        InputError: As :func:`mathlm.interpret.record`.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> writes = stream_writes(model, ids)
        >>> len(writes)  # the embedding and two halves of each block
        5
    """
    if not isinstance(model, GPT):
        raise InputTypeError(
            f"{type(model).__name__} is not a GPT: only in pre-norm blocks is the stream a sum"
        )
    require_unsteered(model)
    taps = record(model, ids)
    halves = ("attention_out", "feed_forward_out")
    names = [f"blocks.{i}.{half}" for i in range(model.config.n_layers) for half in halves]
    return {name: taps[name] for name in ("embedding", *names)}


@torch.no_grad()
def write_logits(
    model: GPT, writes: Mapping[str, Tensor], token: int
) -> dict[str, Float[Tensor, "B T"]]:
    """Share of every write in the logit of one token.

    Implements eq-arch-shares::

        logit = Σ_i w_i · (γ ⊙ u) / s + β · u,   s of the whole stream

    u is the row of the token in the head, s the root mean square (or standard deviation) by
    which the last normalization divides. Given s the logit is linear in the writes, so that the
    shares add up to it. They do not say what it would be without one of them: s would change,
    and so would what the blocks above write.

    Args:
        model: Whose writes they are.
        writes: From :func:`stream_writes`.
        token: Id of the token.

    Returns:
        One number a position under the name of each write, and, of a layer norm with a bias,
        under ``final_norm.beta``.

    Raises:
        InputError: If the token is not in the vocabulary, or as :func:`logit_contributions`.
        InputTypeError: If the token is no whole number, or as :func:`logit_contributions`.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> shares = write_logits(model, stream_writes(model, ids), token=65)
        >>> torch.allclose(sum(shares.values()), model(ids)[..., 65], atol=1e-4)
        True
    """
    if not isinstance(token, int):
        raise InputTypeError(f"token={token!r} must be the id of one token, a whole number")
    shares = logit_contributions(model, writes, torch.tensor([token]))
    return {name: share[..., 0] for name, share in shares.items()}
