"""Grader of the project of this page: scaled rotary frequencies, and loss by position."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by
from lab.positional_encoding.context_study import stretched
from mathlm.errors import ConfigError
from mathlm.functional import RopeScaling
from mathlm.models import GPT, GPTConfig
from mathlm.text import pretrained

Frequencies = Callable[..., Any]
Measure = Callable[..., Any]
Numbers = Callable[..., ndarray]
K, BASE, FACTOR, TRAINED = 64, 100_000.0, 4.0, 8192  # SmolLM2's, four times as long
TOLERANCE = 1e-9


def grade(frequencies: Frequencies, loss_by_position: Measure) -> Report:
    """Test scaled rotary frequencies and a measurement of loss by position.

    Frequencies are compared with the formulas of the papers and with outputs of common
    mistakes; losses with those of models that are known by construction; both together on a
    small GPT with random weights. Tests are put off while one that they build on fails.

    Args:
        frequencies: ``frequencies(kind, K, base, s, L)`` returns (K/2,) frequencies and the
            factor of cosines and sines; ``kind`` is "linear", "ntk" or "yarn".
        loss_by_position: ``loss_by_position(model, ids, bin)`` returns the mean loss of each
            bin of positions [nats/token].

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, frequencies, loss_by_position, advice=_advice)


def smollm2(frequencies: Frequencies, kind: str | None, s: float = 4.0) -> Numbers:
    """SmolLM2 with your frequencies, as a function from ids (B, T) to logits (B, T, V).

    Args:
        frequencies: As for :func:`grade`.
        kind: "linear", "ntk" or "yarn"; None = the frequencies of the trained model.
        s: Factor of the context.

    Returns:
        The model; its argument ``positions`` may hold other positions than 0 ... T - 1.
    """
    return reading(_smollm2(), frequencies, kind, s)


def reading(model: GPT, frequencies: Frequencies, kind: str | None, s: float) -> Numbers:
    """A rotary GPT read with a reader's frequencies, from arrays to arrays."""
    config, context = model.config, int(np.ceil(s * model.config.context))
    other = stretched(model, context)
    if kind is not None:
        args = (kind, config.head_width, config.rope_base, s, config.context)
        theta, factor = _pair(frequencies, *args)
        angles = torch.arange(context)[:, None] * torch.from_numpy(np.array(theta))
        dtype, position = other.token_embedding.weight.dtype, other.position
        if position is None:
            raise ConfigError("the model has no positions")
        position.cos = (factor * angles.cos()).to(dtype)
        position.sin = (factor * angles.sin()).to(dtype)

    @torch.inference_mode()
    def logits(ids: ndarray, positions: ndarray | None = None) -> ndarray:
        places = None if positions is None else torch.as_tensor(positions)
        found: ndarray = other(torch.as_tensor(ids), positions=places).numpy()
        return found

    return logits


@functools.cache
def _smollm2() -> GPT:
    return GPT.from_pretrained(pretrained.find("smollm2"))


def _advice(error: Exception) -> str:
    """What usually raises such an error here."""
    if isinstance(error, ValueError) and "reshape" in str(error):
        return "The losses (B, T) become (B, T / bin, bin): T is the length of the inputs."
    if isinstance(error, ValueError) and "broadcast" in str(error):
        return "Inputs are ids[:, :-1] and targets ids[:, 1:], both of shape (B, T)."
    return ""


# --- the frequencies ------------------------------------------------------------------------


def _pair(frequencies: Frequencies, kind: str, *args: float) -> tuple[ndarray, float]:
    """What the reader returns for a kind, once its form is right."""
    found = frequencies(kind, *args)
    if not isinstance(found, tuple) or len(found) != 2:
        raise FaultError(
            "frequencies must return the pair (frequencies, factor of cosines and sines), it "
            f"returned {type(found).__name__} for {kind!r}."
        )
    theta, half = np.asarray(found[0], dtype=float), int(args[0]) // 2
    if theta.shape != (half,):
        raise FaultError(
            f"frequencies have shape {theta.shape} for {kind!r}; there is one for each of the "
            f"K/2 = {half} pairs."
        )
    return theta, float(found[1])


def _theta(i: ndarray | None = None, base: float = BASE) -> ndarray:
    powers: ndarray = base ** (-2 * (np.arange(K // 2) if i is None else i) / K)
    return powers


def _compare(found: ndarray, right: ndarray, mistakes: Mapping[str, ndarray]) -> None:
    """Say which mistake gives the numbers, or how far they are from what is right."""
    if np.allclose(found, right, rtol=TOLERANCE, atol=0):
        return
    for sentence, wrong in mistakes.items():
        if np.shape(wrong) == found.shape and np.allclose(found, wrong, rtol=1e-6, atol=0):
            raise FaultError(sentence)
    if not np.isfinite(found).all():
        raise FaultError("not all numbers are finite.")
    off = np.abs(found / right - 1)
    raise FaultError(f"the numbers are off by up to {off.max():.2g} of their size, "
                     f"the most at index {off.argmax()}.")  # fmt: skip


def _linear(frequencies: Frequencies, _: Measure) -> None:
    theta, s = _theta(), FACTOR
    mistakes = {
        "linear: the frequencies are as they were; divide them by s.": theta,
        "linear: the frequencies are multiplied by s; positions are divided by it, and so are "
        "the frequencies.": theta * s,
        "linear: the exponent is -i/K; pair i has 2i/K, so that the slowest pair nearly "
        "reaches 1/base.": np.sqrt(theta) / s,
        "linear: the frequencies rise with the index; the exponent is negative.": 1 / theta / s,
        "linear: these are wavelengths; return angles per token.": 2 * np.pi / theta * s,
    }
    _compare(_pair(frequencies, "linear", K, BASE, s, TRAINED)[0], theta / s, mistakes)


def _ntk(frequencies: Frequencies, _: Measure) -> None:
    s, theta, i = FACTOR, _theta(), np.arange(K // 2)
    mistakes = {
        "ntk: the base is multiplied by s; by that the slowest pair is divided by s^((K-2)/K), "
        "a little less than s. The power is K/(K-2).": _theta(base=BASE * s),
        "ntk: the power of s is (K-2)/K; it must be its inverse, K/(K-2).": _theta(
            base=BASE * s ** ((K - 2) / K)
        ),
        "ntk: all frequencies are divided by s, as in position interpolation; only the slowest "
        "one is.": theta / s,
        "ntk: the base is divided and not multiplied, so that the slow pairs turn faster.": (
            theta * s ** (2 * i / (K - 2))
        ),
        "ntk: the new base is right and the frequencies are divided by s as well.": (
            theta * s ** (-2 * i / (K - 2)) / s
        ),
        "ntk: the frequencies are as they were.": theta,
    }
    found = _pair(frequencies, "ntk", K, BASE, s, TRAINED)[0]
    _compare(found, theta * s ** (-2 * i / (K - 2)), mistakes)


def _mixed(kept: ndarray) -> ndarray:
    theta = _theta()
    return kept * theta + (1 - kept) * theta / FACTOR


def _yarn(frequencies: Frequencies, _: Measure) -> None:
    theta = _theta()
    turns = TRAINED * theta / (2 * np.pi)
    ramp = (turns - 1) / 31
    kept = np.clip(ramp, 0, 1)
    radians = np.clip((TRAINED * theta - 1) / 31, 0, 1)
    mistakes = {
        "yarn: the mixture is the wrong way round: pairs that turn often are kept, pairs that "
        "hardly turn are divided by s.": _mixed(1 - kept),
        "yarn: the ramp is not cut off at 0 and 1.": _mixed(ramp),
        "yarn: the turns lack the 2π: a pair turns L·θ/2π times within L tokens.": _mixed(
            radians
        ),
        "yarn: the ramp is linear in the index, as in the published code; the paper's is "
        "linear in the turns.": _published(),
        "yarn: the ramp ends at 4 turns, as in Llama 3; here it ends at 32.": _mixed(
            np.clip((turns - 1) / 3, 0, 1)
        ),
        "yarn: the ramp begins at 0 turns; it begins at 1.": _mixed(np.clip(turns / 32, 0, 1)),
        "yarn: there is no ramp; between 1 and 32 turns a pair is partly divided.": _mixed(
            (turns > 1) * 1.0
        ),
        "yarn: the turns are counted within the longer context; L is the trained length.": (
            _mixed(np.clip((FACTOR * turns - 1) / 31, 0, 1))
        ),
        "yarn: the factor of cosines and sines is multiplied into the frequencies; return it "
        "separately.": _mixed(kept) * (0.1 * np.log(FACTOR) + 1),
    }
    found = _pair(frequencies, "yarn", K, BASE, FACTOR, TRAINED)[0]
    _compare(found, _mixed(kept), mistakes)


def _published() -> ndarray:
    """YaRN's frequencies with the ramp of its code, between whole pairs."""
    ends = [K * np.log(TRAINED / (2 * np.pi * n)) / (2 * np.log(BASE)) for n in (32, 1)]
    first, last = max(np.floor(ends[0]), 0), min(np.ceil(ends[1]), K - 1)
    return _mixed(1 - np.clip((np.arange(K // 2) - first) / (last - first), 0, 1))


def _factor(frequencies: Frequencies, _: Measure) -> None:
    log = np.log(FACTOR)
    mistakes = {
        "yarn: the factor is 1; its softmax is sharpened.": 1.0,
        "yarn: the factor is squared; it multiplies cosines and sines, so that scores get its "
        "square.": (0.1 * log + 1) ** 2,
        "yarn: the logarithm has base 10; it is the natural one.": 0.1 * np.log10(FACTOR) + 1,
        "yarn: the logarithm has base 2; it is the natural one.": 0.1 * np.log2(FACTOR) + 1,
        "yarn: the factor is inverted; it is larger than 1.": 1 / (0.1 * log + 1),
        "yarn: the 1 is missing in 0.1 log s + 1.": 0.1 * log,
    }
    found = _pair(frequencies, "yarn", K, BASE, FACTOR, TRAINED)[1]
    arrays = {sentence: np.array([value]) for sentence, value in mistakes.items()}
    _compare(np.array([found]), np.array([0.1 * log + 1]), arrays)
    for kind in ("linear", "ntk"):
        other = _pair(frequencies, kind, K, BASE, FACTOR, TRAINED)[1]
        if not np.isclose(other, 1):
            raise FaultError(f"{kind}: the factor is {other:.3g}; only YaRN has one.")


def _unchanged(frequencies: Frequencies, _: Measure) -> None:
    for width, base, length in ((64, 1e5, 8192), (16, 1e4, 128), (32, 500.0, 300)):
        theta = base ** (-np.arange(0, width, 2) / width)
        for kind in ("linear", "ntk", "yarn"):
            found, factor = _pair(frequencies, kind, width, base, 1.0, length)
            if not np.allclose(found, theta) or not np.isclose(factor, 1):
                raise FaultError(
                    f"{kind}: with s = 1 nothing may change, and with K={width}, base={base:g} "
                    f"and L={length} something does: use the arguments, not fixed numbers."
                )


# --- the measurement ------------------------------------------------------------------------


def _losses(measure: Measure, model: Numbers, ids: ndarray, bin: int) -> ndarray:
    """What the reader's measurement returns, once its form is right."""
    before = ids.copy()
    found = np.asarray(measure(model, ids, bin), dtype=float)
    if not np.array_equal(ids, before):
        raise FaultError("your code changes its argument ids in place.")
    shape = ((ids.shape[1] - 1) // bin,)
    if found.shape != shape:
        raise FaultError(
            f"the losses have shape {found.shape}; {ids.shape[1] - 1} positions in bins of "
            f"{bin} make {shape}."
        )
    return found


def _draw(count: int = 3, length: int = 8, seed: int = 0) -> tuple[ndarray, ndarray]:
    """Ids (count, length + 1) of 5 tokens, and logits (count, length, 5) for them."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 5, (count, length + 1)), 2 * rng.normal(size=(count, length, 5))


def _known(measure: Measure, seed: int, scale: float = 1.0) -> tuple[ndarray, ndarray, ndarray]:
    """Losses in bins of 2 that a measurement finds, the log-probabilities and the ids."""
    ids, logits = _draw(seed=seed)
    logits *= scale

    def model(x: ndarray) -> ndarray:
        if np.shape(x) != (3, 8):
            raise FaultError(
                f"the model was given ids of shape {np.shape(x)}; of {ids.shape} it reads all "
                "but the last token of each sequence, which is only a target."
            )
        if not np.array_equal(x, ids[:, :-1]):
            raise FaultError("the model was given other ids than ids[:, :-1].")
        return logits.copy()

    top = logits.max(-1, keepdims=True)
    logp = logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True))
    return _losses(measure, model, ids, 2), logp, ids


def _binned(rows: ndarray) -> ndarray:
    means: ndarray = rows.reshape(3, 4, 2).mean((0, 2))
    return means


def _measured(_: Frequencies, measure: Measure) -> None:
    found, logp, ids = _known(measure, seed=0)
    at = functools.partial(np.take_along_axis, axis=-1)
    loss = -at(logp, ids[:, 1:, None])[..., 0]
    own = -at(logp, ids[:, :-1, None])[..., 0]
    mistakes = {
        "the target of a position is its own token; it is the next one, ids[:, 1:].": _binned(
            own
        ),
        "the losses are in bits; nats are asked for.": _binned(loss) / np.log(2),
        "the sign is wrong: a loss is minus the log-probability.": -_binned(loss),
        "the losses of a bin are added up; their mean is asked for.": 6 * _binned(loss),
        "the losses are summed over the sequences; their mean is asked for.": 3 * _binned(loss),
        "the losses of each bin are added up, and the mean is over sequences only.": (
            2 * _binned(loss)
        ),
        "only the first sequence counts; average over all.": loss[0].reshape(4, 2).mean(1),
        "the bins mix positions: bin j holds the positions j·bin … (j + 1)·bin - 1.": (
            loss.reshape(3, 2, 4).mean((0, 1))
        ),
        "these are probabilities, not losses.": _binned(np.exp(-loss)),
        "the loss is the logarithm of a mean probability; take the mean of the logarithms.": (
            -np.log(_binned(np.exp(-loss)))
        ),
    }
    _compare(found, _binned(loss), mistakes)


def _large(_: Frequencies, measure: Measure) -> None:
    found, logp, ids = _known(measure, seed=1, scale=1000.0)
    if not np.isfinite(found).all():
        raise FaultError(
            "logits of some 2,000 overflow: subtract the largest logit of each position before "
            "the exponential."
        )
    loss = -np.take_along_axis(logp, ids[:, 1:, None], axis=-1)[..., 0]
    _compare(found, _binned(loss), {})


def _together(frequencies: Frequencies, measure: Measure) -> None:
    torch.manual_seed(0)
    with torch.device("cpu"):
        config = GPTConfig(vocab_size=11, context=16, d_model=32, n_layers=2, n_heads=2,
                           position="rope", norm="rms")  # fmt: skip
        model = GPT(config).double().eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    ids = np.random.default_rng(0).integers(0, 11, (2, 33))
    for kind in ("linear", "ntk"):
        scaling = RopeScaling(kind=kind, factor=2.0)
        other = stretched(model, 32, scaling)
        with torch.inference_mode():
            logp = other(torch.from_numpy(ids[:, :-1])).log_softmax(-1).numpy()
        right = -np.take_along_axis(logp, ids[:, 1:, None], axis=-1)[..., 0]
        found = _losses(measure, reading(model, frequencies, kind, 2.0), ids, 8)
        if not np.allclose(found, right.reshape(2, 4, 8).mean((0, 2)), rtol=1e-4):
            raise FaultError(f"a small GPT read with your {kind} frequencies has other losses.")


LINEAR, NTK, YARN = "frequencies: linear", "frequencies: ntk", "frequencies: yarn"
KNOWN = "loss by position: a model with known logits"
TESTS = (
    Case(LINEAR, _linear),
    Case(NTK, _ntk, (LINEAR,)),
    Case(YARN, _yarn, (LINEAR,)),
    Case("frequencies: the factor of cosines and sines", _factor, (LINEAR, NTK, YARN)),
    Case("frequencies: s = 1, and other sizes", _unchanged, (LINEAR, NTK, YARN)),
    Case(KNOWN, _measured),
    Case("loss by position: large logits", _large, (KNOWN,)),
    Case("both: a small GPT read at twice its length", _together, (LINEAR, NTK, KNOWN)),
)

__all__ = ["grade", "reading", "smollm2"]
