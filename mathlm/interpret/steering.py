"""A vector added to the stream while a model reads and writes.

References:
    Turner et al. (2023), Steering language models with activation engineering,
    arXiv:2308.10248.
    Rimsky et al. (2024), Steering Llama 2 via contrastive activation addition,
    arXiv:2312.06681.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..layers import KeyValueCache, Taps, tap
from ..models import GPT
from ..shapes import Float
from .recording import Watched, record

ENDS = ("resid_pre", "attention_out", "resid_mid", "feed_forward_out", "resid_post")
OF_SOURCE = ("config", "virtual")  # what a prefix or a prompt changes in a model


class Steered(GPT):
    """A GPT that adds a vector to what passes a tap, at every position.

    Implements eq-features-steer::

        value ← value + vector,   at each of the taps

    It has the weights of the model, not copies of them, and is a GPT: everything that reads or
    writes with one takes it, :func:`mathlm.generate.generate` included. The model itself stays
    as it is; what is added to either later, such as a prefix, is read by both. Zeros give, bit
    for bit, what the model gives when it fills taps.

    Args:
        model: Whose weights these are.
        vectors: What to add under the name of each tap, (D,): ``embedding``, or
            ``blocks.i.`` with ``resid_pre``, ``attention_out``, ``resid_mid``,
            ``feed_forward_out`` or ``resid_post``.

    Raises:
        InputError: If there is no such tap, or a vector has another width or is not finite.
        InputTypeError: If the model is no GPT, vectors have no names, or one is no tensor.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> still = Steered(model, {"blocks.0.resid_post": torch.zeros(16)})
        >>> torch.allclose(still(ids), model(ids))
        True
    """

    def __init__(self, model: GPT, vectors: Mapping[str, Tensor]) -> None:
        if not isinstance(model, GPT):
            raise InputTypeError(f"{type(model).__name__} is not a GPT")
        if not isinstance(vectors, Mapping):
            found = type(vectors).__name__
            raise InputTypeError(f"vectors must be a dict from taps to vectors, got {found}")
        nn.Module.__init__(self)
        same = {name: value for name, value in vars(model).items() if name not in OF_SOURCE}
        self.__dict__.update(same)  # the same modules and settings
        self.source = (model,)  # in a tuple, so that it is no module of this one
        self.vectors = {name: require_vector(model, name, v) for name, v in vectors.items()}

    def __getattr__(self, name: str) -> Any:
        """What only the model has; every other attribute is found before this is asked."""
        return getattr(self.source[0], name) if name in OF_SOURCE else super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Give the model what it alone has, so that a prefix is read by both."""
        if name in OF_SOURCE:
            setattr(self.source[0], name, value)
        else:
            super().__setattr__(name, value)

    def hidden(
        self,
        ids: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        cache: KeyValueCache | None = None,
        prefix: Tensor | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B T D"]:
        """What the head reads; ``taps`` receive the values with the vectors added."""

        def watch(name: str, value: Tensor) -> Tensor:
            vector = self.vectors.get(name)
            return tap(taps, name, value if vector is None else value + vector.to(value))

        return self.source[0].hidden(ids, mask, positions, cache, prefix, Watched(watch))


def require_unsteered(model: GPT) -> None:
    """Refuse a model to whose stream something is added that no part of it writes."""
    if isinstance(model, Steered):
        raise InputError(
            f"the model is steered at {', '.join(model.vectors)}, which no part of it writes: "
            "take it apart without, as model.source[0]"
        )


@torch.no_grad()
def steering_vector(
    model: GPT,
    wanted: Sequence[Tensor],
    unwanted: Sequence[Tensor],
    at: str,
    *,
    skip: int = 0,
) -> Float[Tensor, " D"]:
    """From what a model holds on average while it reads some texts to what it holds in others.

    Implements eq-features-steer::

        vector = mean over wanted texts of a - mean over unwanted texts of a
        a = mean over the positions ≥ skip of a text of what passes the tap

    Every text counts the same, whatever its length.

    Args:
        model: The model.
        wanted: Token ids (T,) of each text whose sound is wanted.
        unwanted: The same of texts to lead away from.
        at: Name of the tap, as in :class:`Steered`.
        skip: Positions at the start of each text that are left out, such as that of a token
            with which every text begins.

    Returns:
        The difference of the means, of its natural length.

    Raises:
        InputError: If there are no texts, one has no more than ``skip`` tokens, or there is no
            such tap.
        InputTypeError: If the model is no GPT, a text is no tensor, or ``skip`` is no whole
            number.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> wanted, unwanted = [torch.tensor([72, 105])], [torch.tensor([66, 111])]
        >>> at = "blocks.0.resid_post"
        >>> steering_vector(GPT(GPTConfig(**sizes)), wanted, unwanted, at).shape
        torch.Size([16])
    """
    means = []
    for name, texts in (("wanted", [*wanted]), ("unwanted", [*unwanted])):
        if not texts:
            raise InputError(f"{name} holds no text: give one at least")
        means.append(torch.stack([mean_of_text(model, ids, at, skip) for ids in texts]).mean(0))
    return means[0] - means[1]


def mean_of_text(model: GPT, ids: Tensor, at: str, skip: int) -> Float[Tensor, " D"]:
    """What passes a tap while a text is read, averaged over its positions."""
    require_tap(model, at)
    if not isinstance(ids, Tensor) or not isinstance(skip, int):
        raise InputTypeError(
            f"a text is a {type(ids).__name__} and skip={skip!r}: expected a tensor (T,) of "
            "token ids, and a whole number"
        )
    if ids.ndim != 1 or not 0 <= skip < len(ids):
        raise InputError(
            f"a text of shape {tuple(ids.shape)} must be (T,) with more than skip={skip} tokens"
        )
    return record(model, ids.unsqueeze(0))[at][0, skip:].mean(0)


def require_tap(model: GPT, name: str) -> None:
    """Refuse a name under which no vector of the stream passes; list those that are near."""
    if not isinstance(model, GPT):
        raise InputTypeError(f"{type(model).__name__} is not a GPT")
    L = model.config.n_layers
    names = ["embedding", *(f"blocks.{i}.{end}" for i in range(L) for end in ENDS)]
    if name not in names:
        near = ", ".join(get_close_matches(name, names, 3, 0.0))
        raise InputError(f"nothing of width D passes a tap {name!r}; near it are {near}")


def require_vector(model: GPT, name: str, vector: Any) -> Tensor:
    """A copy of a vector; what cannot be added at a tap is refused."""
    require_tap(model, name)
    if not isinstance(vector, Tensor):
        raise InputTypeError(f"the vector for {name!r} is a {type(vector).__name__}")
    if vector.shape != (model.config.d_model,):
        D = model.config.d_model
        raise InputError(f"the vector for {name!r} is {tuple(vector.shape)}, expected ({D},)")
    if not vector.isfinite().all():
        raise InputError(f"the vector for {name!r} holds NaN or infinity")
    return vector.clone()
