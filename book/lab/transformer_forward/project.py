"""Grader of the project of this page: an encoder-decoder that keeps keys and values."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by
from mathlm.reference import Transformer, TransformerConfig, sinusoidal_table

Function = Callable[..., Any]
Mistakes = dict[str, Callable[[], Any]]  # sentence -> what this mistake gives
Made = dict[str, Any]  # how a pass is made otherwise: name of a switch -> its value
CONFIG = TransformerConfig(
    vocab_size=13, target_vocab_size=11, context=12, d_model=12, n_layers=2, n_heads=3
)
H, K = 3, 4  # heads, and the width of one


class Yours(NamedTuple):
    """The four functions of the project."""

    encode: Function
    decode: Function
    start: Function
    step: Function


ON_SHAPES = advice_on_shapes(
    "Write the shape of each factor beside it: heads stand on an axis of their own, "
    "(B, H, T, K), and `.mT` exchanges the last two axes."
)


def grade(encode: Function, decode: Function, start: Function, step: Function) -> Report:
    """Test an encoder-decoder with weights by name, and its step by step form.

    Memories and logits are compared with those of ``reference.Transformer`` on random weights,
    and with what common mistakes give, so that the report can name the mistake. Tests are put
    off while one that they build on fails.

    Args:
        encode: ``encode(weights, config, source, real)`` returns the memory (B, S, D).
        decode: ``decode(weights, config, target, memory, real)`` returns logits (B, T, V).
        start: ``start(weights, config, memory, real)`` returns a cache.
        step: ``step(weights, config, token, cache)`` returns logits (B, V) and a new cache.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, Yours(encode, decode, start, step), advice=_advice)


def _advice(error: Exception) -> str:
    """What usually raises such an error here."""
    if isinstance(error, KeyError):
        return "The names of the weights are those of `reference.Transformer(...).weights`."
    return ON_SHAPES(error)


# --- a forward pass with switches: what common mistakes give ----------------------------------


def _norm(x: ndarray, w: Mapping, name: str, o: Made) -> ndarray:
    scale = np.sqrt(x.var(-1, keepdims=True) + CONFIG.norm_eps)
    y = (x - x.mean(-1, keepdims=True)) / scale
    return y * w[f"{name}.gamma"] + w[f"{name}.beta"] if o.get("gain", True) else y


def _map(x: ndarray, w: Mapping, name: str, o: Made) -> ndarray:
    W = w[f"{name}.weight"]
    if o.get("transposed") and W.shape[0] == W.shape[1]:
        W = W.T
    return x @ W.T + (w[f"{name}.bias"] if o.get("bias", True) else 0)


def _split(x: ndarray, o: Made) -> ndarray:
    B, T, _D = x.shape
    if o.get("heads") == "one":
        return x[:, None]
    if o.get("heads") == "strided":
        return x.reshape(B, T, K, H).transpose(0, 3, 1, 2)
    if o.get("heads") == "tokens":
        return x.reshape(B, H, T, K)
    return x.reshape(B, T, H, K).swapaxes(1, 2)


def _attention(
    x: ndarray, m: ndarray, mask: ndarray, w: Mapping, name: str, o: Made
) -> ndarray:
    q, k, v = (
        _split(_map(a, w, f"{name}.{n}", o), o) for a, n in ((x, "W_q"), (m, "W_k"), (m, "W_v"))
    )
    return _mixed(q, k, v, mask, w, name, o)


def _mixed(
    q: ndarray, k: ndarray, v: ndarray, mask: ndarray, w: Mapping, name: str, o: Made
) -> ndarray:
    scores = q @ k.mT / o.get("divide", np.sqrt(q.shape[-1]))
    seen = mask | (o.get("masked") == "late")
    top = np.where(seen, scores, -1e300).max(-1, keepdims=True)
    powers = np.where(seen, np.exp(np.where(seen, scores - top, 0)), 0)
    total = powers.sum(-1, keepdims=True)
    y = np.where(mask, powers, 0) / np.where(total == 0, 1, total) @ v
    moved = y if o.get("join") else y.swapaxes(1, 2)
    joined = moved.reshape(len(y), y.shape[2], -1)
    return _map(joined, w, f"{name}.W_o", o) if o.get("W_o", True) else joined


def _feed_forward(x: ndarray, w: Mapping, name: str, o: Made) -> ndarray:
    wide = _map(x, w, f"{name}.W_in", o)
    return _map(np.maximum(wide, 0) if o.get("relu", True) else wide, w, f"{name}.W_out", o)


def _embed(w: Mapping, table: str, ids: ndarray, places: ndarray, o: Made) -> ndarray:
    rows = w[f"{table}_embedding.weight"][ids]
    waves = sinusoidal_table(CONFIG.context + 2, CONFIG.d_model)[places + o.get("first", 0)]
    if o.get("waves") == "halves":
        waves = np.concatenate([waves[..., ::2], waves[..., 1::2]], -1)
    return o.get("root", np.sqrt(CONFIG.d_model)) * rows + o.get("places", 1) * waves


def _added(
    x: ndarray, part: Callable[[ndarray], ndarray], w: Mapping, name: str, o: Made
) -> ndarray:
    """A sublayer, added and normalized."""
    if o.get("pre"):
        return x + part(_norm(x, w, f"{name}_norm", o))
    return _norm(x * o.get("residual", 1) + part(x), w, f"{name}_norm", o)


def _encode(w: Mapping, source: ndarray, real: ndarray, **o: Any) -> ndarray:
    places = np.maximum(real.cumsum(1) - 1, 0)
    x = _embed(w, "source", source, places, o)
    mask = (
        np.ones_like(real)[:, None, None] if o.get("masked") == "never" else real[:, None, None]
    )
    for i in range(o.get("blocks", CONFIG.n_layers)):
        b = f"encoder.{0 if o.get('shared') else i}."
        x = _added(
            x,
            lambda y, b=b: _attention(y, y, mask, w, b + "attention", o),
            w,
            b + "attention",
            o,
        )
        x = _added(
            x,
            lambda y, b=b: _feed_forward(y, w, b + "feed_forward", o),
            w,
            b + "feed_forward",
            o,
        )
    return x


def _decode(w: Mapping, target: ndarray, memory: ndarray, real: ndarray, **o: Any) -> ndarray:
    T = target.shape[1]
    x = _embed(w, "target", target, np.broadcast_to(np.arange(T), target.shape), o)
    causal = np.tri(T, k=o.get("sees", 0), dtype=bool)
    hidden = real[:, None, None] | (o.get("masked") == "never")
    for i in range(CONFIG.decoder_layers):
        b = f"decoder.{i}."
        x = _added(
            x,
            lambda y, b=b: _attention(y, y, causal, w, b + "attention", o),
            w,
            b + "attention",
            o,
        )
        x = _added(
            x, _reader(memory, hidden, w, b + "cross_attention", o), w, b + "cross_attention", o
        )
        x = _added(
            x,
            lambda y, b=b: _feed_forward(y, w, b + "feed_forward", o),
            w,
            b + "feed_forward",
            o,
        )
    return x @ w["head.weight"].T


def _reader(memory: ndarray, mask: ndarray, w: Mapping, name: str, o: Made) -> Callable:
    """Cross-attention as a function of the stream."""
    o = {**o, "masked": o.get("cross_masked", o.get("masked"))}

    def read(x: ndarray) -> ndarray:
        if o.get("cross") == "none":
            return np.zeros_like(x)
        if o.get("cross") == "self":
            return _attention(x, x, np.tri(x.shape[1], dtype=bool), w, name, o)
        return _attention(x, memory, mask, w, name, o)

    return read


def _steps(
    w: Mapping, tokens: ndarray, source: tuple, later: Mapping | None = None, **o: Any
) -> ndarray:
    """Logits (B, T, V), one token after another; ``later`` are the weights of the last step."""
    kept: list = [[] for _ in range(CONFIG.decoder_layers)]
    logits, last = [], tokens.shape[1] - 1
    for t in range(last + 1):
        now = later if later is not None and t == last else w
        place = np.full((len(tokens), 1), 0 if o.get("place") == "zero" else t)
        x = _embed(now, "target", tokens[:, t : t + 1], place, o)
        for i in range(CONFIG.decoder_layers):
            mine = kept[0 if o.get("cache") == "one" else i]
            x = _step_block(x, mine, now, f"decoder.{i}.", source, o)
        logits.append(x[:, 0] @ now["head.weight"].T)
    return np.stack(logits, 1)


def _step_block(x: ndarray, kept: list, w: Mapping, b: str, source: tuple, o: Made) -> ndarray:
    """One block for one token; appends its key and value to what is kept."""
    name, (memory, real) = b + "attention", source
    q, *new = (_split(_map(x, w, f"{name}.{n}", o), o) for n in ("W_q", "W_k", "W_v"))
    kept.append(new)
    parts = {"last": kept[-1:], "before": kept[:-1] or [new]}
    k, v = (
        np.concatenate(a, 2) for a in zip(*parts.get(o.get("cache", "all"), kept), strict=True)
    )
    a = _mixed(q, k, v, np.ones((1, k.shape[2]), bool), w, name, o)
    u = _norm(x + a, w, f"{name}_norm", o)
    cross = b + "cross_attention"
    r = _added(u, _reader(memory, real[:, None, None], w, cross, o), w, cross, o)
    feed = b + "feed_forward"
    return _added(r, lambda y: _feed_forward(y, w, feed, o), w, feed, o)


# --- data, and comparisons --------------------------------------------------------------------


def _weights(seed: int = 0) -> dict[str, ndarray]:
    """Random weights: gains and biases too, so that leaving one out is seen."""
    rng = np.random.default_rng(seed)
    drawn = Transformer(CONFIG, rng).weights
    return {n: a + rng.normal(0, 0.3, a.shape) * (a.ndim == 1) for n, a in drawn.items()}


def _batch(lengths: tuple[int, ...] = (5, 3), T: int = 6) -> tuple[ndarray, ndarray, ndarray]:
    """Sources (B, S) with padding on the right, what is real of them, targets (B, T)."""
    rng = np.random.default_rng(1)
    B, S = len(lengths), max(lengths)
    source, target = rng.integers(3, 13, (B, S)), rng.integers(3, 11, (B, T))
    target[:, 0] = 1
    real = np.arange(S) < np.array(lengths)[:, None]
    return np.where(real, source, 0), real, target


def _checked(found: Any, shape: tuple[int, ...], what: str) -> ndarray:
    if found is None:
        raise FaultError(f"{what} returns None: is there a return?")
    array = np.asarray(found)
    if array.shape != shape:
        raise FaultError(f"{what} has shape {array.shape}; it must have {shape}.")
    return array


def _compare(found: ndarray, right: ndarray, mistakes: Mistakes) -> None:
    """Say which mistake gives what was found, or how far it is from what is right."""
    if np.allclose(found, right, rtol=1e-6, atol=1e-8):
        return
    for sentence, wrong in mistakes.items():
        if np.allclose(found, wrong(), rtol=1e-6, atol=1e-8, equal_nan=True):
            raise FaultError(sentence)
    if np.isnan(found).any():
        raise FaultError(f"{int(np.isnan(found).sum())} of {found.size} numbers are NaN.")
    gap = np.abs(found - right)
    place = tuple(int(i) for i in np.unravel_index(gap.argmax(), gap.shape))
    raise FaultError(f"it is off by up to {gap.max():.2g}, the most at {place}.")


def _made(switches: dict[str, Made], of: Function, *arguments: Any) -> Mistakes:
    """Sentence -> a pass that is made otherwise."""
    return {sentence: partial(of, *arguments, **o) for sentence, o in switches.items()}


BLOCKS: dict[str, Made] = {
    "only the first block is used; there are config.n_layers.": {"blocks": 1},
    "every block has the weights of block 0.": {"shared": True},
}
SUBLAYERS: dict[str, Made] = {  # sentence -> switches, for both stacks
    "the rows of the table are not multiplied by √D.": {"root": 1},
    "positions are not added.": {"places": 0},
    "positions count from 1; the first token has position 0.": {"first": 1},
    "sines and cosines stand in two halves; here they alternate.": {"waves": "halves"},
    "the scores are not divided by √K.": {"divide": 1},
    "the scores are divided by √D; each head divides by the root of its own width K.": {
        "divide": np.sqrt(CONFIG.d_model)
    },
    "the scores are divided by K; divide by its root.": {"divide": K},
    "there is one head of width D; split queries, keys and values into n_heads of them.": {
        "heads": "one"
    },
    "each head takes every H-th feature; head h has the features hK to (h + 1)K.": {
        "heads": "strided"
    },
    "the heads are cut out of the tokens: reshape (B, T, D) to (B, T, H, K), then exchange T "
    "and H.": {"heads": "tokens"},
    "the results of the heads are not moved back behind the tokens before they are joined: "
    "(B, H, T, K) to (B, T, H, K) to (B, T, D).": {"join": True},
    "the weights are stored (out, in): y = x Wᵀ + b.": {"transposed": True},
    "the biases of the linear maps are left out.": {"bias": False},
    "the matrix W_o after the heads is left out.": {"W_o": False},
    "the ReLU between W_in and W_out is left out.": {"relu": False},
    "gamma and beta of the norms are left out.": {"gain": False},
    "the norm stands before each sublayer (pre-norm); here it stands after the sum.": {
        "pre": True
    },
    "what goes into a sublayer is not added to what comes out.": {"residual": 0},
}


# --- the tests --------------------------------------------------------------------------------


def _encodes(yours: Yours) -> None:
    w, (source, real, _) = _weights(), _batch((5, 5))
    found = _checked(yours.encode(dict(w), CONFIG, source, real), (2, 5, 12), "the memory")
    mistakes = _made(SUBLAYERS | BLOCKS, _encode, w, source, real)
    _compare(found, _encode(w, source, real), mistakes)


def _at_real_words(w: Mapping, source: ndarray, real: ndarray, **o: Any) -> ndarray:
    """Rows of the memory; 0 at padding, where they mean nothing."""
    return np.asarray(_encode(w, source, real, **o) * real[..., None])


def _encodes_padding(yours: Yours) -> None:
    w, (source, real, _) = _weights(), _batch()
    found = np.asarray(yours.encode(dict(w), CONFIG, source, real))
    switches: dict[str, Made] = {
        "the padding of the source is not hidden.": {"masked": "never"},
        "padding is removed after the softmax, so that the weights no longer sum to 1.": {
            "masked": "late"
        },
    }
    right = _at_real_words(w, source, real)
    mistakes = _made(switches, _at_real_words, w, source, real)
    _compare(found * real[..., None], right, mistakes)


def _encodes_left(yours: Yours) -> None:
    w, (source, real, _) = _weights(), _batch((3,))
    padded = np.pad(source, ((0, 0), (2, 0))), np.pad(real, ((0, 0), (2, 0)))
    found = np.asarray(yours.encode(dict(w), CONFIG, *padded))[:, 2:]
    if not np.allclose(found, _encode(w, source, real)):
        raise FaultError(
            "padding on the left moves the positions: they count the real words, "
            "`real.cumsum(1) - 1`."
        )


def _decodes(yours: Yours) -> None:
    w, (source, real, target) = _weights(), _batch((5, 5))
    memory = _encode(w, source, real)
    given = (dict(w), CONFIG, target, memory.copy(), real)
    found = _checked(yours.decode(*given), (2, 6, 11), "the result of decode")
    switches = dict(SUBLAYERS) | {
        "the causal mask is missing: a position reads the words that it is to predict.": {
            "sees": 6
        },
        "the causal mask is moved by one: a position reads the word that it is to predict.": {
            "sees": 1
        },
        "a position may not read itself; it reads all words up to and including its own.": {
            "sees": -1
        },
        "future words are removed after the softmax, so that the weights no longer sum to 1.": {
            "masked": "late"
        },
        "cross-attention is left out.": {"cross": "none"},
        "cross-attention reads the target; its keys and values come from the memory.": {
            "cross": "self"
        },
    }
    wrong = _made(switches, _decode, w, target, memory, real)
    right = _decode(w, target, memory, real)
    wrong["probabilities are returned; return the logits."] = lambda: _softmax(right)
    wrong["log-probabilities are returned; return the logits."] = lambda: np.log(
        _softmax(right)
    )
    _compare(found, right, wrong)


def _softmax(z: ndarray) -> ndarray:
    powers = np.exp(z - z.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def _decodes_padding(yours: Yours) -> None:
    w, (source, real, target) = _weights(), _batch()
    memory = _encode(w, source, real)
    found = np.asarray(yours.decode(dict(w), CONFIG, target, memory.copy(), real))
    switches: dict[str, Made] = {
        "cross-attention reads the padding of the source: hide it there too.": {
            "masked": "never"
        },
        "padding is removed after the softmax, so that the weights no longer sum to 1.": {
            "cross_masked": "late"
        },
    }
    wrong = _made(switches, _decode, w, target, memory, real)
    _compare(found, _decode(w, target, memory, real), wrong)


def _nothing(yours: Yours) -> None:
    w, (source, real, target) = _weights(), _batch()
    memory, real = _encode(w, source, real), real.copy()
    real[1] = False
    found = np.asarray(yours.decode(dict(w), CONFIG, target, memory.copy(), real))
    if np.isnan(found).any():
        raise FaultError(
            "a source without a real word gives NaN (0/0, or ∞ - ∞): the weights must be 0, so "
            "that the bias of W_o is all that cross-attention adds."
        )
    everything = _decode(w, target, memory, real | True)[1]
    even = np.allclose(found[1], everything) or not np.allclose(
        found[1], _decode(w, target, memory + 1, real)[1]
    )
    if even:
        raise FaultError(
            "a source without a real word is read all the same: a large negative number is not "
            "minus infinity. The weights must be 0."
        )
    _compare(found, _decode(w, target, memory, real), {})


def _large(yours: Yours) -> None:
    w, (source, real, target) = _weights(), _batch()
    w |= {n: a * 3e3 for n, a in w.items() if n.endswith("W_q.weight")}
    memory = _encode(w, source, real)
    found = np.asarray(yours.decode(dict(w), CONFIG, target, memory.copy(), real))
    if not np.isfinite(found).all():
        raise FaultError(
            "large scores overflow: subtract the largest score of each row before the "
            "exponential."
        )
    _compare(found, _decode(w, target, memory, real), {})


def _begun(yours: Yours, w: dict, T: int) -> tuple[ndarray, ndarray, ndarray, Any, ndarray]:
    """Memory, real, target, the cache after T steps, and the logits of these (B, T, V)."""
    source, real, target = _batch()
    memory = _encode(w, source, real)
    cache = yours.start(dict(w), CONFIG, memory.copy(), real)
    logits = []
    for t in range(T):
        found = yours.step(dict(w), CONFIG, target[:, t], cache)
        if not isinstance(found, tuple) or len(found) != 2:
            raise FaultError("step must return the pair (logits, cache).")
        row, cache = found
        logits.append(_checked(row, (2, 11), "the logits of a step"))
    return memory, real, target, cache, np.stack(logits, 1)


STEPPING: dict[str, Made] = {
    "every token is given position 0; step number t has position t, so the cache must count.": {
        "place": "zero"
    },
    "only the newest key and value are read: append them to those that are kept.": {
        "cache": "last"
    },
    "a token reads those before it and not itself: append its key and value first.": {
        "cache": "before"
    },
    "all blocks share one list of keys and values; each block has its own.": {"cache": "one"},
}


def _stepped(w: Mapping, target: ndarray, memory: ndarray, real: ndarray) -> Mistakes:
    """Sentence -> what a faulty cache gives."""
    return _made(STEPPING, _steps, w, target, (memory, real))


def _first_step(yours: Yours) -> None:
    w = _weights()
    memory, real, target, _, found = _begun(yours, w, 1)
    first = target[:, :1]
    _compare(found, _decode(w, first, memory, real), _stepped(w, first, memory, real))


def _all_steps(yours: Yours) -> None:
    w = _weights()
    memory, real, target, _, found = _begun(yours, w, 6)
    _compare(found, _decode(w, target, memory, real), _stepped(w, target, memory, real))


def _memory_once(yours: Yours) -> None:
    w, (source, real, target) = _weights(), _batch()
    memory = _encode(w, source, real)
    given = memory.copy()
    cache = yours.start(dict(w), CONFIG, given, real)
    given[:] = np.nan
    kept = "cross_attention.W_k", "cross_attention.W_v"
    spoiled = {n: a * np.nan if any(k in n for k in kept) else a for n, a in w.items()}
    found = np.asarray(yours.step(spoiled, CONFIG, target[:, 0], cache)[0])
    if np.isnan(found).any():
        raise FaultError(
            "a step computes keys and values of the memory again; they never change: compute "
            "them once, in start, for every block."
        )
    _compare(found, _decode(w, target[:, :1], memory, real)[:, 0], {})


def _target_once(yours: Yours) -> None:
    w, other = _weights(), _weights(5)
    mixed = {n: other[n] if ".attention." in n and "decoder" in n else a for n, a in w.items()}
    memory, real, target, cache, _ = _begun(yours, w, 4)
    found = np.asarray(yours.step(dict(mixed), CONFIG, target[:, 4], cache)[0])
    right = _steps(w, target[:, :5], (memory, real), later=mixed)[:, -1]
    again = {
        "a step computes the earlier tokens again: keep keys and values of every block.": (
            lambda: _decode(mixed, target[:, :5], memory, real)[:, -1]
        )
    }
    _compare(found, right, again)


def _branches(yours: Yours) -> None:
    w = _weights()
    memory, real, target, cache, _ = _begun(yours, w, 3)
    for token in (4, 9):
        row = np.full(2, token)
        found = np.asarray(yours.step(dict(w), CONFIG, row, cache)[0])
        ids = np.column_stack([target[:, :3], row])
        if not np.allclose(found, _decode(w, ids, memory, real)[:, -1]):
            raise FaultError(
                "two continuations of one beginning disturb each other: step must leave the "
                "cache that it is given as it was, and return a new one (beams need that)."
            )


ENCODE, DECODE = "encode: without padding", "decode: known target, no padding"
PADDED, HIDDEN = "encode: padding on the right", "decode: padding of the source"
FIRST, STEPS = "step: the first token", "step: all rows of decode"
TESTS = (
    Case(ENCODE, _encodes),
    Case(PADDED, _encodes_padding, (ENCODE,)),
    Case("encode: padding on the left", _encodes_left, (PADDED,)),
    Case(DECODE, _decodes),
    Case(HIDDEN, _decodes_padding, (DECODE,)),
    Case("decode: nothing to read", _nothing, (HIDDEN,)),
    Case("decode: large scores", _large, (HIDDEN,)),
    Case(FIRST, _first_step, (HIDDEN,)),
    Case(STEPS, _all_steps, (FIRST,)),
    Case("step: keys and values of the memory are kept", _memory_once, (STEPS,)),
    Case("step: keys and values of the target are kept", _target_once, (STEPS,)),
    Case("step: two continuations of one cache", _branches, (STEPS,)),
)
