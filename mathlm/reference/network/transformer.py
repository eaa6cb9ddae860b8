"""The encoder-decoder, whole: from two rows of ids to a loss, and back to every weight."""

from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from ...errors import InputError, InputTypeError
from ..arrays import Numbers, finite_array, gradient_array
from ..training.loss import label_smoothed_cross_entropy, label_smoothed_cross_entropy_backward
from .dropout_factors import Factors, checked_factors, thinned
from .linear import linear, linear_backward
from .stacks import (
    decoder,
    decoder_backward,
    draw_weights,
    encoder,
    encoder_backward,
    positioned_embedding,
    positioned_embedding_backward,
    require_weights,
    table_names,
)
from .transformer_config import TransformerConfig
from .weights import Gradients, part_of, prefixed


class Transformer:
    """Encoder-decoder in NumPy, with the gradient of every weight by hand.

    Implements eq-transformer-logits::

        memory = encoder(√D E_s[source] + P)
        logits = decoder(√D E_t[target] + P, memory) W_headᵀ

    Position t of the target sees the target up to t, and all of the source.

    Args:
        config: Sizes and choices.
        rng: Random generator of the first weights: Xavier's uniform ones for maps, normal ones
            with standard deviation D^(-1/2) for tables, gains 1 and shifts 0.

    Attributes:
        config: As given.
        weights: float64 arrays by the names of the ``named_parameters`` of
            :class:`mathlm.models.Transformer`: what training replaces.

    Example:
        >>> sizes = dict(vocab_size=10, context=8, d_model=4, n_layers=1, n_heads=2)
        >>> config = TransformerConfig(**sizes)
        >>> model = Transformer(config, np.random.default_rng(0))
        >>> loss, cache = model.loss([[5, 6, 7]], [[1, 7, 6, 5, 2]])
        >>> gradients = model.backward(cache)
        >>> sorted(gradients) == sorted(model.weights)
        True

    References:
        Vaswani et al. (2017), arXiv:1706.03762.
    """

    def __init__(self, config: TransformerConfig, rng: Generator) -> None:
        self.config = config
        self.weights: Gradients = draw_weights(config, rng)

    def logits(
        self,
        source: Numbers,
        target: Numbers,
        source_mask: ndarray | None = None,
        target_mask: ndarray | None = None,
        dropout: Factors | None = None,
    ) -> tuple[ndarray, tuple]:
        """Score of every next token, after each token of the target.

        Args:
            source: Ids of the source (B, S).
            target: Ids that the decoder reads (B, T), the beginning of the target.
            source_mask: bool (B, S), True = real token; None = all are. Padding on either side
                changes nothing at real tokens.
            target_mask: bool (B, T), likewise.
            dropout: Factors by place, as :func:`draw_dropout` draws them; None = no dropout.

        Returns:
            Logits (B, T, V_t), which mean nothing at padding, and the cache that
            :meth:`logits_backward` needs.

        Raises:
            InputError: If ids, masks, factors or weights do not fit the configuration.
            InputTypeError: If ids are no integers, or a mask is not boolean.
        """
        ids = (_ids(source, "source", self.config), _ids(target, "target", self.config))
        _require_batch(*ids)
        real = (_real(source_mask, ids[0], "source"), _real(target_mask, ids[1], "target"))
        factors = checked_factors(dropout, self.config, (ids[0].shape, ids[1].shape))
        require_weights(self.weights, self.config)
        memory, encoder_cache = self._encode(ids[0], real[0], factors)
        y, decoder_cache = self._decode(ids[1], memory, real, factors)
        head = finite_array(self._table("head"), "the weight of the head")
        logits, head_cache = linear(y, head)
        return logits, (logits.shape, factors, encoder_cache, decoder_cache, head_cache)

    def logits_backward(self, dlogits: Numbers, cache: tuple) -> Gradients:
        """Gradients of all weights by name, for any gradient in the logits.

        Implements eq-backward-tied::

            dE[v] = √D Σ dx_s + √D Σ dy_t + Σ dz_t[v] y_t   if one table is embedding and head

        Args:
            dlogits: Gradient of the loss in the logits, of their shape.
            cache: Second value of :meth:`logits`.

        Returns:
            One array a weight, of its shape; of a shared table, the sum over its uses.

        Raises:
            InputError: If dlogits has not the shape of the logits, or an entry is not finite.
        """
        shape, factors, (source, encoder_caches), (target, decoder_caches), head = cache
        dy, dhead = linear_backward(gradient_array(dlogits, shape), head)
        dx, dmemory, d_decoder = decoder_backward(dy, decoder_caches)
        dtarget = positioned_embedding_backward(
            thinned(dx, factors, "target_embedding"), target
        )
        dx, d_encoder = encoder_backward(dmemory, encoder_caches)
        dsource = positioned_embedding_backward(
            thinned(dx, factors, "source_embedding"), source
        )
        gradients = self._sum_tables(dsource, dtarget, dhead)
        gradients |= prefixed(d_encoder, "encoder.") | prefixed(d_decoder, "decoder.")
        return {name: gradients[name] for name in self.weights}

    def loss(
        self,
        source: Numbers,
        target: Numbers,
        source_mask: ndarray | None = None,
        target_mask: ndarray | None = None,
        *,
        label_smoothing: float | int = 0.0,
        dropout: Factors | None = None,
    ) -> tuple[float, tuple]:
        """Mean surprise of each token of the target but the first, given those before it.

        Implements eq-transformer-loss::

            ℓ = 1/N Σ_t ℓ_t(logits(source, y_0 ... y_t), y_{t+1})   over the N real labels

        Args:
            source: Ids of the source (B, S).
            target: Ids of whole sentences (B, T + 1), from the mark of the beginning to the
                mark of the end.
            source_mask: bool (B, S), True = real token.
            target_mask: bool (B, T + 1), likewise.
            label_smoothing: ε of :func:`label_smoothed_cross_entropy`.
            dropout: Factors by place for (B, S) and (B, T).

        Returns:
            ℓ [nats per token], and the cache that :meth:`backward` needs.

        Raises:
            InputError: As :meth:`logits`; also if a target has only one token, or no label is
                real.
        """
        sentence = _ids(target, "target", self.config, more=1)
        if sentence.shape[1] < 2:
            raise InputError(
                f"target has shape {sentence.shape}; a sentence needs at least 2 tokens, one "
                "to read and one to predict"
            )
        real = _real(target_mask, sentence, "target")
        logits, cache = self.logits(
            source, sentence[:, :-1], source_mask, real[:, :-1], dropout
        )
        labelled = real[:, :-1] & real[:, 1:]
        loss, loss_cache = label_smoothed_cross_entropy(
            logits, sentence[:, 1:], label_smoothing, labelled
        )
        return loss, (loss_cache, cache)

    def backward(self, cache: tuple, dloss: float | int = 1.0) -> Gradients:
        """Gradients of :meth:`loss` in all weights, by name.

        Args:
            cache: Second value of :meth:`loss`.
            dloss: Gradient of what follows in ℓ.

        Returns:
            One array a weight, of its shape.
        """
        loss_cache, logits_cache = cache
        dlogits = label_smoothed_cross_entropy_backward(dloss, loss_cache)
        return self.logits_backward(dlogits, logits_cache)

    def _encode(
        self, ids: ndarray, real: ndarray, factors: Factors
    ) -> tuple[ndarray, tuple[tuple, list]]:
        x, cache = positioned_embedding(ids, self._table("source_embedding"), real)
        x = thinned(x, factors, "source_embedding")
        weights, rest = part_of(self.weights, "encoder."), part_of(factors, "encoder.")
        memory, caches = encoder(x, weights, self.config, real[:, None, None], rest)
        return memory, (cache, caches)

    def _decode(
        self, ids: ndarray, memory: ndarray, real: tuple[ndarray, ndarray], factors: Factors
    ) -> tuple[ndarray, tuple[tuple, list]]:
        x, cache = positioned_embedding(ids, self._table("target_embedding"), real[1])
        x = thinned(x, factors, "target_embedding")
        weights, rest = part_of(self.weights, "decoder."), part_of(factors, "decoder.")
        causal = np.tril(np.ones((ids.shape[1], ids.shape[1]), dtype=bool))
        masks = (causal & real[1][:, None, None], real[0][:, None, None])  # (B, 1, T, S)
        y, caches = decoder(x, memory, weights, self.config, *masks, rest)
        return y, (cache, caches)

    def _table(self, use: str) -> ndarray:
        return self.weights[table_names(self.config)[use]]

    def _sum_tables(self, dsource: ndarray, dtarget: ndarray, dhead: ndarray) -> Gradients:
        """A table that is used twice gathers both gradients."""
        gradients: Gradients = {}
        names = table_names(self.config).values()
        for name, gradient in zip(names, (dsource, dtarget, dhead), strict=True):
            gradients[name] = gradients.get(name, 0.0) + gradient
        return gradients


def _ids(ids: Any, name: str, config: TransformerConfig, more: int = 0) -> ndarray:
    found = np.asarray(ids)
    if found.ndim != 2 or 0 in found.shape:
        raise InputError(
            f"{name} has shape {found.shape}, expected (rows, tokens) with no axis of length "
            "0: write one sentence as [ids]"
        )
    if found.shape[1] > config.context + more:
        raise InputError(
            f"{name} has {found.shape[1]} tokens a row, more than the {config.context + more} "
            f"that context={config.context} allows"
        )
    return found


def _require_batch(source: ndarray, target: ndarray) -> None:
    if len(source) != len(target):
        raise InputError(
            f"source has {len(source)} rows and target {len(target)}; row i of one is the "
            "translation of row i of the other"
        )


def _real(mask: Any, ids: ndarray, name: str) -> ndarray:
    """Which tokens are real: all of them without a mask."""
    found = np.ones(ids.shape, dtype=bool) if mask is None else np.asarray(mask)
    if found.dtype != np.bool_:
        raise InputTypeError(
            f"{name}_mask has dtype {found.dtype}; give booleans, True = real token"
        )
    if found.shape != ids.shape:
        raise InputError(
            f"{name}_mask has shape {found.shape}, expected {ids.shape}, that of {name}"
        )
    return found


__all__ = ["Transformer"]
