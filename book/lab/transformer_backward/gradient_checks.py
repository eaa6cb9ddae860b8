"""Six checks of the encoder-decoder by hand: two witnesses, and four things that must hold."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy import ndarray

from mathlm.reference import Transformer, TransformerConfig, draw_dropout

from .transformer_witness import loss_and_gradients

Gradients = dict[str, ndarray]
SIZES: dict[str, Any] = {"vocab_size": 7, "context": 12, "d_model": 8, "d_ff": 12}
SIZES |= {"n_layers": 2, "n_heads": 2, "tie_embeddings": "all"}
DROPS = ("embedding", "encoder.0.feed_forward", "decoder.1.feed_forward")


@dataclass(frozen=True)
class Case:
    """A model, a padded batch, and how its loss is taken."""

    model: Transformer
    sentences: tuple[ndarray, ndarray, ndarray, ndarray]
    options: dict

    def loss(self) -> float:
        """Loss in the weights that the model has now."""
        return self.model.loss(*self.sentences, **self.options)[0]

    def gradients(self) -> Gradients:
        """Gradients of it by hand."""
        return self.model.backward(self.model.loss(*self.sentences, **self.options)[1])


@cache
def make_case() -> Case:
    """Two blocks each, one table for all, label smoothing, some dropout, padding."""
    rng = np.random.default_rng(3)
    model = Transformer(TransformerConfig(**SIZES), rng)
    model.weights = {n: w + 0.3 * rng.normal(size=w.shape) for n, w in model.weights.items()}
    source, target = rng.integers(0, 7, (3, 5)), rng.integers(0, 7, (3, 6))
    seen, real = (np.arange(n) < np.array([[n], [n - 1], [n - 3]]) for n in (5, 6))
    factors = draw_dropout(model.config, ((3, 5), (3, 5)), 0.3, rng)
    some = {place: f for place, f in factors.items() if place.endswith(DROPS)}
    return Case(model, (source, target, seen, real), {"label_smoothing": 0.1, "dropout": some})


@cache
def witness() -> tuple[float, Gradients]:
    """Loss and gradients that torch finds."""
    case = make_case()
    config = asdict(case.model.config)
    return loss_and_gradients(config, case.model.weights, case.sentences, **case.options)


def same(ours: Gradients, theirs: Gradients, rtol: float = 1e-10) -> bool:
    """Whether all entries agree, relative to themselves or to the largest of all."""
    floor = rtol * 1e-2 * max(np.abs(g).max() for g in theirs.values())
    return all(np.allclose(ours[n], g, rtol=rtol, atol=floor) for n, g in theirs.items())


def _differences(h: float = 1e-6) -> bool:
    """Along one random direction of all weights at once."""
    case, rng = make_case(), np.random.default_rng(0)
    weights, gradients = case.model.weights, case.gradients()
    direction, losses = {n: rng.normal(size=w.shape) for n, w in weights.items()}, []
    for shift in (h, -h):
        case.model.weights = {n: w + shift * direction[n] for n, w in weights.items()}
        losses.append(case.loss())
    case.model.weights = weights
    slope = sum((gradients[n] * d).sum() for n, d in direction.items())
    return bool(np.isclose(slope, (losses[0] - losses[1]) / (2 * h), rtol=1e-6, atol=0))


def _padding() -> bool:
    """Two more columns of padding on the left, with a word at each."""
    case, (*ids, seen, real) = make_case(), make_case().sentences
    more = [np.pad(a, ((0, 0), (2, 0)), constant_values=3) for a in ids]
    masks = [np.pad(a, ((0, 0), (2, 0))) for a in (seen, real)]
    (one, short), (two, long) = (case.model.loss(*s) for s in (case.sentences, (*more, *masks)))
    padded, plain = (case.model.backward(c) for c in (long, short))
    return bool(np.isclose(one, two, rtol=1e-10, atol=0)) and same(padded, plain)


def _future() -> bool:
    case, (source, target, *_) = make_case(), make_case().sentences
    changed = np.where(np.arange(6) < 3, target, (target + 1) % 7)
    one, two = (case.model.logits(source, ids)[0][:, :3] for ids in (target, changed))
    return bool(np.array_equal(one, two))


def _rows() -> bool:
    """Gradients of the batch are the mean of those of its rows, each weighted by its labels."""
    case, sentences = make_case(), make_case().sentences
    together, total = case.model.backward(case.model.loss(*sentences)[1]), Gradients()
    labels = (sentences[3][:, 1:] & sentences[3][:, :-1]).sum(1)
    for row, share in enumerate(labels / labels.sum()):
        loss_cache = case.model.loss(*(a[[row]] for a in sentences))[1]
        alone = case.model.backward(loss_cache, float(share))
        total = {n: total.get(n, 0) + g for n, g in alone.items()}
    return same(together, total)


CHECKS: dict[str, Callable[[], bool]] = {
    "loss = torch's": lambda: bool(abs(make_case().loss() / witness()[0] - 1) < 1e-12),
    "gradients = autograd's": lambda: same(make_case().gradients(), witness()[1]),
    "central differences": _differences,
    "padding moves nothing": _padding,
    "future moves nothing": _future,
    "rows add up": _rows,
}
