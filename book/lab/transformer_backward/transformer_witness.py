"""What torch's autograd says of an encoder-decoder with given weights: the other witness."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from numpy import ndarray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mathlm.models import Transformer, TransformerConfig

Arrays = Mapping[str, ndarray]


class Given(nn.Module):
    """In the place of a dropout: multiplies by the next of the factors given."""

    def __init__(self, factors: Iterator[Tensor]) -> None:
        super().__init__()
        self.factors = factors

    def forward(self, x: Tensor) -> Tensor:
        """The product of x and its factors."""
        return x * next(self.factors)


def loss_and_gradients(
    config: Mapping[str, Any],
    weights: Arrays,
    sentences: tuple[ndarray, ndarray, ndarray, ndarray],
    label_smoothing: float = 0.0,
    dropout: Arrays | None = None,
) -> tuple[float, dict[str, ndarray]]:
    """Loss of :class:`mathlm.models.Transformer` in float64, and its gradients by name.

    Args:
        config: Fields of the configuration.
        weights: Arrays by the names of the ``named_parameters``.
        sentences: Ids of the source (B, S) and of whole targets (B, T + 1), and which of them
            are real.
        label_smoothing: ε.
        dropout: Factors by place, those of ``mathlm.reference.draw_dropout``; a place without
            any keeps all.
    """
    with float64():
        model = Transformer(TransformerConfig(**config))
    state = {name: torch.tensor(w) for name, w in weights.items()}
    model.load_state_dict(state, strict=False)
    if {name for name, _ in model.named_parameters()} != set(state):
        raise ValueError(f"weights {sorted(state)} are not those of the model")
    _give(model, dropout or {})
    source, target, seen, real = (torch.tensor(a) for a in sentences)
    masks = {"source_mask": seen, "target_mask": real[:, :-1]}
    logits = model(source, target[:, :-1], **masks)
    counted = real[:, :-1] & real[:, 1:]
    labels = target[:, 1:][counted]
    loss = cross_entropy(logits[counted], labels, label_smoothing=label_smoothing)
    names, parameters = zip(*model.named_parameters(), strict=True)
    gradients = torch.autograd.grad(loss, parameters)
    return loss.item(), {n: g.numpy() for n, g in zip(names, gradients, strict=True)}


@contextmanager
def float64() -> Iterator[None]:
    """What torch makes is float64, as long as the block runs: tables of positions too."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _give(model: Transformer, dropout: Arrays) -> None:
    """Put the factors where the model drops, in the order in which it comes to them."""
    places = ["source_embedding"]
    for i in range(len(model.encoder)):
        places += [f"encoder.{i}.{half}" for half in ("attention", "feed_forward")]
    places += ["target_embedding"]
    for i in range(len(model.decoder)):
        thirds = ("attention", "cross_attention", "feed_forward")
        places += [f"decoder.{i}.{third}" for third in thirds]
    given = Given(torch.tensor(dropout.get(place, 1.0)) for place in places)
    for module in list(model.modules()):
        if isinstance(getattr(module, "dropout", None), nn.Dropout):
            module.dropout = given
