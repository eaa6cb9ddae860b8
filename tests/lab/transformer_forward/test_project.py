"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import numpy as np
import pytest

from lab.transformer_forward import project
from lab.transformer_forward import project_solution as ours
from mathlm.reference import Transformer

SOLUTION = (ours.encode, ours.decode, ours.start, ours.step)
NAMES = ("encode", "decode", "start", "step")


def graded(**faulty):
    return project.grade(*(faulty.get(n, f) for n, f in zip(NAMES, SOLUTION, strict=True)))


def test_the_solution_passes_every_test():
    report = graded()
    assert report.passed, report


def test_the_switched_pass_of_the_grader_is_that_of_the_reference():
    weights, (source, real, target) = project._weights(), project._batch()
    model = Transformer(project.CONFIG, np.random.default_rng(0))
    model.weights = weights
    expected, _ = model.logits(source, target, real)
    memory = project._encode(weights, source, real)
    for found in (
        project._decode(weights, target, memory, real),
        project._steps(weights, target, (memory, real)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def encoding(**switches):
    return lambda w, config, source, real: project._encode(w, source, real, **switches)


def decoding(**switches):
    return lambda w, config, target, memory, real: project._decode(
        w, target, memory, real, **switches
    )


@pytest.mark.parametrize("sentence", project.SUBLAYERS)
def test_a_mistake_of_a_sublayer_is_named_in_both_stacks(sentence):
    switches = project.SUBLAYERS[sentence]
    assert graded(encode=encoding(**switches)).faults[0] == sentence
    assert sentence in graded(decode=decoding(**switches)).faults


def stub(*arguments):
    raise NotImplementedError


ENCODERS = {
    "only the first block is used": encoding(blocks=1),
    "every block has the weights of block 0": encoding(shared=True),
    "the padding of the source is not hidden": encoding(masked="never"),
    "no longer sum to 1": encoding(masked="late"),
    "padding on the left moves the positions": lambda w, c, source, real: project._encode(
        w, source, real, first=np.arange(source.shape[1]) - np.maximum(real.cumsum(1) - 1, 0)
    ),
    r"has shape \(2, 12, 5\)": lambda *a: ours.encode(*a).swapaxes(1, 2),
    "returns None": lambda *a: None,
    "NotImplementedError was raised": stub,
    "raised KeyError .* The names of the weights": lambda w, *a: w["attention.W_q"],
}


@pytest.mark.parametrize("sentence", ENCODERS)
def test_a_faulty_encoder_is_named(sentence):
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(graded(encode=ENCODERS[sentence]).faults)


def blind(w, config, target, memory, real):
    logits = ours.decode(w, config, target, memory, real)
    logits[~real.any(1)] = np.nan
    return logits


def averaged(w, config, target, memory, real):
    return ours.decode(w, config, target, memory, real | ~real.any(1, keepdims=True))


def overflowing(w, config, target, memory, real):
    logits = ours.decode(w, config, target, memory, real)
    return logits * (np.nan if max(abs(a).max() for a in w.values()) > 100 else 1)


def probable(*arguments):
    return project._softmax(ours.decode(*arguments))


DECODERS = {
    "the causal mask is missing": decoding(sees=6),
    "the causal mask is moved by one": decoding(sees=1),
    "a position may not read itself": decoding(sees=-1),
    "cross-attention is left out": decoding(cross="none"),
    "cross-attention reads the target": decoding(cross="self"),
    "probabilities are returned": probable,
    "log-probabilities are returned": lambda *a: np.log(probable(*a)),
    "cross-attention reads the padding": decoding(masked="never"),
    "future words are removed after the softmax": decoding(masked="late"),
    "padding is removed after the softmax": decoding(cross_masked="late"),
    "without a real word gives NaN": blind,
    "is read all the same": averaged,
    "large scores overflow": overflowing,
}


@pytest.mark.parametrize("sentence", DECODERS)
def test_a_faulty_decoder_is_named(sentence):
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(graded(decode=DECODERS[sentence]).faults)


def forgetful(w, config, token, cache):
    logits, new = ours.step(w, config, token, {**cache, "t": 0})
    return logits, {**new, "t": cache["t"] + 1}


def newest(w, config, token, cache):
    t = cache["t"]
    none = [tuple(a[:, :, :0] for a in pair) for pair in cache["own"]]
    waves = ours.embed(w["target_embedding.weight"] * 0, token[:, None], np.full((2, 1), t))
    first = ours.embed(w["target_embedding.weight"] * 0, token[:, None], np.zeros((2, 1)))
    table = w["target_embedding.weight"].copy()
    D = table.shape[1]
    table = table + (waves - first)[0, 0] / np.sqrt(D)  # position t, though nothing is kept
    logits, new = ours.step(
        w | {"target_embedding.weight": table}, config, token, {**cache, "own": none, "t": 0}
    )
    return logits, {**new, "t": t + 1}


def kept_memory(w, config, memory, real):
    return ours.start(w, config, memory, real) | {"memory": memory.copy()}


def read_again(w, config, token, cache):
    fresh = ours.start(w, config, cache["memory"], cache["real"])
    return ours.step(w, config, token, cache | {"cross": fresh["cross"]})


def kept_tokens(w, config, memory, real):
    return ours.start(w, config, memory, real) | {"ids": np.zeros((len(memory), 0), int)}


def computed_again(w, config, token, cache):
    ids = np.column_stack([cache["ids"], token])
    empty = cache | {
        "t": 0,
        "own": [tuple(a[:, :, :0] for a in pair) for pair in cache["own"]],
    }
    return ours.read(w, config, ids, empty)[0][:, -1], cache | {"ids": ids}


def in_place(w, config, token, cache):
    logits, new = ours.step(w, config, token, cache)
    cache.update(new)
    return logits, cache


STEPS = {
    "must return the pair": {"step": lambda *a: ours.step(*a)[0]},
    "every token is given position 0": {"step": forgetful},
    "only the newest key and value are read": {"step": newest},
    "computes keys and values of the memory again": {
        "start": kept_memory,
        "step": read_again,
    },
    "computes the earlier tokens again": {"start": kept_tokens, "step": computed_again},
    "two continuations of one beginning": {"step": in_place},
    "NotImplementedError was raised": {"step": stub},
}


@pytest.mark.parametrize("sentence", STEPS)
def test_a_faulty_step_is_named(sentence):
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(graded(**STEPS[sentence]).faults)


@pytest.mark.parametrize(
    ("cache", "sentence"), [("one", "share one list"), ("before", "not itself")]
)
def test_other_ways_to_keep_keys_are_named(cache, sentence):
    """The faulty pass of the grader itself, token by token, as a reader might write it."""

    def start(w, config, memory, real):
        return [memory, real, np.zeros((len(memory), 0), int)]

    def step(w, config, token, kept):
        memory, real, ids = kept
        ids = np.column_stack([ids, token])
        return project._steps(w, ids, (memory, real), cache=cache)[:, -1], [memory, real, ids]

    assert any(sentence in fault for fault in graded(start=start, step=step).faults)


def test_what_builds_on_a_fault_waits():
    report = graded(decode=decoding(cross="none"))
    assert len(report.faults) == 1
    assert sum(not result.ran for result in report.results) == 8
