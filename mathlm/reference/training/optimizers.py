"""Optimizers as pure functions: parameter, gradient and state in, parameter and state out.

Every step takes ``state=None`` at the start and returns a new state, a dict with the number
``t`` of steps done and the arrays of the optimizer. No argument is modified. Refused are
gradients that are not finite (NonFiniteLossError), arrays that do not fit (InputError,
InputTypeError) and numbers outside their range (ConfigError).
"""

from numbers import Integral

import numpy as np
from numpy import ndarray

from ...errors import ConfigError
from ...shapes import Float
from .stepping import State, checked, unpack

Array = Float[ndarray, "..."]
Number = float | int


@checked
def sgd_step(
    theta: Array, gradient: Array, state: State | None = None, *, lr: Number
) -> tuple[Array, State]:
    """One step against the gradient.

    Implements eq-descent-step::

        θ ← θ - ηg

    Args:
        theta: Parameter θ.
        gradient: Gradient g, exact or estimated from a batch.
        state: What the step before returned; None at the start.
        lr: Step size η.

    Returns:
        The new θ and the new state, which holds ``t`` alone.

    Example:
        >>> theta, state = sgd_step(np.array([1.0]), np.array([2.0]), lr=0.25)
        >>> theta
        array([0.5])
    """
    (t,) = unpack(state, theta)
    return theta - lr * gradient, {"t": t}


@checked
def momentum_step(
    theta: Array,
    gradient: Array,
    state: State | None = None,
    *,
    lr: Number,
    beta: Number = 0.9,
) -> tuple[Array, State]:
    """One step along the decaying sum of the gradients.

    Implements eq-momentum::

        m ← βm + g
        θ ← θ - ηm

    PyTorch's convention. Under a constant gradient the step grows to η / (1 - β) times it.

    Args:
        theta: Parameter θ.
        gradient: Gradient g.
        state: What the step before returned; None at the start, where m = 0.
        lr: Step size η.
        beta: Decay rate β in [0, 1) [1/step].

    Returns:
        The new θ and the new state with ``m`` and ``t``.

    Example:
        >>> theta, state = momentum_step(np.array([1.0]), np.array([2.0]), lr=0.125, beta=0.5)
        >>> theta, state = momentum_step(theta, np.array([2.0]), state, lr=0.125, beta=0.5)
        >>> theta  # 1 - (2 + 3) / 8
        array([0.375])

    References:
        Polyak (1964), Some methods of speeding up the convergence of iteration methods.
    """
    t, m = unpack(state, theta, "m")
    m = beta * m + gradient
    return theta - lr * m, {"t": t, "m": m}


@checked
def averaged_momentum_step(
    theta: Array,
    gradient: Array,
    state: State | None = None,
    *,
    lr: Number,
    beta: Number = 0.9,
) -> tuple[Array, State]:
    """One step along the running mean of the gradients.

    Implements eq-momentum-averaged::

        m ← βm + (1-β)g
        θ ← θ - ηm

    The same path as :func:`momentum_step` with the step size (1-β)η. It is not PyTorch's
    ``dampening=β``, which leaves the factor 1-β out of the first step.

    Args:
        theta: Parameter θ.
        gradient: Gradient g.
        state: What the step before returned; None at the start, where m = 0.
        lr: Step size η.
        beta: Decay rate β in [0, 1) [1/step].

    Returns:
        The new θ and the new state with ``m`` and ``t``.

    Example:
        >>> theta, gradient = np.array([1.0]), np.array([2.0])
        >>> theta, state = averaged_momentum_step(theta, gradient, lr=0.1, beta=0.5)
        >>> theta.round(6)  # 1 - 0.1 · 0.5 · 2
        array([0.9])
    """
    t, m = unpack(state, theta, "m")
    m = beta * m + (1 - beta) * gradient
    return theta - lr * m, {"t": t, "m": m}


@checked
def nesterov_step(
    theta: Array,
    gradient: Array,
    state: State | None = None,
    *,
    lr: Number,
    beta: Number = 0.9,
) -> tuple[Array, State]:
    """One step of Nesterov's method, seen from the point where it takes its gradient.

    Implements eq-nesterov::

        m ← βm + g
        θ ← θ - η (g + βm)

    PyTorch's form. In the original, x ← x - ηm with the gradient taken at the look-ahead point
    θ = x - ηβm. Written in θ, both are these two lines, and the gradient is the one at θ.

    Args:
        theta: Parameter θ, the look-ahead point.
        gradient: Gradient g, the gradient at θ.
        state: What the step before returned; None at the start, where m = 0.
        lr: Step size η.
        beta: Decay rate β in [0, 1) [1/step].

    Returns:
        The new θ and the new state with ``m`` and ``t``.

    Example:
        >>> theta, state = nesterov_step(np.array([1.0]), np.array([2.0]), lr=0.25, beta=0.5)
        >>> theta  # 1 - (2 + 0.5 · 2) / 4
        array([0.25])

    References:
        Nesterov (1983), Soviet Mathematics Doklady 27, 372-376; Sutskever et al. (2013), ICML.
    """
    t, m = unpack(state, theta, "m")
    m = beta * m + gradient
    return theta - lr * (gradient + beta * m), {"t": t, "m": m}


@checked
def rmsprop_step(
    theta: Array,
    gradient: Array,
    state: State | None = None,
    *,
    lr: Number,
    beta: Number = 0.99,
    eps: Number = 1e-8,
) -> tuple[Array, State]:
    """One step along the gradient, divided by its root mean square, entry by entry.

    Implements eq-rmsprop::

        v ← βv + (1-β)g²
        θ ← θ - η g / (√v + ε)

    Since v begins at 0 and is not corrected for it, the first step is η / √(1-β) long.

    Args:
        theta: Parameter θ.
        gradient: Gradient g.
        state: What the step before returned; None at the start, where v = 0.
        lr: Step size η.
        beta: Decay rate β in [0, 1) [1/step].
        eps: ε > 0, in the units of the gradient, outside the root.

    Returns:
        The new θ and the new state with ``v`` and ``t``.

    Example:
        >>> theta, state = rmsprop_step(np.array([1.0]), np.array([5.0]), lr=0.01, beta=0.75)
        >>> theta.round(6)  # 1 - 0.01 / √(1 - 0.75)
        array([0.98])

    References:
        Tieleman and Hinton (2012), Neural Networks for Machine Learning, lecture 6.5.
    """
    t, v = unpack(state, theta, "v")
    v = beta * v + (1 - beta) * gradient**2
    return theta - lr * gradient / (np.sqrt(v) + eps), {"t": t, "v": v}


@checked
def adam_step(
    theta: Array,
    gradient: Array,
    state: State | None = None,
    *,
    lr: Number = 1e-3,
    betas: tuple[Number, Number] = (0.9, 0.999),
    eps: Number = 1e-8,
) -> tuple[Array, State]:
    """One step of Adam: the mean gradient over the root mean square gradient.

    Implements eq-adam::

        m ← β₁m + (1-β₁)g        m̂ = m / (1-β₁ᵗ)
        v ← β₂v + (1-β₂)g²       v̂ = v / (1-β₂ᵗ)
        θ ← θ - η m̂ / (√v̂ + ε)

    t counts from 1, so the first step is ``ηg / (|g| + ε)``.

    Args:
        theta: Parameter θ.
        gradient: Gradient g.
        state: What the step before returned; None at the start, where m = v = 0.
        lr: Step size η.
        betas: Decay rates (β₁, β₂) in [0, 1) [1/step].
        eps: ε > 0, in the units of the gradient, added after the bias correction.

    Returns:
        The new θ and the new state with ``m``, ``v`` and ``t``.

    Example:
        >>> theta, state = adam_step(np.array([1.0]), np.array([5.0]), lr=0.01)
        >>> theta.round(6)  # the first step has the length of the step size
        array([0.99])

    References:
        Kingma and Ba (2015), arXiv:1412.6980, algorithm 1.
    """
    (b1, b2), g = betas, gradient
    t, m, v = unpack(state, theta, "m", "v")
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    m_hat = m / (1 - b1**t)
    v_hat = v / (1 - b2**t)
    return theta - lr * m_hat / (np.sqrt(v_hat) + eps), {"t": t, "m": m, "v": v}


@checked
def adam_epsilon_hat_step(
    theta: Array,
    gradient: Array,
    state: State | None = None,
    *,
    lr: Number = 1e-3,
    betas: tuple[Number, Number] = (0.9, 0.999),
    eps: Number = 1e-8,
) -> tuple[Array, State]:
    """One step of Adam with ε added before the bias correction.

    Computes::

        m ← β₁m + (1-β₁)g
        v ← β₂v + (1-β₂)g²
        θ ← θ - η (√(1-β₂ᵗ) / (1-β₁ᵗ)) m / (√v + ε̂)

    The paper's cheaper order, which TensorFlow took over. It is :func:`adam_step` with
    ε = ε̂ / √(1-β₂ᵗ): 32 times ε̂ in the first step for β₂ = 0.999. Where gradients are not much
    larger than that, the two differ.

    Args:
        theta: Parameter θ.
        gradient: Gradient g.
        state: What the step before returned; None at the start, where m = v = 0.
        lr: Step size η.
        betas: Decay rates (β₁, β₂) in [0, 1) [1/step].
        eps: ε̂ > 0, in the units of the gradient.

    Returns:
        The new θ and the new state with ``m``, ``v`` and ``t``.

    Example:
        >>> theta, state = adam_epsilon_hat_step(np.array([1.0]), np.array([3.0]), lr=0.1)
        >>> theta.round(6)  # the first step is η, whatever the gradient
        array([0.9])

    References:
        Kingma and Ba (2015), arXiv:1412.6980, end of section 2.
    """
    (b1, b2), g = betas, gradient
    t, m, v = unpack(state, theta, "m", "v")
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    rate = lr * np.sqrt(1 - b2**t) / (1 - b1**t)
    return theta - rate * m / (np.sqrt(v) + eps), {"t": t, "m": m, "v": v}


@checked
def adamw_step(
    theta: Array,
    gradient: Array,
    state: State | None = None,
    *,
    lr: Number = 1e-3,
    betas: tuple[Number, Number] = (0.9, 0.999),
    eps: Number = 1e-8,
    weight_decay: Number = 0.01,
) -> tuple[Array, State]:
    """One step of Adam that also shrinks θ, by an amount that the gradients do not rescale.

    Implements eq-adamw::

        m ← β₁m + (1-β₁)g        m̂ = m / (1-β₁ᵗ)
        v ← β₂v + (1-β₂)g²       v̂ = v / (1-β₂ᵗ)
        θ ← θ - η (m̂ / (√v̂ + ε) + λθ)

    Args:
        theta: Parameter θ.
        gradient: Gradient g, without the gradient of a penalty.
        state: What the step before returned; None at the start, where m = v = 0.
        lr: Step size η.
        betas: Decay rates (β₁, β₂) in [0, 1) [1/step].
        eps: ε > 0, in the units of the gradient, added after the bias correction.
        weight_decay: λ.

    Returns:
        The new θ and the new state with ``m``, ``v`` and ``t``.

    Example:
        >>> step = {"lr": 0.1, "weight_decay": 0.5}
        >>> theta, state = adamw_step(np.array([1.0]), np.array([5.0]), **step)
        >>> theta.round(6)  # 1 - 0.1 · 0.5 - 0.1
        array([0.85])

    References:
        Loshchilov and Hutter (2019), arXiv:1711.05101, algorithm 2.
    """
    moved, state = adam_step(theta, gradient, state, lr=lr, betas=betas, eps=eps)
    return moved - lr * weight_decay * theta, state


def noam_rate(step: int, d_model: int, warmup: int) -> float:
    """Linear rise, then decay with the inverse square root of the step.

    Implements eq-noam::

        η(t) = d_model^(-1/2) min((t + 1)^(-1/2), (t + 1) warmup^(-3/2))

    The paper counts steps from 1, ``step`` counts from 0, as in :class:`mathlm.optim.noam`. The
    largest step size, (d_model warmup)^(-1/2), is reached at ``step = warmup - 1``.

    Args:
        step: t >= 0 [steps].
        d_model: Width of the model, D.
        warmup: Length of the rise [steps].

    Returns:
        η, the step size of this step.

    Raises:
        ConfigError: If the step is negative, or another number is less than 1.

    Example:
        >>> noam_rate(3, d_model=4, warmup=4)
        0.25

    References:
        Vaswani et al. (2017), arXiv:1706.03762, eq. (3).
    """
    for name, value, least in (
        ("step", step, 0),
        ("d_model", d_model, 1),
        ("warmup", warmup, 1),
    ):
        if not isinstance(value, Integral) or value < least:
            raise ConfigError(f"{name}={value} must be a whole number of at least {least}")
    t = int(step) + 1
    return float(d_model**-0.5 * min(t**-0.5, t * warmup**-1.5))
