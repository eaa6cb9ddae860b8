"""The project of chapter 2: tests of a reader's reverse mode over arrays.

from lab.calculus.project import grade
grade(Tensor, gradients)         # part 1
grade(Tensor, gradients, hvp)    # part 1 and part 2
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, Report, grade_by
from mathlm.reference import hessian_vector_product, numerical_vjp

DIGITS = 1e-12  # of a product with the Hessian: no difference quotient has as many


def grade(tensor: type, gradients: Callable, hvp: Callable | None = None) -> Report:
    """Run the tests of the project on a reader's own differentiation of arrays.

    Args:
        tensor: The class ``Tensor``: ``Tensor(array)`` with ``value``, the operations
            ``+ - * @``, the methods ``exp, log, tanh, sum`` and the property ``T``.
        gradients: ``gradients(y, inputs)`` returns an array for each input.
        hvp: ``hvp(f, x, t)`` returns t times the Hessian of f at x. None = part 1 alone.

    Returns:
        A report that prints itself.
    """
    if hvp is None:
        note = "Part 2 was not tested: call grade(Tensor, gradients, hvp)."
        return grade_by(_part_1(), tensor, gradients, advice=_advice, note=note)
    report = grade_by(_part_1(), tensor, gradients, advice=_advice)
    return Report(report.results + grade_by(PART_2, hvp, advice=_advice).results)


def _advice(error: Exception) -> str:
    """What usually raises such an error in this project."""
    if isinstance(error, RecursionError):
        return (
            "Collect the tensors with a list and a loop, not a function that calls itself: the "
            "chain has 3000 additions."
        )
    return ""


# --- part 1: values and gradients -------------------------------------------------------------

Expression = tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]
CASES: dict[str, Expression] = {
    "a + b": (lambda a, b: a + b, ((4, 3), (4, 3))),
    "a - b": (lambda a, b: a - b, ((4, 3), (4, 3))),
    "a * b": (lambda a, b: a * b, ((4, 3), (4, 3))),
    "-a": (lambda a: -a, ((4, 3),)),
    "a @ b": (lambda a, b: a @ b, ((4, 3), (3, 2))),
    "a.exp()": (lambda a: a.exp(), ((3,),)),
    "a.log()": (lambda a: a.log(), ((3,),)),
    "a.tanh()": (lambda a: a.tanh(), ((3,),)),
    "a.T": (lambda a: a.T, ((4, 3),)),
    "a.sum()": (lambda a: a.sum(), ((4, 3),)),
    "a.sum(axis=0)": (lambda a: a.sum(axis=0), ((4, 3),)),
    "a.sum(axis=1)": (lambda a: a.sum(axis=1), ((3, 3),)),
    "a.sum(axis=-1, keepdims=True)": (lambda a: a.sum(axis=-1, keepdims=True), ((4, 3),)),
    "a + b with a bias b": (lambda a, b: a + b, ((4, 3), (3,))),
    "a * b with a column b": (lambda a, b: a * b, ((4, 3), (4, 1))),
    "a * b with a number b": (lambda a, b: a * b, ((4, 3), ())),
    "a - b of a row and a column": (lambda a, b: a - b, ((1, 3), (4, 1))),
}


def _arrays(shapes: Sequence[tuple[int, ...]], seed: int = 0) -> list[ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.5, 1.5, size=shape) for shape in shapes]  # positive, for log


class _Plain(np.ndarray):
    """An array with the methods of a tensor: what the expressions compute without a tape."""

    def exp(self) -> Any:
        return np.exp(self)

    def log(self) -> Any:
        return np.log(self)

    def tanh(self) -> Any:
        return np.tanh(self)


def _truth(f: Callable[..., Any], arrays: Sequence[ndarray]) -> ndarray:
    return np.asarray(f(*(np.asarray(a).view(_Plain) for a in arrays)))


def _slopes(
    tensor: type, gradients: Callable, f: Callable[..., Any], arrays: Sequence[ndarray]
) -> tuple[list[ndarray], tuple[ndarray, ...]]:
    """Gradients of the sum of f times random numbers: a reader's, and by differences."""
    dy = _arrays([np.shape(_truth(f, arrays))], seed=1)[0]
    inputs = [tensor(a.copy()) for a in arrays]
    found = gradients((f(*inputs) * dy).sum(), inputs)
    expected = numerical_vjp(lambda *a: _truth(f, a), tuple(arrays), dy)
    return [np.asarray(g) for g in found], expected


def _values(tensor: type, gradients: Callable) -> str | None:
    for name, (f, shapes) in CASES.items():
        arrays = _arrays(shapes)
        found, expected = np.asarray(f(*map(tensor, arrays)).value), _truth(f, arrays)
        if found.shape != expected.shape:
            return f"The value of {name} has shape {found.shape}, expected {expected.shape}."
        if not np.allclose(found, expected):
            return f"The value of {name} is not what NumPy computes for the same arrays."
    return None


def _sides(tensor: type, gradients: Callable) -> str | None:
    a, array = _arrays([(2, 2), (2, 2)])
    t = tensor(a)
    cases: dict[str, tuple[Callable[[], Any], ndarray]] = {
        "tensor + 2": (lambda: t + 2, a + 2),
        "2 + tensor": (lambda: 2 + t, a + 2),
        "5 - tensor": (lambda: 5 - t, 5 - a),
        "array * tensor": (lambda: array * t, array * a),
        "array - tensor": (lambda: array - t, array - a),
        "array @ tensor": (lambda: array @ t, array @ a),
    }
    for name, (f, expected) in cases.items():
        try:
            found = f()
            right = np.allclose(found.value, expected) and isinstance(found, tensor)
        except (TypeError, AttributeError, ValueError):
            right = False
        if not right:
            return (
                f"{name} does not give the right tensor: define the operation for a number or "
                "an array on either side (__radd__ and so on), and __array_ufunc__ = None, so "
                "that an array on the left leaves the work to your class."
            )
    return None


def _gradient(tensor: type, gradients: Callable, name: str) -> str | None:
    f, shapes = CASES[name]
    found, expected = _slopes(tensor, gradients, f, _arrays(shapes))
    if len(found) != len(shapes):
        return f"gradients returned {len(found)} arrays for {len(shapes)} inputs."
    for letter, g, e in zip("ab", found, expected, strict=False):
        if g.shape != e.shape:
            return (
                f"The gradient of {letter} in {name} has shape {g.shape}, and {letter} has "
                f"{e.shape}: what was copied forward must be summed backward."
            )
        if not np.allclose(g, e, rtol=1e-5, atol=1e-7):
            return (
                f"The gradient of {letter} in {name} differs from central differences by "
                f"{np.abs(g - e).max():.2g}: look at the pull-back of that operation. (The "
                "gradient that arrives is random, not all ones.)"
            )
    return None


def _shares(tensor: type, gradients: Callable) -> str | None:
    found, expected = _slopes(tensor, gradients, lambda a: a * a + a, _arrays([(3,)]))
    if not np.allclose(found[0], expected[0], rtol=1e-5):
        return (
            "The gradient of a * a + a is wrong: a tensor that is used more than once must add "
            "what comes back along every path."
        )
    inputs = [tensor(np.array(1.0))]
    end = inputs[0]
    for _ in range(12):
        end = end + end
    slope = float(gradients(end, inputs)[0])
    if slope != 2**12:
        return (
            f"Doubling twelve times by x + x gives the slope {slope:g}, expected 4096: visit "
            "the tensors in reverse topological order, each once, after all that use it."
        )
    return None


def _zeros(tensor: type, gradients: Callable) -> str | None:
    a, b = map(tensor, _arrays([(3,), (2, 2)]))
    found = np.asarray(gradients((a * a).sum(), [a, b])[1])
    if found.shape == (2, 2) and not found.any():
        return None
    return "The gradient in an input that y does not depend on must be zeros of its shape."


def _twice(tensor: type, gradients: Callable) -> str | None:
    a = tensor(_arrays([(3,)])[0])
    y = (a * a).sum()
    first, second = (np.array(gradients(y, [a])[0]) for _ in range(2))
    if np.array_equal(first, second):
        return None
    return (
        "A second call of gradients gives something else: keep the gradients of a sweep in a "
        "dictionary that starts empty, not in the tensors."
    )


def _leaves_arrays(tensor: type, gradients: Callable) -> str | None:
    arrays = _arrays([(3,), (3,)])
    inputs = [tensor(a) for a in arrays]
    kept = [a.copy() for a in arrays]
    a, b = inputs
    middle = a + b
    y = (middle * middle + a + a * b).sum()
    found = [np.array(g) for g in gradients(y, inputs)]
    expected = (2 * (kept[0] + kept[1]) + 1 + kept[1], 2 * (kept[0] + kept[1]) + kept[0])
    if not all(np.array_equal(a, k) for a, k in zip(arrays, kept, strict=True)):
        return "A call of gradients changed the arrays of the inputs."
    if all(np.allclose(f, e) for f, e in zip(found, expected, strict=True)):
        return None
    return (
        "Single operations are right and (a + b)² + a + ab is not: perhaps d += new changes an "
        "array that two tensors share. Write d = d + new."
    )


def _long_chain(tensor: type, gradients: Callable) -> str | None:
    a = tensor(np.array(1.0))
    end = a
    for _ in range(3000):
        end = end + 0.5
    slope = float(gradients(end, [a])[0])
    return None if slope == 1 else f"After 3000 additions the slope is {slope:g}, expected 1."


def _cross_entropy(W1: Any, b: Any, W2: Any, X: Any) -> Any:
    """A network with one hidden layer; the right class is number 0."""
    z = (X @ W1.T + b).tanh() @ W2.T
    first = np.array([[1.0], [0.0], [0.0]])
    return (z.exp().sum(axis=1).log() - (z @ first).sum(axis=1)).sum()


def _network(tensor: type, gradients: Callable) -> str | None:
    X, *arrays = _arrays([(5, 4), (6, 4), (6,), (3, 6)], seed=2)
    arrays = [a - 1 for a in arrays]
    found, expected = _slopes(
        tensor, gradients, lambda W1, b, W2: _cross_entropy(W1, b, W2, X.view(_Plain)), arrays
    )
    if all(
        np.allclose(f, e, rtol=1e-4, atol=1e-6) for f, e in zip(found, expected, strict=True)
    ):
        return None
    return (
        "The gradients of a network with one hidden layer and cross-entropy differ from "
        "central differences: if every operation is right alone, look at the order of the "
        "sweep."
    )


def _part_1() -> list[Case]:
    alone = [
        Case(f"gradient of {name}", lambda t, g, name=name: _gradient(t, g, name))
        for name in CASES
    ]
    each = tuple(case.name for case in alone)
    return [
        Case("values", _values),
        Case("numbers and arrays on either side", _sides),
        *alone,
        Case("a tensor that is used twice", _shares, each[:3]),
        Case("an input that y does not depend on", _zeros),
        Case("a second call of gradients", _twice),
        Case("arrays stay as they are", _leaves_arrays, each[:3]),
        Case("a long chain", _long_chain, each[:1]),
        Case("a network", _network, each),
    ]


# --- part 2: products with the Hessian --------------------------------------------------------


def _quadratic(hvp: Callable) -> str | None:
    A, x, t = _arrays([(3, 3), (1, 3), (1, 3)], seed=3)
    found = np.asarray(hvp(lambda x: ((x @ A) * x).sum(), x, t))
    if found.shape != t.shape:
        return f"hvp returned the shape {found.shape} for a t of shape {t.shape}."
    expected = t @ (A + A.T)
    if np.allclose(found, expected, rtol=1e-4):
        return None
    if np.allclose(2 * found, expected, rtol=1e-4):
        return "hvp of x A xᵀ is half of t (A + Aᵀ): a factor of 2 was lost."
    return "hvp of the quadratic form x A xᵀ is not t (A + Aᵀ)."


def _digits(hvp: Callable) -> str | None:
    x, t = (a - 1 for a in _arrays([(4,), (4,)], seed=4))
    found = np.asarray(hvp(lambda x: ((x * x).tanh() * x.exp()).sum(), x, t))
    truth = hessian_vector_product(lambda x: (np.tanh(x * x) * np.exp(x)).sum(), x, t)[2]
    if np.iscomplexobj(found):
        return "hvp returned complex numbers: its result is the imaginary part over the step."
    error = float(np.abs(found - truth).max() / np.abs(truth).max())
    if error < DIGITS:
        return None
    if error < 1e-3:
        return (
            f"hvp is right to a relative error of {error:.0e}: that is a difference quotient. "
            "A derivative of the sweep without a subtraction has all digits."
        )
    if not found.any():
        return (
            "hvp returned zeros: if you step into the complex plane, some line drops the "
            "imaginary part, such as np.asarray(value, dtype=float)."
        )
    return f"hvp of tanh(x²) eˣ has a relative error of {error:.1g}."


def _matrix(hvp: Callable) -> str | None:
    W, t, X = _arrays([(2, 3), (2, 3), (4, 3)], seed=5)
    found = np.asarray(hvp(lambda W: (X @ W.T).exp().sum(), W, t))
    truth = hessian_vector_product(lambda W: np.exp(X @ W.T).sum(), W, t)[2]
    if found.shape == truth.shape and np.allclose(found, truth, rtol=1e-9):
        return None
    return "hvp in a matrix W is wrong, where that in vectors is right: look at @ and T."


PART_2 = (
    Case("hvp of a quadratic form", _quadratic),
    Case("hvp to all digits", _digits),
    Case("hvp in a matrix", _matrix),
)

__all__ = ["Report", "grade"]
