"""Reference solution of the project: a character LSTM, its gradients and its samples."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy import ndarray

Parameters = Mapping[str, ndarray]
State = tuple[ndarray, ndarray]


def forward(p: Parameters, ids: ndarray, state: State) -> tuple[ndarray, State, tuple]:
    """Logits of the token after each token of a text.

    Args:
        p: E (V, D), U (4H, D), W (4H, H), b (4H), A (V, H), a (V); the blocks of U, W and b
            are those of the gates i, f, of the candidate g and of the gate o.
        ids: Tokens (T).
        state: h and c before the first of them, (H) each.

    Returns:
        Logits (T, V), the state after the last token, and what the backward pass needs.
    """
    h, c = state
    steps, outputs = [], []
    for x in p["E"][ids]:
        i, f, g, o = np.split(x @ p["U"].T + h @ p["W"].T + p["b"], 4)
        i, f, g, o = _sigmoid(i), _sigmoid(f), np.tanh(g), _sigmoid(o)
        new_c = f * c + i * g
        new_h = o * np.tanh(new_c)
        steps.append((x, h, c, i, f, g, o, new_c))
        h, c = new_h, new_c
        outputs.append(h)
    logits = np.array(outputs) @ p["A"].T + p["a"]
    return logits, (h, c), (p, ids, steps, np.array(outputs))


def backward(dlogits: ndarray, cache: tuple) -> dict[str, ndarray]:
    """Gradients of the loss in all parameters.

    Args:
        dlogits: Gradient of the loss in the logits, (T, V).
        cache: Third output of :func:`forward`.

    Returns:
        A gradient for each parameter, under its name.
    """
    p, ids, steps, outputs = cache
    grads = {name: np.zeros_like(value) for name, value in p.items()}
    grads["A"], grads["a"] = dlogits.T @ outputs, dlogits.sum(0)
    dh_later = dc_later = np.zeros(outputs.shape[1])
    for t in reversed(range(len(steps))):
        x, h, c, i, f, g, o, new_c = steps[t]
        dh, squashed = dlogits[t] @ p["A"] + dh_later, np.tanh(new_c)
        dc = dc_later + dh * o * (1 - squashed**2)
        da_i, da_f = dc * g * i * (1 - i), dc * c * f * (1 - f)
        da_g, da_o = dc * i * (1 - g**2), dh * squashed * o * (1 - o)
        da = np.concatenate((da_i, da_f, da_g, da_o))
        grads["W"] += np.outer(da, h)
        grads["U"] += np.outer(da, x)
        grads["b"] += da
        grads["E"][ids[t]] += da @ p["U"]
        dh_later, dc_later = da @ p["W"], dc * f
    return grads


def sample(
    p: Parameters,
    prompt: Sequence[int],
    length: int,
    temperature: float,
    rng: np.random.Generator,
) -> list[int]:
    """Continue a prompt by tokens drawn from softmax(logits / temperature).

    Args:
        p: As for :func:`forward`.
        prompt: Tokens read first, at least one.
        length: Number of tokens to draw.
        temperature: Divides the logits.
        rng: Source of the draws.

    Returns:
        The tokens drawn, without the prompt.
    """
    zero = np.zeros(p["W"].shape[1])
    logits, state, _ = forward(p, np.array(prompt), (zero, zero))
    drawn: list[int] = []
    while len(drawn) < length:
        scores = logits[-1] / temperature
        weights = np.exp(scores - scores.max())
        drawn.append(int(rng.choice(len(weights), p=weights / weights.sum())))
        logits, state, _ = forward(p, np.array(drawn[-1:]), state)
    return drawn


def _sigmoid(a: ndarray) -> ndarray:
    return 1 / (1 + np.exp(-a))
