"""The project of chapter 6: tests of a reader's Adam and Muon.

from lab.optimization.project import grade
grade(adam)          # part 1
grade(adam, muon)    # part 1 and part 2
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, Report, grade_by

COEFFICIENTS, PASSES = (3.4445, -4.7750, 2.0315), 5
BETAS, EPS, STEPS = (0.9, 0.99), 1e-8, 20
TOLERANCE = 1e-9


def grade(adam: Callable, muon: Callable | None = None) -> Report:
    """Run the tests of the project on a reader's own optimizers.

    Args:
        adam: ``adam(theta, g, state, lr, betas, eps)`` returns the new θ and the new state.
            The state is what the reader likes; None at the start.
        muon: ``muon(theta, g, state, lr, beta, weight_decay)`` for a matrix. None = part 1.

    Returns:
        A report that prints itself.
    """
    if muon is None:
        note = "Part 2 was not tested: call grade(adam, muon)."
        return grade_by(_adam_tests(adam), advice=_advice, note=note)
    return grade_by(_adam_tests(adam) + _muon_tests(muon), advice=_advice)


def _advice(error: Exception) -> str:
    if "broadcast" in str(error):
        return "Memories of one parameter have met another: keep them in the state alone."
    return ""


def _adam_tests(adam: Callable) -> list[Case]:
    def step(theta: ndarray, g: ndarray, state: Any) -> Any:
        return adam(theta, g, state, lr=0.01, betas=BETAS, eps=EPS)

    return [
        Case(
            "adam returns θ and a state",
            lambda: _is_a_step(step, np.array([1.0, -2.0]), "adam"),
        ),
        Case("adam, first step", lambda: _first_length(adam)),
        Case("adam, gradient zero", lambda: _zero(step, np.ones(3), "adam")),
        Case("adam is a pure function", lambda: _pure(step, np.ones(3), "adam")),
        Case("adam, twenty steps", lambda: _adam_path(adam)),
        Case("adam, two parameters", lambda: _two_parameters(step, np.ones(3), "adam")),
    ]


def _muon_tests(muon: Callable) -> list[Case]:
    def step(theta: ndarray, g: ndarray, state: Any) -> Any:
        return muon(theta, g, state, lr=0.01, beta=0.95, weight_decay=0.1)

    ones = np.ones((2, 3))
    return [
        Case("muon returns θ and a state", lambda: _is_a_step(step, ones, "muon")),
        Case("muon, singular values", lambda: _spectrum(muon)),
        Case("muon, scale of the gradient", lambda: _any_scale(muon)),
        Case("muon, gradient zero", lambda: _zero(step, ones, "muon")),
        Case("muon is a pure function", lambda: _pure(step, ones, "muon")),
        Case("muon, square matrix", lambda: _muon_path(muon, (4, 4))),
        Case("muon, wide matrix", lambda: _muon_path(muon, (3, 6))),
        Case("muon, tall matrix", lambda: _muon_path(muon, (6, 3))),
        Case("muon, two parameters", lambda: _two_parameters(step, ones, "muon")),
    ]


# --- what both must satisfy -------------------------------------------------------------------


def _is_a_step(step: Callable, theta: ndarray, name: str) -> str | None:
    result = step(theta.copy(), np.ones_like(theta), None)
    if not (isinstance(result, tuple) and len(result) == 2):
        return f"{name} returned {type(result).__name__}; return two things: θ and the state."
    if np.shape(result[0]) != theta.shape:
        return f"θ has shape {theta.shape} and {name} returned shape {np.shape(result[0])}."
    return None


def _zero(step: Callable, theta: ndarray, name: str) -> str | None:
    moved, _ = step(theta.copy(), np.zeros_like(theta), None)
    if np.isfinite(moved).all():
        return None
    return (
        f"A gradient of zeros makes {name} return {moved.ravel()[0]}: look for a division by "
        "zero. In Adam t counts from 1, and ε keeps 0/0 away; in Muon the norm needs a floor."
    )


def _pure(step: Callable, theta: ndarray, name: str) -> str | None:
    rng = np.random.default_rng(1)
    before, g = rng.normal(size=(2, *theta.shape))
    kept_theta, kept_g = theta.copy(), g.copy()
    _, state = step(theta, before, None)
    first, _ = step(theta, g, state)
    second, _ = step(theta, g, state)
    if not (np.array_equal(theta, kept_theta) and np.array_equal(g, kept_g)):
        return f"{name} changes its arguments in place: write θ = θ - ..., not θ -= ..."
    if not np.array_equal(first, second):
        return (
            f"{name} called twice with the same θ, g and state gives two answers: it changes "
            "the state that it was handed. Make a new one, or no run can be repeated."
        )
    return None


def _two_parameters(step: Callable, theta: ndarray, name: str) -> str | None:
    """Interleaved runs of two parameters must be those of each alone."""
    rng = np.random.default_rng(2)
    gs = rng.normal(size=(6, 2, *theta.shape))
    alone, state = theta.copy(), None
    for g, _ in gs:
        alone, state = step(alone, g, state)
    both, states = [theta.copy(), theta.copy()], [None, None]
    for pair in gs:
        for i in range(2):
            both[i], states[i] = step(both[i], pair[i], states[i])
    if np.allclose(both[0], alone, atol=1e-12, equal_nan=True):
        return None
    return (
        f"A second parameter changes what {name} does to the first: each has memories and a "
        "clock of its own. Keep them in the state, not in a global or default argument."
    )


def _diagnosis(
    path: ndarray, right: ndarray, variants: dict[str, ndarray], name: str
) -> str | None:
    """None if the path is right; else the known fault whose path it is."""
    if np.isfinite(path).all() and np.allclose(path, right, rtol=TOLERANCE, atol=TOLERANCE):
        return None
    for fault, wrong in variants.items():
        if np.allclose(path, wrong, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            return f"{name}: {fault}"
    close = np.isclose(path, right, rtol=TOLERANCE, atol=TOLERANCE)
    step = int(np.argmax(~close.reshape(len(path), -1).all(1)))
    found, expected = path[step].ravel(), right[step].ravel()
    i = int(np.argmax(~close[step].ravel()))
    return (
        f"{name}: after step {step} entry {i} of θ is {found[i]:.8g}, expected "
        f"{expected[i]:.8g}. It is none of the usual slips; compare with the equation line by "
        "line."
    )


# --- part 1: Adam -----------------------------------------------------------------------------


def _first_length(adam: Callable) -> str | None:
    g = np.array([1e-3, -0.5, 70.0])
    moved, _ = adam(np.zeros(3), g, None, lr=1.0, betas=(0.9, 0.999), eps=1e-8)
    length = -np.asarray(moved) * np.sign(g)
    if np.allclose(length, 1, atol=1e-3):
        return None
    return (
        f"The first step of adam at lr = 1 moves the entries by {np.round(length, 3).tolist()} "
        "against their gradients; both corrections together make each move 1."
    )


ADAM_FAULTS = {
    "m": "the mean of the gradients is not corrected: divide m by 1 - β₁ᵗ.",
    "v": "the mean of the squares is not corrected: divide v by 1 - β₂ᵗ.",
    "both": "neither mean is corrected for its start at zero.",
    "root": "ε stands inside the root: it is added to √v̂, after the root is taken.",
    "early": "ε is added before v is corrected: correct first, take the root, then add ε.",
    "swap": "β₁ and β₂ are exchanged: β₁ belongs to the mean of the gradients.",
    "sum": "m is a sum of gradients: the new gradient has the weight 1 - β₁.",
    "square": "v averages the squares of m: it is the mean of the squared gradients.",
    "clock": "the clock stands still: t counts steps and must be kept in the state.",
    "forgets": "each step is like the first: m and v of the step before are not used.",
    "up": "the parameters move along the gradient, not against it.",
    "sqrt": "the division by √v̂ lacks its root: v̂ is in units of g².",
}


def _adam(gradients: ndarray, theta: ndarray, lr: float, fault: str = "") -> ndarray:
    """Path of Adam, right or with one fault."""
    b1, b2 = BETAS[::-1] if fault == "swap" else BETAS
    m, v, path = np.zeros_like(theta), np.zeros_like(theta), [theta]
    for t, g in enumerate(gradients, start=1):
        if fault in ("clock", "forgets"):
            t = 1
        if fault == "forgets":
            m, v = np.zeros_like(theta), np.zeros_like(theta)
        m = b1 * m + (1.0 if fault == "sum" else 1 - b1) * g
        v = b2 * v + (1 - b2) * (m if fault == "square" else g) ** 2
        m_hat = m / (1 if fault in ("m", "both") else 1 - b1**t)
        v_hat = v / (1 if fault in ("v", "both") else 1 - b2**t)
        size = np.sqrt(v_hat) + EPS
        if fault == "root":
            size = np.sqrt(v_hat + EPS)
        if fault == "early":
            size = (np.sqrt(v) + EPS) / np.sqrt(1 - b2**t)
        if fault == "sqrt":
            size = v_hat + EPS
        theta = theta - (-lr if fault == "up" else lr) * m_hat / size
        path.append(theta)
    return np.array(path)


def _adam_path(adam: Callable) -> str | None:
    rng = np.random.default_rng(0)
    gradients = rng.normal(0.3, 1.0, size=(STEPS, 4)) * [1e-8, 1e-3, 1.0, 50.0]
    theta, state = np.array([1.0, -1.0, 2.0, 0.5]), None
    path = [theta]
    for g in gradients:
        theta, state = adam(theta, g, state, lr=0.01, betas=BETAS, eps=EPS)
        path.append(np.asarray(theta))
    variants = {text: _adam(gradients, path[0], 0.01, key) for key, text in ADAM_FAULTS.items()}
    return _diagnosis(np.array(path), _adam(gradients, path[0], 0.01), variants, "adam")


# --- part 2: Muon -----------------------------------------------------------------------------

MUON_FAULTS = {
    "norm": "the iteration starts from G itself: divide by its Frobenius norm first.",
    "spectral": "the iteration starts from G over its largest singular value; the project asks "
    "for the Frobenius norm, which costs no decomposition.",
    "cubic": "the iteration has the coefficients (3/2, -1/2, 0), not Muon's.",
    "four": "the iteration makes four passes, not five.",
    "six": "the iteration makes six passes, not five.",
    "svd": "all singular values are exactly 1: five passes of the polynomial, without SVD.",
    "still": "there is no momentum: the gradient of this step alone is orthogonalized.",
    "plain": "the look-ahead is missing: orthogonalize g + βm (or (1 - β)g + βm), not m.",
    "late": "the gradient is orthogonalized and then averaged: first the momentum, then the "
    "orthogonalization.",
    "scale": "the factor √max(1, n_out/n_in) of the step is missing.",
    "turned": "the factor of the step has n_in/n_out in place of n_out/n_in: rows are outputs.",
    "none": "the weights do not shrink: multiply θ by 1 - ηλ.",
    "inside": "λθ was added to the gradient, where orthogonalizing rescales it: shrink θ by "
    "1 - ηλ outside.",
    "rate": "θ shrinks by 1 - λ: the decay of a step is ηλ.",
    "up": "the parameters move along the gradient, not against it.",
}


def _orthogonalized(G: ndarray, fault: str = "") -> ndarray:
    if fault == "svd":
        U, _, Vt = np.linalg.svd(G, full_matrices=False)
        return U @ Vt
    a, b, c = (1.5, -0.5, 0.0) if fault == "cubic" else COEFFICIENTS
    norms = {"norm": 1.0, "spectral": float(np.linalg.norm(G, 2))}
    X = G / max(norms.get(fault, float(np.linalg.norm(G))), 1e-7)
    for _ in range({"four": 4, "six": 6}.get(fault, PASSES)):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X


def _muon(
    gradients: ndarray, theta: ndarray, lr: float, beta: float, decay: float, fault: str = ""
) -> ndarray:
    """Path of Muon, right or with one fault."""
    m, path, (n_out, n_in) = np.zeros_like(theta), [theta], theta.shape
    shape = n_in / n_out if fault == "turned" else n_out / n_in
    r = 1.0 if fault == "scale" else max(1.0, shape) ** 0.5
    for g in gradients:
        g = g + decay * theta if fault == "inside" else g
        new = _orthogonalized(g) if fault == "late" else g
        m = beta * m + (1 - beta) * new
        u = {"still": g, "plain": m}.get(fault, (1 - beta) * new + beta * m)
        u = u if fault == "late" else _orthogonalized(u, fault)
        shrink = {"none": 1.0, "inside": 1.0, "rate": 1 - decay}.get(fault, 1 - lr * decay)
        theta = shrink * theta - (-lr if fault == "up" else lr) * r * u
        path.append(theta)
    return np.array(path)


def _spectrum(muon: Callable) -> str | None:
    rng = np.random.default_rng(3)
    U, V = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(2))
    G = U @ np.diag([5.0, 2.0, 1.0, 0.5]) @ V.T
    moved, _ = muon(np.zeros((4, 4)), G, None, lr=1.0, beta=0.0, weight_decay=0.0)
    inside = U.T @ -np.asarray(moved) @ V
    values, rest = np.diag(inside), inside - np.diag(np.diag(inside))
    if np.abs(rest).max() > 1e-6:
        return (
            "The first step of muon is not made from the singular directions of the gradient: "
            "odd polynomials of G, such as G Gᵀ G, keep them; look at the order of products."
        )
    if np.all((values > 0.65) & (values < 1.25)):
        return None
    return (
        f"A gradient with singular values 5, 2, 1, 0.5 gives a first step "
        f"with {values.round(2)}, which five passes bring to between 0.65 and 1.25."
    )


def _any_scale(muon: Callable) -> str | None:
    G = np.random.default_rng(4).normal(size=(3, 5))
    ends = [
        np.asarray(muon(np.zeros((3, 5)), c * G, None, lr=1.0, beta=0.9, weight_decay=0.0)[0])
        for c in (1.0, 1000.0)
    ]
    if np.allclose(ends[0], ends[1], atol=1e-6):
        return None
    return "A gradient 1000 times as large changes muon's step: normalize before the passes."


def _muon_path(muon: Callable, shape: tuple[int, int]) -> str | None:
    rng = np.random.default_rng(5)
    gradients = rng.normal(0.3, 1.0, size=(STEPS, *shape))
    theta, state = rng.normal(size=shape), None
    numbers = {"lr": 0.05, "beta": 0.9, "weight_decay": 0.2}
    path = [theta]
    for g in gradients:
        theta, state = muon(theta, g, state, **numbers)
        path.append(np.asarray(theta))
    values = (gradients, path[0], 0.05, 0.9, 0.2)
    variants = {text: _muon(*values, key) for key, text in MUON_FAULTS.items()}
    name = f"muon on a {shape[0]} × {shape[1]} matrix"
    return _diagnosis(np.array(path), _muon(*values), variants, name)


__all__ = ["grade"]
