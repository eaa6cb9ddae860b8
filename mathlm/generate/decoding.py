"""Text from a model, token by token."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..functional import require_token_ids
from ..models import GPT, Recurrent
from ..shapes import Float, Int
from .constraint import Constraint
from .kv_reader import IncrementalReader
from .sampling import Sampler, draw, require_logits, sampler_of
from .stopping import Rows, Step, require_constraint, stop_sequences


def require_integer(name: str, value: int) -> None:
    """Refuse a number that is not whole."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputTypeError(f"{name}={value!r} must be an integer")


def require_seed(seed: int | None) -> None:
    """Refuse a seed that NumPy would not take."""
    if seed is None:
        return
    require_integer("seed", seed)
    if seed < 0:
        raise InputError(f"seed={seed} must be 0 or more, or None for fresh random numbers")


def require_prompt(
    model: GPT | Recurrent, ids: Tensor, max_new_tokens: int, mask: Tensor | None
) -> None:
    """Refuse a prompt that cannot be continued by so many tokens."""
    if not isinstance(model, GPT | Recurrent):
        raise InputTypeError(
            f"model is a {type(model).__name__}: give a GPT or a Recurrent; an encoder-decoder "
            "goes to translate"
        )
    if not isinstance(ids, Tensor):
        raise InputTypeError(
            f"ids is a {type(ids).__name__}: give an int64 tensor (batch, tokens), such as "
            "torch.tensor([[1, 2, 3]])"
        )
    require_device("ids are", ids, next(model.parameters()).device)
    if ids.ndim != 2 or ids.numel() == 0:
        raise InputError(
            f"prompt has shape {tuple(ids.shape)}: give (batch, tokens), 1 or more"
        )
    require_token_ids(ids, model.config.vocab_size)
    require_integer("max_new_tokens", max_new_tokens)
    if max_new_tokens < 0:
        raise InputError(f"max_new_tokens={max_new_tokens} must not be negative")
    total, context = ids.shape[1] + max_new_tokens, model.config.context
    if context is not None and total > context:
        raise InputError(
            f"{ids.shape[1]} prompt tokens and {max_new_tokens} new ones make a sequence of "
            f"{total} tokens, longer than the context {context}"
        )
    if mask is None:
        return
    require_mask(mask, ids)
    if not mask.any(1).all():
        row = int((~mask.any(1)).nonzero()[0])
        raise InputError(f"row {row} of the prompt has no real token")


def require_mask(mask: Tensor, ids: Tensor) -> None:
    """Refuse what does not say of each token whether it is real."""
    if not isinstance(mask, Tensor):
        raise InputTypeError(
            f"mask is a {type(mask).__name__}: give a bool tensor of the shape of ids "
            f"{tuple(ids.shape)}"
        )
    if mask.shape != ids.shape:
        raise InputError(
            f"mask {tuple(mask.shape)} must have the shape of ids {tuple(ids.shape)}"
        )
    if mask.dtype != torch.bool:
        found = str(mask.dtype).removeprefix("torch.")
        raise InputTypeError(f"mask must be bool, True = real token, got {found}")


def require_device(which: str, ids: Tensor, device: torch.device) -> None:
    """Refuse ids that are elsewhere than the model."""
    if ids.device != device:
        raise InputError(f"{which} on {ids.device}, the model is on {device}: move one of them")


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode inside, and each module's own mode again afterwards."""
    with without_training(list(model.modules())):
        yield


@contextmanager
def without_training(modules: list[torch.nn.Module]) -> Iterator[None]:
    """Evaluation mode inside, for these modules."""
    training = [module for module in modules if module.training]
    write = object.__setattr__  # a module's own is slow, and this runs for every token
    for module in training:
        write(module, "training", False)
    try:
        yield
    finally:
        for module in training:
            write(module, "training", True)


def generate(
    model: GPT | Recurrent,
    ids: Tensor,
    max_new_tokens: int,
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int | None = None,
    seed: int | None = None,
    cache: bool = True,
    *,
    sampler: Sampler | None = None,
    mask: Tensor | None = None,
    stop: Sequence[Sequence[int] | int] | None = None,
    constraint: Constraint | None = None,
    pad: int | None = None,
    fixed: bool = False,
    **options: Any,
) -> Tensor:
    """Continue each row of ``ids``, each token drawn given all before it.

    Implements eq-gen-text::

        y_t ~ p(· | prompt, y_1 … y_{t-1})   for t = 1 … max_new_tokens

    A constraint comes before the rules of the draw. Each row has its own stream of random
    numbers, made from the seed and the row's number: what a row draws does not depend on how
    many rows there are. The model is in evaluation mode meanwhile.

    Args:
        model: The language model.
        ids: Prompts (B, T), int64.
        max_new_tokens: Tokens to add to each row, at most.
        temperature: Divides the logits; 0 takes the likeliest token.
        top_k: Draw from the k likeliest tokens; None = from all.
        top_p: Draw from the fewest tokens of this joint probability (nucleus sampling); None =
            from all.
        seed: Of the random numbers, 0 or more; None = fresh ones.
        cache: Whether keys and values, or the state of a recurrent model, are kept, rather than
            computed again for each token.
        sampler: All of the draw in one object, in place of ``temperature``, ``top_k``,
            ``top_p`` and the options.
        mask: True where a prompt token is real, (B, T); padding may be on either side. New
            tokens follow at the end.
        stop: Token sequences or single ids that end a row and are its last tokens; they count
            in the new text only.
        constraint: What a row may write. It ends where its text is complete, and completes it
            within ``max_new_tokens``.
        pad: Fills rows that have ended; None = each repeats its last token.
        fixed: Whether steps have shapes that do not change, with a cache: on CUDA they are
            recorded as a graph, which pays for long texts. The tokens are the same.
        options: Other fields of a :class:`Sampler` by name, such as ``min_p=0.1``.

    Returns:
        Ids with the prompt in front, (B, T + n); n is ``max_new_tokens``, or less where every
        row has ended before.

    Raises:
        InputError: If the prompt is empty, prompt and new tokens are together longer than the
            context (nothing slides out of it), an option is out of range, a stop sequence is
            empty, outside the vocabulary or ruled out by the constraint, or the constraint
            needs more tokens.
        InputTypeError: If a dtype or a kind of argument is wrong, or there is a sampler and
            something that it is in place of.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> from mathlm.text import Bytes
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, tokenizer = GPT(GPTConfig(**sizes)), Bytes()
        >>> ids, mask = map(torch.from_numpy, tokenizer(["To be", "O"], padding="left"))
        >>> written = generate(model, ids, 8, top_p=0.9, seed=0, mask=mask)
        >>> written.shape, torch.equal(written[:, :5], ids)
        (torch.Size([2, 13]), True)
    """
    plain = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    if sampler is not None:
        plain = {name: x for name, x in plain.items() if x != getattr(Sampler, name)}
    steps = stream(
        model,
        ids,
        max_new_tokens,
        sampler_of(sampler, plain | options),
        seed=seed,
        cache=cache,
        mask=mask,
        stop=stop,
        constraint=constraint,
        pad=pad,
        fixed=fixed,
    )
    return torch.cat([ids, *(step.tokens.unsqueeze(1) for step in steps)], 1)


def generate_ragged(
    model: GPT | Recurrent,
    prompts: Sequence[Tensor],
    max_new_tokens: int,
    sampler: Sampler | float | int | None = None,
    **options: Any,
) -> list[Tensor]:
    """Continue prompts of different lengths together.

    Each is continued as it would be alone; padding in front makes them equally long meanwhile.

    Args:
        model: The language model.
        prompts: Ids (T,) of each, int64, at least one.
        max_new_tokens: Tokens to add to each, at most. The longest prompt and they must fit
            into the context.
        sampler: How a token is drawn; see :func:`stream`.
        options: The others of :func:`stream`, but for the mask.

    Returns:
        Ids of each prompt and its new text, up to where it stopped.

    Raises:
        InputError: If there are no prompts, one is empty, or as in :func:`generate`.
        InputTypeError: If a prompt is not int64.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> prompts = [torch.tensor([84, 111]), torch.tensor([79])]
        >>> texts = generate_ragged(GPT(GPTConfig(**sizes)), prompts, 8, seed=0)
        >>> [len(text) for text in texts]
        [10, 9]
    """
    if "mask" in options:
        raise InputTypeError(
            "generate_ragged makes the mask itself: give prompts without padding"
        )
    ids, real = _pad_left(prompts)
    mask = None if real.all() else real
    steps = stream(model, ids, max_new_tokens, sampler, mask=mask, **options)
    written: list[list[int]] = [[] for _ in prompts]
    for step in steps:
        for row, token, live in zip(written, step.tokens.tolist(), step.live, strict=True):
            row += [token] * live
    return [torch.cat((p, p.new_tensor(y))) for p, y in zip(prompts, written, strict=True)]


def stream(
    model: GPT | Recurrent,
    ids: Tensor,
    max_new_tokens: int,
    sampler: Sampler | float | int | None = None,
    *,
    seed: int | None = None,
    cache: bool = True,
    mask: Tensor | None = None,
    stop: Sequence[Sequence[int] | int] | None = None,
    constraint: Constraint | None = None,
    pad: int | None = None,
    fixed: bool = False,
    first_row: int = 0,
    **options: Any,
) -> Iterator[Step]:
    """The steps of :func:`generate`, each as soon as it is made.

    Arguments are checked before the first step. The model is in evaluation mode while a step is
    made, and in its own mode between steps.

    Args:
        model: The language model.
        ids: Prompts (B, T), int64.
        max_new_tokens: Tokens to add to each row, at most.
        sampler: How a token is drawn: a :class:`Sampler`; or a temperature, or None, and other
            fields of a sampler by name among the options.
        seed: See :func:`generate`, as for the others up to ``fixed``.
        cache: Whether keys and values are kept.
        mask: True where a prompt token is real, (B, T).
        stop: Token sequences or single ids that end a row.
        constraint: What a row may write.
        pad: Fills rows that have ended.
        fixed: Whether steps have shapes that do not change.
        first_row: Number of the first row, of which its random numbers are made: a part of a
            batch draws what it would have drawn within the whole.
        options: Fields of a sampler, such as ``top_k=40``.

    Returns:
        An iterator over the steps; the last says in ``finish`` why each row has ended.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> steps = stream(GPT(GPTConfig(**sizes)), torch.tensor([[84, 111]]), 3, seed=0)
        >>> [step.tokens.shape for step in steps]
        [torch.Size([1]), torch.Size([1]), torch.Size([1])]
    """
    sampler = sampler_of(sampler, options)
    require_prompt(model, ids, max_new_tokens, mask)
    require_seed(seed)
    require_integer("first_row", first_row)
    if first_row < 0:
        raise InputError(f"first_row={first_row} must not be negative")
    V = model.config.vocab_size
    if pad is not None:
        require_integer("pad", pad)
        if not 0 <= pad < V:
            raise InputError(f"pad={pad} is outside 0..{V - 1}")
    require_constraint(constraint, max_new_tokens)
    rows = Rows(len(ids), max_new_tokens, stop_sequences(stop, V, constraint), constraint)
    reader_options = {"cache": cache, "fixed": fixed}
    numbers = [
        np.random.default_rng(None if seed is None else (seed, first_row + i))
        for i in range(len(ids))
    ]
    return _steps(model, ids, mask, sampler, rows, numbers, pad, reader_options)


@torch.no_grad()
def _steps(
    model: GPT | Recurrent,
    ids: Tensor,
    mask: Tensor | None,
    sampler: Sampler,
    rows: Rows,
    numbers: list[np.random.Generator],
    pad: int | None,
    reader_options: dict[str, bool],
) -> Iterator[Step]:
    """Read, draw, and tell, until every row has ended."""
    prompt = _without_padding(ids, mask)
    written: list[Tensor] = []
    modules = list(model.modules())
    with without_training(modules):
        reader = IncrementalReader(model, len(ids), ids.shape[1] + rows.room, **reader_options)
    while None in rows.finish and rows.room:
        new = written[-1].unsqueeze(1) if written else ids
        with without_training(modules):
            logits = reader.read(new, None if written else mask)
        tokens, p = _next(logits, sampler, rows, numbers, prompt, written)
        live = tuple(end is None for end in rows.finish)
        tokens = _fill(tokens, rows.finish, written, pad)
        rows.push(tokens)
        written.append(tokens)
        yield Step(tokens.clone(), logits, p, live, rows.finish)


def _next(
    logits: Float[Tensor, "B V"],
    sampler: Sampler,
    rows: Rows,
    numbers: list[np.random.Generator],
    prompt: Int[Tensor, "B T"],
    written: list[Tensor],
) -> tuple[Int[Tensor, " B"], Float[Tensor, "B V"] | None]:
    """The next token of each row, and the probabilities that it was drawn with."""
    allowed = rows.allowed(logits.shape[-1])
    if allowed is not None:
        require_logits(logits)
        logits = logits.masked_fill(~allowed.to(logits.device), -torch.inf)
    so_far = None
    if sampler.penalizes:
        so_far = torch.stack(written, 1) if written else prompt[:, :0]
    if sampler.temperature == 0:
        return _likeliest(sampler.penalized(logits, prompt, so_far)), None
    p = sampler.probabilities(logits, prompt, so_far)
    u = torch.tensor([n.random(dtype=np.float32) for n in numbers], device=p.device)
    return draw(p, u), p


def _likeliest(logits: Float[Tensor, "B V"]) -> Int[Tensor, " B"]:
    """The largest logit of each row; of equal ones the lowest id."""
    largest, tokens = logits.max(-1)
    if not torch.isfinite(largest).all():
        require_logits(logits)
    return tokens


def _fill(
    tokens: Int[Tensor, " B"],
    finish: Sequence[str | None],
    written: list[Tensor],
    pad: int | None,
) -> Int[Tensor, " B"]:
    """The tokens, but the filling where a row had ended."""
    if not any(finish):
        return tokens
    ended = torch.tensor([end is not None for end in finish], device=tokens.device)
    return torch.where(ended, written[-1] if pad is None else pad, tokens)


def _without_padding(ids: Tensor, mask: Tensor | None) -> Tensor:
    """Each row's real tokens, one of them in place of padding."""
    if mask is None:
        return ids
    return torch.where(mask, ids, ids.gather(1, mask.int().argmax(1, keepdim=True)))


def _pad_left(prompts: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Ids (B, T) with padding in front, and where they are real."""
    if isinstance(prompts, Tensor) or not len(prompts):
        found = "a tensor" if isinstance(prompts, Tensor) else "none"
        raise InputError(f"prompts: got {found}, expected a list of one tensor (T,) or more")
    for i, p in enumerate(prompts):
        if not isinstance(p, Tensor) or p.dtype != torch.int64:
            found = str(p.dtype) if isinstance(p, Tensor) else f"a {type(p).__name__}"
            raise InputTypeError(f"prompt {i} is {found}: give an int64 tensor (tokens,)")
        if p.ndim != 1 or not len(p):
            raise InputError(
                f"prompt {i} has shape {tuple(p.shape)}: give (tokens,), 1 or more"
            )
    T = max(map(len, prompts))
    ids = torch.stack([torch.nn.functional.pad(p, (T - len(p), 0)) for p in prompts])
    real = torch.arange(T - 1, -1, -1, device=ids.device)
    return ids, real < torch.tensor([[len(p)] for p in prompts], device=ids.device)
