"""What every optimizer here does alike: refuse bad input, make the state, update."""

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from ..errors import ConfigError, InputTypeError, MathLMError, NonFiniteLossError
from .clipping import local, local_parts, sum_over_shards
from .schedules import check_peak, check_step


def of_torch(name: str) -> Callable[..., Any]:
    """A method of torch's optimizer, bare as long as the compiler is not loaded.

    Torch wraps it to keep it from being compiled, and loads the compiler for that: 1.3 s.
    """
    method = getattr(torch.optim.Optimizer, name)
    return method if "torch._dynamo" in sys.modules else getattr(method, "__wrapped__", method)


class Eager(torch.optim.Optimizer):
    """An optimizer that does not load torch's compiler."""

    def add_param_group(self, param_group: dict) -> None:
        """Add a group of parameters with options of its own."""
        of_torch("add_param_group")(self, param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or set them to 0."""
        of_torch("zero_grad")(self, set_to_none)


class Update(Eager):
    """An optimizer whose equation is a subclass.

    The state of a parameter is ``step``, the number of its updates, if ``clocked``, and the
    tensors that :meth:`slots` names. A parameter without a gradient is left alone and its clock
    stands.
    Of a sharded parameter each rank keeps the state of its part, and kernels see that alone.
    """

    clocked: ClassVar[bool] = True

    def __init__(
        self, params: Iterable[nn.Parameter] | Iterable[dict], **defaults: Any
    ) -> None:
        super().__init__(params, defaults)

    def slots(self, group: dict) -> tuple[str, ...]:
        """Names of the tensors, zero at the start, that a parameter of ``group`` keeps."""
        raise NotImplementedError

    def check_group(self, group: dict) -> None:
        """Refuse options and parameters that this optimizer cannot use."""
        raise NotImplementedError

    def update(self, p: nn.Parameter, group: dict) -> None:
        """Move one parameter: the lines of the equation."""
        raise NotImplementedError

    def fused_update(self, params: list[nn.Parameter], group: dict) -> None:
        """Move all ``params`` by torch's own kernel."""
        raise NotImplementedError

    def add_param_group(self, param_group: dict) -> None:
        """Add a group of parameters with options of its own."""
        super().add_param_group(param_group)
        try:
            check_real(type(self).__name__, self.param_groups[-1]["params"])
            self.check_group(self.param_groups[-1])
        except MathLMError:
            self.param_groups.pop()
            raise

    @torch.no_grad()
    def step(self, *, finite: bool = False) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient.

        Args:
            finite: Whether the caller knows that every gradient is finite, as
                :func:`clip_grad_norm` has seen; they are then not read once more.
        """
        work = [
            (group, [p for p in group["params"] if p.grad is not None])
            for group in self.param_groups
        ]
        check_gradients(type(self).__name__, [p for _, params in work for p in params], finite)
        for group, params in work:
            slots = self.slots(group)
            for p in params:
                self.prepare(p, slots)
            fused = [p for p in params if group["fused"] and fits_kernel(p)]
            if fused:
                self.fused_update(fused, group)
            if len(fused) < len(params):
                done = set(fused)
                for p in params:
                    if p not in done:
                        self.update(p, group)

    def prepare(self, p: nn.Parameter, slots: tuple[str, ...]) -> None:
        """Begin what the state of a parameter lacks."""
        if not (self.clocked or slots):
            return  # nothing to remember
        state = self.state[p]
        if self.clocked and "step" not in state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=p.device)
        for name in slots:
            if name not in state:
                state[name] = torch.zeros_like(p)

    def advance(self, params: list[nn.Parameter]) -> None:
        """One tick of the clock of each of ``params``, where no kernel counts."""
        clocks = self.tensors(params, "step")
        # on a CPU a number would be made into a tensor once for each clock
        torch._foreach_add_(clocks, torch.ones(()) if clocks[0].is_cpu else 1)

    def tensors(self, params: list[nn.Parameter], name: str) -> list[Tensor]:
        """One tensor of the state of each of ``params``, or this rank's part of it."""
        return local_parts([self.state[p][name] for p in params])


def step_finite(optimizer: torch.optim.Optimizer) -> None:
    """A step of ours or of torch's optimizer on gradients that are known to be finite."""
    if isinstance(optimizer, Update):
        optimizer.step(finite=True)
    else:
        optimizer.step()


def values(params: list[nn.Parameter]) -> list[Tensor]:
    """The entries of ``params``, or this rank's part of them."""
    return local_parts(list[Tensor](params))


def gradients(params: list[nn.Parameter]) -> list[Tensor]:
    """The gradients of ``params``, which all have one, or this rank's part of them."""
    return local_parts([cast(Tensor, p.grad) for p in params])


def fits_kernel(p: nn.Parameter) -> bool:
    """Whether p and its gradient lie in row order.

    Compiled kernels walk through memory and pair the entries wrongly where the two lie
    differently.
    """
    return p.is_contiguous() and cast(Tensor, p.grad).is_contiguous()


def decayed(p: nn.Parameter, weight_decay: float) -> Tensor:
    """The gradient of the loss and of the penalty λ‖θ‖² / 2 together: g + λθ."""
    g = cast(Tensor, p.grad)
    return g + weight_decay * p if weight_decay else g


def check_number(name: str, value: Any) -> None:
    """Refuse what is neither a number nor a tensor."""
    if not isinstance(value, Real | Tensor):
        raise InputTypeError(f"{name} must be a number, got {value!r}")


def check_not_negative(group: dict, *names: str) -> None:
    """Refuse options that are negative, infinite or NaN."""
    for name in names:
        check_number(name, group[name])
        if not 0 <= group[name] < math.inf:
            raise ConfigError(f"{name}={group[name]} must be finite and not negative")


def check_positive(group: dict, *names: str) -> None:
    """Refuse options that are not positive and finite."""
    for name in names:
        check_number(name, group[name])
        if not 0 < group[name] < math.inf:
            raise ConfigError(f"{name}={group[name]} must be finite and positive")


def check_decay(name: str, value: Any) -> None:
    """Refuse decay rates outside [0, 1)."""
    rates = value if isinstance(value, tuple | list) else (value,)
    for rate in rates:
        check_number(name, rate)
    if not all(0 <= b < 1 for b in rates):
        raise ConfigError(f"{name}={value} must lie in [0, 1)")


def check_real(name: str, params: list[nn.Parameter]) -> None:
    """Refuse parameters that are not real numbers."""
    for p in params:
        if not p.is_floating_point():
            raise InputTypeError(
                f"{name} needs real floating-point parameters, got {p.dtype} "
                f"of shape {tuple(p.shape)}"
            )


def check_gradients(name: str, params: list[nn.Parameter], finite: bool) -> None:
    """Refuse gradients that are sparse or not finite, before any parameter moves.

    ``finite`` says that somebody has read them already.
    """
    for p in params:
        if cast(Tensor, p.grad).is_sparse:
            raise InputTypeError(
                f"{name} needs dense gradients, got a sparse one for a parameter of shape "
                f"{tuple(p.shape)}; build the embedding with sparse=False"
            )
    if not finite:
        check_finite([cast(Tensor, p.grad) for p in params])


def check_finite(gradients: list[Tensor]) -> None:
    """Refuse NaN and infinity, and name the first gradient that holds them.

    A finite sum has finite terms, and is much cheaper than looking at each; only a sum that is
    not finite, which may also be an overflow, is worth the look. All ranks that hold parts of a
    gradient come to the same end.
    """
    if not gradients:
        return
    device = local(gradients[0]).device
    sums = torch.stack([local(g).sum().to(device) for g in gradients])
    for i in (~sum_over_shards(sums, gradients).isfinite()).nonzero().flatten().tolist():
        g = gradients[i]
        bad = int(sum_over_shards((~local(g).isfinite()).sum(), [g]))
        if bad:
            raise NonFiniteLossError(
                f"{bad} of {g.numel()} entries of the gradient of a parameter of shape "
                f"{tuple(g.shape)} are not finite; no parameter was updated"
            )


@dataclass(frozen=True)
class polynomial_decay:
    """Fall from ``peak`` to ``final`` as a power of the steps that are left.

    Computes::

        η(t) = final + (peak - final) (1 - min(t / steps, 1))^power

    Args:
        peak: Step size of step 0.
        steps: Length of the fall [steps].
        power: 1 is a straight line; a larger one falls steeply first.
        final: Step size from ``steps`` on.

    Raises:
        ConfigError: Unless 0 <= final <= peak, 0 < peak, 0 < power and 0 < steps.

    Example:
        >>> polynomial_decay(peak=1.0, steps=4, power=2.0)(2)
        0.25
    """

    peak: float
    steps: int
    power: float = 1.0
    final: float = 0.0

    def __post_init__(self) -> None:
        check_peak(self.peak, self.final)
        if not (self.steps > 0 and 0 < self.power < math.inf):
            raise ConfigError(
                f"need steps > 0 and power > 0, got steps={self.steps}, power={self.power}"
            )

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        left = 1 - min(step / self.steps, 1.0)
        return self.final + (self.peak - self.final) * left**self.power


@dataclass(frozen=True)
class linear_decay:
    """Fall from ``peak`` to ``final`` on a straight line.

    Computes::

        η(t) = final + (peak - final) (1 - min(t / steps, 1))

    Args:
        peak: Step size of step 0.
        steps: Length of the fall [steps].
        final: Step size from ``steps`` on.

    Raises:
        ConfigError: Unless 0 <= final <= peak, 0 < peak and 0 < steps.

    Example:
        >>> linear_decay(peak=1.0, steps=4)(1)
        0.75
    """

    peak: float
    steps: int
    final: float = 0.0

    def __post_init__(self) -> None:
        polynomial_decay(self.peak, self.steps, 1.0, self.final)

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        return polynomial_decay(self.peak, self.steps, 1.0, self.final)(step)


@dataclass(frozen=True)
class exponential_decay:
    """Fall by the same factor in every step.

    Computes::

        η(t) = peak factorᵗ

    Args:
        peak: Step size of step 0.
        factor: In (0, 1] [1/step].

    Raises:
        ConfigError: Unless 0 < peak and 0 < factor <= 1.

    Example:
        >>> exponential_decay(peak=1.0, factor=0.5)(3)
        0.125
    """

    peak: float
    factor: float

    def __post_init__(self) -> None:
        check_peak(self.peak)
        check_factor(self.factor)

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        return self.peak * self.factor**step


@dataclass(frozen=True)
class step_decay:
    """Fall by a factor at regular intervals, flat between them.

    Computes::

        η(t) = peak factor^⌊t / every⌋

    Args:
        peak: Step size of step 0.
        factor: In (0, 1].
        every: Steps between two falls.

    Raises:
        ConfigError: Unless 0 < peak, 0 < factor <= 1 and 0 < every.

    Example:
        >>> [step_decay(peak=1.0, factor=0.5, every=2)(t) for t in range(5)]
        [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    peak: float
    factor: float
    every: int

    def __post_init__(self) -> None:
        check_peak(self.peak)
        check_factor(self.factor)
        if self.every < 1:
            raise ConfigError(f"every={self.every} must be positive")

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        return self.peak * self.factor ** (step // self.every)


def check_factor(factor: float) -> None:
    """Refuse factors that do not shrink."""
    if not 0 < factor <= 1:
        raise ConfigError(f"factor={factor} must lie in (0, 1]")
