"""Steps of an optimizer as pure functions: what all of them refuse, and the loop over them."""

import functools
import inspect
import math
from collections.abc import Callable
from numbers import Real
from typing import Any, ParamSpec

import numpy as np
from numpy import ndarray

from ...errors import ConfigError, InputError, InputTypeError, NonFiniteLossError
from ..arrays import finite_array

P = ParamSpec("P")
State = dict[str, Any]
Step = Callable[..., tuple[ndarray, State]]
RANGED = {"beta", "betas", "eps", "lr", "weight_decay"}


def descend(
    gradient: Callable[[ndarray], ndarray],
    theta: ndarray,
    step: Step,
    steps: int,
    **numbers: Any,
) -> ndarray:
    """Follow an optimizer from a point; keep every point it visits.

    Computes::

        θ₍ₜ₊₁₎, state ← step(θₜ, ∇L(θₜ), state),   t = 0 … steps - 1

    Args:
        gradient: θ to the gradient ∇L(θ), of the shape of θ; it may be a random estimate.
        theta: Start θ₀, a float64 array.
        step: A step such as :func:`momentum_step`.
        steps: How many steps, at least 0.
        numbers: Arguments of ``step``, such as ``lr``. One that is a function, such as a
            schedule, is called with t, which counts from 0.

    Returns:
        The trajectory: ``steps + 1`` points along its first axis, the start among them.

    Raises:
        ConfigError: If ``steps`` is negative or a number is outside its range.
        InputError: If the start is empty or not finite.
        NonFiniteLossError: If the descent diverges until something is no longer finite.

    Example:
        >>> from mathlm.reference import sgd_step
        >>> descend(lambda x: 2 * x, np.array([8.0]), sgd_step, 3, lr=0.25).ravel().tolist()
        [8.0, 4.0, 2.0, 1.0]
    """
    if steps < 0:
        raise ConfigError(f"steps={steps} must not be negative")
    theta = finite_array(theta, "theta")
    trajectory, state = np.empty((steps + 1, *theta.shape)), None
    trajectory[0] = theta
    for t in range(steps):
        now = {name: n(t) if callable(n) else n for name, n in numbers.items()}
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                g = gradient(trajectory[t].copy())
            trajectory[t + 1], state = step(trajectory[t], g, state, **now)
        except NonFiniteLossError as error:
            raise NonFiniteLossError(
                f"the descent stops in step {t + 1} of {steps}: {error}; use a smaller lr"
            ) from error
    return trajectory


def checked(step: Callable[P, tuple[ndarray, State]]) -> Callable[P, tuple[ndarray, State]]:
    """Check what goes into ``step`` and what comes out, so that its body is its equation."""
    signature = inspect.signature(step)

    @functools.wraps(step)
    def checked_step(*args: P.args, **kwargs: P.kwargs) -> tuple[ndarray, State]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = dict(bound.arguments)
        theta, gradient, _ = (values.pop(name) for name in ("theta", "gradient", "state"))
        require_arrays(theta, gradient)
        for name, value in values.items():
            require_number(name, value)
        with np.errstate(over="ignore", invalid="ignore"):
            moved, state = step(*args, **kwargs)
        require_finite({"theta": moved} | state, gradient)
        return moved, state

    return checked_step


def unpack(state: State | None, theta: ndarray, *names: str) -> tuple[Any, ...]:
    """Number t of the step being done, counted from 1, and the arrays of the state.

    Arrays are zero at the start, where the state is None.
    """
    if state is None:
        return (1, *(np.zeros_like(theta) for _ in names))
    if set(state) != {"t", *names}:
        raise InputError(
            f"the state holds {sorted(state)}, expected {sorted({'t', *names})}: "
            "it is of another optimizer; begin with None"
        )
    for name in names:
        if state[name].shape != theta.shape:
            raise InputError(
                f"{name} of the state has shape {state[name].shape}, but theta has "
                f"{theta.shape}: it is of another parameter; begin with None"
            )
    return (state["t"] + 1, *(state[name] for name in names))


def require_arrays(theta: ndarray, gradient: ndarray) -> None:
    """Refuse anything but two finite float64 arrays of one shape."""
    for name, x in (("theta", theta), ("gradient", gradient)):
        if not isinstance(x, ndarray) or x.dtype != np.float64:
            found = getattr(x, "dtype", type(x).__name__)
            raise InputTypeError(f"{name} must be a float64 array, got {found}")
        if x.size == 0 or x.ndim == 0:
            raise InputError(f"{name} of shape {x.shape} must have an axis and an entry")
    if theta.shape != gradient.shape:
        raise InputError(
            f"gradient has shape {gradient.shape}, but theta has {theta.shape}: "
            "the gradient in theta has its shape"
        )
    for name, x in (("theta", theta), ("gradient", gradient)):
        if bad := int(np.sum(~np.isfinite(x))):
            raise NonFiniteLossError(f"{bad} of {x.size} entries of {name} are not finite")


def require_number(name: str, value: Any) -> None:
    """Refuse a number outside its range; a name without a range may hold anything."""
    decays = value if isinstance(value, tuple | list) else (value,)
    if name in RANGED and not all(isinstance(b, Real) for b in decays):
        raise InputTypeError(f"{name}={value!r} must be a number")
    if name == "betas" and len(decays) != 2:
        raise ConfigError(f"betas={value} must be two decay rates")
    if name in {"beta", "betas"}:
        if not all(0 <= b < 1 for b in decays):
            raise ConfigError(f"{name}={value} must lie in [0, 1)")
    elif name in {"lr", "weight_decay"}:
        if not 0 <= value < math.inf:
            raise ConfigError(f"{name}={value} must be finite and not negative")
    elif name == "eps" and not 0 < value < math.inf:
        raise ConfigError(f"eps={value} must be finite and positive")


def require_finite(results: State, gradient: ndarray) -> None:
    """Refuse a result that overflowed."""
    for name, x in results.items():
        if not np.all(np.isfinite(x)):
            raise NonFiniteLossError(
                f"{name} overflows: the largest gradient is {np.abs(gradient).max():.3g}"
            )


__all__ = ["State", "Step", "checked", "descend", "unpack"]
