"""Grader of the project of this page: a character LSTM, its gradients and its samples."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by
from mathlm.reference import lstm, numerical_gradient, softmax

Code = Callable[..., Any]
Parameters = dict[str, ndarray]
V, D, H = 5, 4, 3  # sizes of the small model that is tested
IDS = np.array([1, 4, 1, 0, 3, 1])  # token 1 occurs three times
ON_SHAPES = advice_on_shapes(
    "Vectors are rows here: a row meets a matrix stored (outputs, inputs) as x @ U.T, "
    "and its gradient comes back as da @ U."
)


def grade(forward: Code, backward: Code, sample: Code) -> Report:
    """Test a character LSTM: its logits, its gradients and its samples.

    The forward pass is compared with the package's LSTM and with outputs of common mistakes.
    Each gradient is compared with central differences of *your* forward pass. Samples are
    counted. Tests are put off while one that they build on fails.

    Args:
        forward: ``forward(p, ids, state)`` returns logits (T, V), the new state (h, c) and a
            cache.
        backward: ``backward(dlogits, cache)`` returns a dict with a gradient for each of
            ``E U W b A a``.
        sample: ``sample(p, prompt, length, temperature, rng)`` returns ``length`` new ids.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, forward, backward, sample, advice=ON_SHAPES)


def train(
    forward: Code,
    backward: Code,
    text: bytes,
    steps: int = 1000,
    width: int = 64,
    seed: int = 0,
) -> tuple[Parameters, bytes, list[float]]:
    """Train your LSTM with your gradients: Adam on stretches of 64 characters, state carried.

    Args:
        forward: As for :func:`grade`.
        backward: As for :func:`grade`.
        text: What it learns, read in order and again from the start.
        steps: Number of updates.
        width: H, and the width D of the embedding.
        seed: Of the first parameters.

    Returns:
        The parameters, the alphabet (ids are places in it), and the loss of each step [bits].
    """
    alphabet = bytes(sorted(set(text)))
    ids = np.searchsorted(np.frombuffer(alphabet, np.uint8), np.frombuffer(text, np.uint8))
    p = parameters(len(alphabet), width, width, np.random.default_rng(seed))
    p["b"][width : 2 * width] = 1.0  # forget gates start open
    moments = {name: np.zeros((2, *value.shape)) for name, value in p.items()}
    state, at, losses = (np.zeros(width), np.zeros(width)), 0, []
    for step in range(1, steps + 1):
        if at + 65 > len(ids):
            state, at = (np.zeros(width), np.zeros(width)), 0
        x, y = ids[at : at + 64], ids[at + 1 : at + 65]
        logits, state, cache = forward(p, x, state)
        loss, dlogits = _loss(logits, y)
        _adam(p, backward(dlogits, cache), moments, step)
        losses.append(loss / np.log(2))
        at += 64
    return p, alphabet, losses


def parameters(V: int, D: int, H: int, rng: np.random.Generator) -> Parameters:
    """Random parameters of a character LSTM: weights of variance 1/inputs, biases 0."""
    shapes = {"E": (V, D), "U": (4 * H, D), "W": (4 * H, H), "A": (V, H)}
    p = {n: rng.normal(size=s) / np.sqrt(s[1]) for n, s in shapes.items()}
    return p | {"b": np.zeros(4 * H), "a": np.zeros(V)}


def _loss(logits: ndarray, targets: ndarray) -> tuple[float, ndarray]:
    """Mean cross-entropy [nats] and its gradient in the logits."""
    weights, rows = softmax(logits), np.arange(len(targets))
    loss = -np.log(weights[rows, targets]).mean()
    weights[rows, targets] -= 1
    return float(loss), weights / len(targets)


def _adam(p: Parameters, grads: Mapping, moments: Parameters, step: int) -> None:
    """One step of Adam at 0.005, the gradient clipped at norm 1."""
    norm = np.sqrt(sum((g**2).sum() for g in grads.values()))
    for name, moment in moments.items():
        g = grads[name] / max(1.0, norm)
        moment[0] += 0.1 * (g - moment[0])
        moment[1] += 0.01 * (g**2 - moment[1])
        m, v = moment[0] / (1 - 0.9**step), moment[1] / (1 - 0.99**step)
        p[name] -= 0.005 * m / (np.sqrt(v) + 1e-8)


# --- the forward pass -----------------------------------------------------------------------


def _draw() -> tuple[Parameters, tuple[ndarray, ndarray], ndarray]:
    """Parameters, a state that is not zero, and a gradient of the logits."""
    rng = np.random.default_rng(0)
    p = parameters(V, D, H, rng)
    p["b"], p["a"] = rng.normal(size=4 * H), rng.normal(size=V)
    h, c = rng.normal(size=(2, H))
    return p, (h, c), rng.normal(size=(len(IDS), V))


def _right(p: Parameters, ids: ndarray, state: tuple) -> tuple[ndarray, ndarray, ndarray]:
    """Logits, h and c by the package's LSTM."""
    start = (state[0][None], state[1][None])
    (y, (h, c)), _ = lstm(p["E"][ids][None], start, p["U"], p["W"], p["b"], 0 * p["b"])
    return y[0] @ p["A"].T + p["a"], h[0], c[0]


def _output(forward: Code, p: Parameters, ids: ndarray, state: tuple) -> tuple:
    """What the reader's forward pass returns, once its form is right."""
    found = forward(p, ids, state)
    if not isinstance(found, tuple) or len(found) != 3:
        raise FaultError("forward must return three things: logits, the state (h, c), a cache.")
    logits, new, cache = np.asarray(found[0]), found[1], found[2]
    if logits.shape != (len(ids), V):
        raise FaultError(
            f"the logits have shape {logits.shape}; for {len(ids)} tokens and a vocabulary of "
            f"{V} it must be {(len(ids), V)}: one row for each token, the first included."
        )
    if len(new) != 2 or any(np.shape(part) != (H,) for part in new):
        raise FaultError(f"the new state must be the pair (h, c), each of shape {(H,)}.")
    return logits, new, cache


def _says(found: ndarray, right: ndarray, mistakes: Mapping[str, ndarray]) -> None:
    """Say which mistake gives what was found, or how far off it is."""
    if np.allclose(found, right, rtol=1e-6, atol=1e-8):
        return
    for sentence, wrong in mistakes.items():
        if np.allclose(found, wrong, rtol=1e-6, atol=1e-8):
            raise FaultError(sentence)
    if not np.isfinite(found).all():
        raise FaultError("some numbers are not finite.")
    raise FaultError(f"it is off by up to {np.abs(found - right).max():.2g}.")


def _blocks(p: Parameters, order: tuple[int, ...]) -> Parameters:
    """The parameters with the four blocks of U, W and b in another order."""
    moved = {n: np.concatenate([np.split(p[n], 4)[j] for j in order]) for n in ("U", "W", "b")}
    return p | moved


def _one_step(p: Parameters, state: tuple, **wrong: Code) -> ndarray:
    """Logits of the first token, with one of the functions of the cell exchanged."""
    squash: dict[str, Code] = {
        "gate": lambda a: 1 / (1 + np.exp(-a)),
        "candidate": np.tanh,
        "show": np.tanh,
    }
    squash |= wrong
    h, c = state
    i, f, g, o = np.split(p["E"][IDS[0]] @ p["U"].T + h @ p["W"].T + p["b"], 4)
    gate = squash["gate"]
    c = gate(f) * c + gate(i) * squash["candidate"](g)
    return gate(o) * squash["show"](c) @ p["A"].T + p["a"]


def _form(forward: Code, _backward: Code, _sample: Code) -> None:
    p, state, _ = _draw()
    _output(forward, p, IDS, state)


def _step(forward: Code, _backward: Code, _sample: Code) -> None:
    p, state, _ = _draw()
    zero = (np.zeros(H), np.zeros(H))

    def right(q, s=state):
        return _right(q, IDS[:1], s)[0][0]

    def logistic(a):
        return 1 / (1 + np.exp(-a))

    mistakes = {
        "input and forget gate are exchanged: the blocks come in the order i, f, g, o.": right(
            _blocks(p, (1, 0, 2, 3))
        ),
        "candidate and output gate are exchanged: the blocks come in the order i, f, g, o.": (
            right(_blocks(p, (0, 1, 3, 2)))
        ),
        "the candidate g passes through a sigmoid; it needs a tanh.": _one_step(
            p, state, candidate=logistic
        ),
        "the output gate is applied to c itself: h = o ⊙ tanh(c).": _one_step(
            p, state, show=lambda c: c
        ),
        "the bias b of the gates is left out.": right(p | {"b": 0 * p["b"]}),
        "the bias a of the logits is left out.": right(p | {"a": 0 * p["a"]}),
        "the state that was handed in is ignored: the first step starts from zero.": right(
            p, zero
        ),
        "the old cell c is ignored; only h is used.": right(p, (state[0], zero[1])),
        "the old state h is ignored by the gates; only c is used.": right(
            p, (zero[0], state[1])
        ),
    }
    _says(_output(forward, p, IDS[:1], state)[0][0], right(p), mistakes)


def _steps(forward: Code, _backward: Code, _sample: Code) -> None:
    p, state, _ = _draw()
    reset = np.concatenate([_right(p, IDS[t : t + 1], state)[0] for t in range(len(IDS))])
    mistakes = {
        "each step starts from the state that was handed in; it must start from that of the "
        "step before.": reset
    }
    _says(_output(forward, p, IDS, state)[0], _right(p, IDS, state)[0], mistakes)


def _parts(forward: Code, _backward: Code, _sample: Code) -> None:
    p, state, _ = _draw()
    h, c = _output(forward, p, IDS, state)[1]
    _, right_h, right_c = _right(p, IDS, state)
    if np.allclose(h, right_c) and np.allclose(c, right_h):
        raise FaultError("the new state is returned as (c, h); it must be (h, c).")
    if not np.allclose(h, right_h) or not np.allclose(c, right_c):
        raise FaultError(
            "the returned state is not that after the last token, so a text read in two parts "
            "would be scored differently from one read in one."
        )


# --- the backward pass ----------------------------------------------------------------------


def _gradients(forward: Code, backward: Code) -> Parameters:
    """The reader's gradients, once their form is right."""
    p, state, dlogits = _draw()
    found = backward(dlogits, forward(p, IDS, state)[2])
    if not isinstance(found, Mapping) or set(found) != set(p):
        raise FaultError("backward must return a dict with the keys E, U, W, b, A, a.")
    for name, value in p.items():
        if np.shape(found[name]) != value.shape:
            raise FaultError(
                f"the gradient of {name} has shape {np.shape(found[name])}; it must be that of "
                f"{name}, {value.shape}."
            )
    return {name: np.asarray(g) for name, g in found.items()}


def _backward_form(forward: Code, backward: Code, _sample: Code) -> None:
    _gradients(forward, backward)


def _gradient(name: str) -> Code:
    """A test of one gradient against central differences of the reader's forward pass."""

    def test(forward: Code, backward: Code, _sample: Code) -> None:
        p, state, dlogits = _draw()
        found = _gradients(forward, backward)[name]

        def loss(x):
            return float((forward(p | {name: x}, IDS, state)[0] * dlogits).sum())

        wrong = {sentence: _faulty(**change)[name] for sentence, change in FAULTS.items()}
        _says(found, numerical_gradient(loss, p[name]), wrong)

    return test


FAULTS: dict[str, dict[str, bool]] = {
    "tokens that occur more than once get the gradient of one occurrence only: "
    "`grads[ids] = dx` and `grads[ids] += dx` keep the last; add step by step.": {"last": True},
    "tokens that occur more than once get the gradient of one occurrence only: `=` in the loop "
    "overwrites what the other steps gave; use `+=`.": {"first": True},
    "nothing comes back through h: the gradient of the gates, da W, must be added to dh of the "
    "step before.": {"through_h": False},
    "nothing comes back along the cell: δ ⊙ f must be added to dc of the step before.": {
        "through_c": False
    },
    "no gradient passes from step to step; each step is treated as the only one.": {
        "through_h": False,
        "through_c": False,
    },
    "it is multiplied by the state after the step; the gates read h of the step before.": {
        "old_h": False
    },
    "the gradient of the cell goes back undiminished; it is multiplied by f.": {
        "times_f": False
    },
    "the slope 1 - tanh²(c) is missing where dh enters the cell.": {"slope": False},
}


def _faulty(
    last: bool = False,
    first: bool = False,
    through_h: bool = True,
    through_c: bool = True,
    old_h: bool = True,
    times_f: bool = True,
    slope: bool = True,
) -> Parameters:
    """Gradients of the small model with one part of the backward pass wrong."""
    p, (h, c), dlogits = _draw()
    steps = []
    for x in p["E"][IDS]:
        i, f, g, o = np.split(x @ p["U"].T + h @ p["W"].T + p["b"], 4)
        i, f, o = (1 / (1 + np.exp(-a)) for a in (i, f, o))
        g = np.tanh(g)
        new = f * c + i * g
        steps.append((x, h, c, i, f, g, o, np.tanh(new)))
        h, c = o * np.tanh(new), new
    grads = {name: np.zeros_like(value) for name, value in p.items()}
    after = np.array([step[6] * step[7] for step in steps])
    grads |= {"A": dlogits.T @ after, "a": dlogits.sum(0)}
    dh_later = dc_later = np.zeros(H)
    for t in reversed(range(len(IDS))):
        x, h, c, i, f, g, o, shown = steps[t]
        dh = dlogits[t] @ p["A"] + through_h * dh_later
        dc = through_c * dc_later + dh * o * (1 - shown**2 if slope else 1)
        gates = dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g**2)
        da = np.concatenate((*gates, dh * shown * o * (1 - o)))
        grads["W"] += np.outer(da, h if old_h else after[t])
        grads["U"] += np.outer(da, x)
        grads["b"] += da
        if first:
            grads["E"][IDS[t]] = 0
        if not (last and IDS[t] in IDS[t + 1 :]):
            grads["E"][IDS[t]] += da @ p["U"]
        dh_later, dc_later = da @ p["W"], dc * (f if times_f else 1)
    return grads


def _untouched(forward: Code, backward: Code, _sample: Code) -> None:
    p, state, dlogits = _draw()
    before = {n: v.copy() for n, v in (p | {"h": state[0], "c": state[1]}).items()}
    cache = forward(p, IDS, state)[2]
    first = {n: np.array(g) for n, g in backward(dlogits, cache).items()}
    second = backward(dlogits, cache)
    for name, value in (p | {"h": state[0], "c": state[1]}).items():
        if not np.array_equal(value, before[name]):
            raise FaultError(f"your code changes {name} in place.")
    if not all(np.allclose(first[n], second[n]) for n in first):
        raise FaultError("a second call of backward gives other gradients than the first.")


# --- samples --------------------------------------------------------------------------------


def _samples(
    sample: Code, p: Parameters, count: int, temperature: float, length: int
) -> ndarray:
    """Many samples after one prompt, (count, length), once their form is right."""
    rng = np.random.default_rng(0)
    found = [sample(p, [2, 1], length, temperature, rng) for _ in range(count)]
    lengths = {len(s) for s in found}
    if lengths != {length}:
        raise FaultError(
            f"samples have lengths {sorted(lengths)}; asked were {length} new ids, without the "
            "prompt."
        )
    table = np.array(found)
    if table.min() < 0 or table.max() >= V:
        raise FaultError(f"a sample holds an id outside 0..{V - 1}.")
    return table


def _nearest(shares: ndarray, right: ndarray, mistakes: Mapping[str, ndarray]) -> None:
    """Say which distribution the shares of many draws are nearest to, if not the right one."""
    gaps = {s: np.abs(shares - wrong).sum() for s, wrong in mistakes.items()}
    gap, sentence = np.abs(shares - right).sum(), min(gaps, key=lambda s: gaps[s])
    if gap > 0.15 and gaps[sentence] < gap:
        raise FaultError(sentence)
    if gap > 0.15:
        raise FaultError(
            f"the drawn ids have shares {shares.round(2)}, expected {right.round(2)}."
        )


def _zero() -> tuple[ndarray, ndarray]:
    return np.zeros(H), np.zeros(H)


def _temperature(_forward: Code, _backward: Code, sample: Code) -> None:
    p, _, _ = _draw()
    p["A"] = 3 * p["A"]
    logits = _right(p, np.array([2, 1]), _zero())[0][-1]
    table = _samples(sample, p, 800, 0.5, 1)
    shares = np.bincount(table[:, 0], minlength=V) / len(table)
    mistakes = {
        "the logits are multiplied by the temperature; divide by it.": softmax(logits * 0.5),
        "the temperature is ignored.": softmax(logits),
        "always the likeliest id is taken; draw from the distribution.": np.eye(V)[
            logits.argmax()
        ],
        "ids are drawn uniformly.": np.full(V, 1 / V),
        "only the last token of the prompt is read.": softmax(
            2 * _right(p, np.array([1]), _zero())[0][-1]
        ),
        "only the first token of the prompt is read.": softmax(
            2 * _right(p, np.array([2]), _zero())[0][-1]
        ),
    }
    _nearest(shares, softmax(logits / 0.5), mistakes)


def _carried(_forward: Code, _backward: Code, sample: Code) -> None:
    p, _, _ = _draw()
    p["A"], p["E"] = 6 * p["A"], 4 * p["E"]
    first = softmax(_right(p, np.array([2, 1]), _zero())[0][-1])

    def read(ids):
        return softmax(_right(p, np.array(ids), _zero())[0][-1])

    def mix(rows):
        return sum(q * row for q, row in zip(first, rows, strict=True))

    table = _samples(sample, p, 800, 1.0, 2)
    shares = np.bincount(table[:, 1], minlength=V) / len(table)
    mistakes = {
        "the state is lost after the first drawn id: carry it on.": mix(
            [read([w]) for w in range(V)]
        ),
        "the drawn id is not read before the next one is drawn.": first,
    }
    _nearest(shares, mix([read([2, 1, w]) for w in range(V)]), mistakes)


FORM, STEP, STEPS = "forward: shapes", "forward: one step", "forward: a sequence"
STATE, GRADS = "forward: the state at the end", "backward: names and shapes"
TEMPERATURE = "sample: temperature and prompt"
NAMES = ("A", "a", "W", "U", "b", "E")
EACH = tuple(f"backward: {name} against central differences" for name in NAMES)
TESTS = (
    Case(FORM, _form),
    Case(STEP, _step, (FORM,)),
    Case(STEPS, _steps, (STEP,)),
    Case(STATE, _parts, (STEPS,)),
    Case(GRADS, _backward_form, (STEPS,)),
    *(Case(text, _gradient(name), (GRADS,)) for text, name in zip(EACH, NAMES, strict=True)),
    Case("both: arguments and cache stay as they are", _untouched, (GRADS,)),
    Case(TEMPERATURE, _temperature, (STATE,)),
    Case("sample: the state is carried on", _carried, (TEMPERATURE,)),
)
