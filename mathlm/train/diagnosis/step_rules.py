"""What the gradient, the step size and the precision say."""

from collections.abc import Iterator

import numpy as np

from .finding import Finding
from .run import RunHistory

ZERO = 0.1  # share of the steps
GROWN = 10.0  # a gradient at the end by the first one
CLIPPED = 0.95  # share of the records
FAR = 10.0  # median norm by the largest that is let through
ENDED = 1e-3  # of the largest step size
IDLE = 0.2  # share of the steps
WARM = 0.9  # of the largest step size
HALF_LIFE = 100  # [steps] in which decay alone halves a weight
LARGE = 0.05  # per step; weights of a layer of width D are about 1/√D, 0.1 or less
SKIPPED = 0.05  # share of the steps; a scale that doubles each 2,000 steps skips far fewer


def gradient(run: RunHistory) -> Iterator[Finding]:
    """Zero, growing, or cut at every step."""
    norms = run.norm.values
    if not len(norms):
        return
    share = float((norms == 0).mean())
    if share > ZERO:
        yield no_gradient(run, share)
    elif run.norm.shows_trends:
        first, last = norms[0], np.median(norms[-len(norms) // 5 :])
        rising = bool((np.diff(run.norm.fifths) > 0).all())
        if rising and last > GROWN * first:
            yield growing(float(first), float(last))
        elif run.clip and is_always_clipped(norms, run.clip):
            yield always_clipped(float(np.median(norms)), run.clip)


def is_always_clipped(norms: np.ndarray, clip: float) -> bool:
    """Whether nearly all norms are above the bound, and usual ones far above."""
    return bool((norms > clip).mean() > CLIPPED and np.median(norms) > FAR * clip)


def no_gradient(run: RunHistory, share: float) -> Finding:
    """Steps that teach nothing."""
    step = int(run.norm.steps[run.norm.values == 0][0])
    return Finding(
        name="gradient is zero",
        severity="severe",
        seen=f"The gradient is exactly 0 at {share:.0%} of the records, first at step {step}.",
        healthy="A gradient becomes small, but never exactly 0.",
        causes=(
            "all rewards of a group are equal, so that every advantage is 0",
            "the loss does not depend on what is trained (detached, frozen, or a constant)",
            "β is so large that every pair is decided, and its loss exactly 0",
            "16-bit floats rounded the gradient to 0",
        ),
        advice="look at the rewards of one group, and at requires_grad of the parameters.",
    )


def growing(first: float, last: float) -> Finding:
    """A gradient that adds up or explodes."""
    return Finding(
        name="gradient grows",
        severity="severe",
        seen=f"The norm of the gradient grows from {first:.3g} to {last:.3g}, in every fifth "
        "of the run.",
        healthy="It falls or stays at one size once the first steps are done.",
        causes=(
            "gradients are not set to zero between steps, and add up",
            "the optimizer holds other parameters than those that get the gradient",
            "the step size is too large, and the weights run away",
        ),
        advice="call zero_grad() once after every step, and build the optimizer after the "
        "model is complete.",
    )


def always_clipped(median: float, clip: float) -> Finding:
    """The clip sets the step."""
    return Finding(
        name="clipped at every step",
        severity="warning",
        seen=f"The norm of the gradient is {median:.3g} in the median, and is cut to {clip:g} "
        "at almost every step.",
        healthy="Clipping is for exceptions; usual norms lie about its bound or below.",
        causes=(
            "the loss is a sum where it should be a mean",
            "β or the scale of the rewards is too large",
            "the step size is too large, or the first weights are",
        ),
        advice="divide the loss by the number of its targets; else clip at the usual norm.",
    )


def step_size(run: RunHistory) -> Iterator[Finding]:
    """Zero, ended, or never warmed up."""
    rates, steps = run.rate.values, run.rate.steps
    if not len(rates):
        return
    top = float(rates.max())
    idle = rates <= ENDED * top
    if top == 0 or (idle.mean() > IDLE and idle[-1]):
        at = int(steps[np.flatnonzero(~idle)[-1] + 1] if top > 0 else steps[0])
        yield Finding(
            name="step size is zero",
            severity="severe",
            seen=f"From step {at} on the step size is {rates[-1]:.2g}, where it was "
            f"{top:.2g}: {idle.mean():.0%} of the run taught nothing.",
            healthy="A schedule reaches its least value with the last step.",
            causes=(
                "the schedule was made for fewer steps than the run has",
                "it counts micro-batches, or epochs, in place of steps",
                "a scheduler is called twice a step",
            ),
            advice="give the schedule the number of optimizer steps of the whole run.",
        )
    elif run.kind == "pretrain" and steps[0] <= 1 and rates[0] > WARM * top and len(rates) > 2:
        yield Finding(
            name="no warm-up",
            severity="warning",
            seen=f"The first step already has the largest step size, {top:.2g}.",
            healthy="It rises over the first percent or more of the steps, since Adam's "
            "averages rest on few gradients at first.",
            causes=("the schedule has no warm-up",),
            advice="--warmup of a hundredth to a tenth of all steps.",
        )


def large_step(run: RunHistory) -> Iterator[Finding]:
    """A step size that is no small part of a weight."""
    top = float(run.rate.values.max()) if run.rate else 0.0
    if run.adam and top > LARGE:
        yield Finding(
            name="step size too large for Adam",
            severity="warning",
            seen=f"The step size goes up to {top:.2g}.",
            healthy="Adam moves each weight by about the step size in every step, and the "
            "weights of a wide layer are 0.1 or less: 0.01 is a large step size.",
            causes=("a step size that was meant for another optimizer",),
            advice="3e-3 for a tiny model, 3e-4 for a large one, less for a pretrained one.",
        )


def decay(run: RunHistory) -> Iterator[Finding]:
    """Weights that are forgotten as fast as they are learned."""
    if not run.rate or run.weight_decay <= 0:
        return
    per_step = run.weight_decay * float(run.rate.values.max())
    steps = np.log(2) / per_step if per_step else np.inf
    if steps < HALF_LIFE:
        yield Finding(
            name="weight decay too strong",
            severity="warning",
            seen=f"Weight decay {run.weight_decay:g} at step sizes up to "
            f"{run.rate.values.max():.2g} halves every weight within {steps:.0f} steps.",
            healthy="Usual is 0.1 or less, which takes thousands of steps for that.",
            causes=("the decay is too large for this step size",),
            advice="a weight decay of 0.1 or 0.01, and none for gains and biases.",
        )


def precision(run: RunHistory) -> Iterator[Finding]:
    """Steps that were skipped because a scaled gradient overflowed."""
    skipped = sum(record.get("skipped", 0) for record in run.history)
    steps = max(record.get("step", 0) for record in run.history)
    if steps and skipped > max(SKIPPED * steps, 5):
        yield Finding(
            name="many skipped steps",
            severity="warning",
            seen=f"{skipped:.0f} of {steps:.0f} steps were skipped: the gradient overflowed.",
            healthy="A loss scale is too large for a handful of steps, and then fits.",
            causes=(
                "the first loss scale is far too large for so short a run",
                "the gradients explode",
            ),
            advice="--precision bfloat16 where the processor has it.",
        )


RULES = (gradient, step_size, large_step, decay, precision)
