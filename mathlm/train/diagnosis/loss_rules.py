"""What the loss says: its first value, its floor, its course, and the held-out loss."""

import math
from collections.abc import Iterator

import numpy as np

from .finding import Finding
from .run import PARTS, RunHistory

ABOVE = 1.0  # [nats] logits of spread s cost s²/2 more than a uniform guess: s = 1.4
BELOW = 0.5  # [nats] a first loss has some hundred targets or more; chance is far below this
UNINFORMED = 0.9  # of ln V: a text's letters alone, without any context, cost 0.6 of it
FLOOR = 0.35  # [nats/byte] half a bit; the best models of English need 0.6 bits and more
EQUAL = 0.07  # share; rounding of 16 bits moves a margin at β = 0.1 by about this much
MOVED = 1 / 6  # of ln V; the frequencies of tokens alone are worth a third
LEARNED = 0.02  # share of the loss: fine-tuning gains more in its first dozen steps
HALF = 0.5  # of ln V
STILL = 0.06  # share of the loss from the second fifth of a run to the last
SPIKE = 6.0  # standard deviations about the median of the records before
JUMP = 0.15  # share of the loss
VISIBLE = 0.05  # [nats] differences that matter whatever the loss
LOST = 0.3  # of all that was gained
TOGETHER = 4  # records in a mean, at least: one batch says little
ERRORS = 3.0  # standard errors of a difference of means
RISE = 1.05  # of the least held-out loss
GAP = 0.5  # training loss by held-out loss
NEAR = 10  # records that a spike is compared with
SUPERVISED = ("pretrain", "sft")
PREFERENCES = ("reward", "dpo")


def non_finite(run: RunHistory) -> Iterator[Finding]:
    """NaN and infinity."""
    for record in run.history:
        for name in ("loss", "grad_norm", "held_out_loss"):
            if not math.isfinite(record.get(name, 0.0)):
                yield Finding(
                    name="not finite",
                    severity="severe",
                    seen=f"{name} is {record[name]} at step {record.get('step', 0):.0f}.",
                    healthy="No loss or gradient of a healthy run is NaN or infinite.",
                    causes=(
                        "the step size is too large, or it has no warm-up",
                        "16-bit floats overflowed or rounded a divisor to 0: float16 needs a "
                        "loss scale, and weights and Adam's averages of 32 bits",
                        "a batch without a target, or with NaN in it",
                    ),
                    advice="go back to the last checkpoint, divide the step size by 3, and "
                    "take --precision bfloat16 or full.",
                )
                return


def first_loss(run: RunHistory) -> Iterator[Finding]:
    """The first value against theory."""
    if not run.loss:
        return
    step, value = int(run.loss.steps[0]), float(run.loss.values[0])
    expected = run.expected.get("loss")
    if run.kind == "pretrain" and expected:
        if value > expected.value + ABOVE:
            yield first_too_high(step, value, expected.because, expected.value)
        elif value < expected.value - BELOW and step <= 1:
            yield first_too_low(step, value, expected.because, expected.value)
    elif run.kind == "sft" and run.vocab_size:
        if value > UNINFORMED * math.log(run.vocab_size):
            yield knows_nothing(step, value, run.vocab_size)
    elif run.kind in PREFERENCES and expected:
        unequal = abs(value - expected.value) > EQUAL * expected.value
        if unequal and step <= 1:
            yield first_unequal(run.kind, value, expected.because, expected.value)


def first_too_high(step: int, value: float, because: str, expected: float) -> Finding:
    """A fresh model that is surer of the wrong than chance is."""
    return Finding(
        name="first loss too high",
        severity="severe",
        seen=f"The loss at step {step} is {value:.3f} nats per target.",
        healthy=f"A new model guesses uniformly and begins at {because} = {expected:.3f}.",
        causes=(
            "the weights begin too large, so that the logits are far from 0",
            "the head or the last normalization is missing or scaled",
            "targets lie outside of what the tokenizer produces",
        ),
        advice="print the spread of the logits of one batch before the first step: it should "
        "be well below 1.",
    )


def first_too_low(step: int, value: float, because: str, expected: float) -> Finding:
    """A fresh model cannot know anything."""
    return Finding(
        name="first loss too low",
        severity="severe",
        seen=f"The loss at step {step} is {value:.3f} nats per target.",
        healthy=f"A new model knows nothing and begins at {because} = {expected:.3f}.",
        causes=(
            "the model is not new, but pretrained",
            "the loss counts padding, or is divided by more than its targets",
            "the model sees its targets",
        ),
        advice="compute the loss of one batch by hand: the mean of -log p over its targets.",
    )


def knows_nothing(step: int, value: float, vocab_size: int) -> Finding:
    """A pretrained model that predicts no better than chance."""
    return Finding(
        name="base knows nothing",
        severity="severe",
        seen=f"The loss at step {step} is {value:.3f} nats per target.",
        healthy=f"A uniform guess costs ln {vocab_size} = {math.log(vocab_size):.3f}, and a "
        "pretrained model begins far below, even on text of another kind.",
        causes=(
            "the weights were not loaded, and the model is new",
            "the tokenizer is not the one that the model was trained with",
            "padding is among the targets, or stands where text should",
        ),
        advice="let the base continue a sentence before you tune it (mathlm generate).",
    )


def first_unequal(kind: str, value: float, because: str, expected: float) -> Finding:
    """Policy and reference, or two rewards, that should be equal at the start."""
    causes = {
        "dpo": (
            "the reference is another model than the policy at its start",
            "dropout is on, or the two are computed in different precisions",
            "the log-probabilities of the reference belong to other rows",
        ),
        "reward": (
            "the head of the reward does not begin at 0",
            "the loss has another margin or scale than it says",
            "the run was resumed",
        ),
    }
    return Finding(
        name="first loss not that of equal answers",
        severity="severe",
        seen=f"The first loss is {value:.3f}.",
        healthy=f"Before the first step both answers are worth the same, which costs "
        f"{because} = {expected:.3f}.",
        causes=causes[kind],
        advice="compute both log-probabilities of one pair twice, by policy and reference, "
        "and compare them.",
    )


def too_low(run: RunHistory) -> Iterator[Finding]:
    """Below what any text costs."""
    judged = run.curve("held_out_loss") or run.loss
    if run.kind != "pretrain" or not judged:
        return
    value = judged.last
    floor = FLOOR * run.bytes_per_target
    if value < floor:
        what = "held-out loss" if run.curve("held_out_loss") else "loss"
        yield Finding(
            name="too good to be true",
            severity="severe",
            seen=f"The {what} ends at {value:.3f} nats per target.",
            healthy=f"The best models of English need more than {floor:.2f}, half a bit per "
            "byte.",
            causes=(
                "the targets are the inputs, and not the inputs shifted by one",
                "the causal mask is missing, so that each position sees the next token",
                "padding or a repeated text makes up most of the targets",
                "the held-out text is part of the training text",
            ),
            advice="let the model write: one that sees its targets writes nonsense. Change "
            "one token of an input: no logit before it may change.",
        )


def standing_still(run: RunHistory) -> Iterator[Finding]:
    """A loss that does not fall."""
    if not run.loss.shows_trends:
        return
    first, last = run.loss.first, run.loss.last
    if run.kind == "pretrain" and run.vocab_size:
        yield from standing_pretraining(run, math.log(run.vocab_size))
    elif run.kind == "sft" and abs(first - last) < LEARNED * first:
        yield flat(run, first, last, "by a tenth and more")
    elif run.kind in PREFERENCES and "loss" in run.expected:
        start = run.expected["loss"].value
        if abs(last - start) < LEARNED * start:
            yield from standing_preferences(run, start, last)


def standing_pretraining(run: RunHistory, guess: float) -> Iterator[Finding]:
    """Near ln V, or where the frequencies of tokens end."""
    fifths = run.loss.fifths
    last = float(fifths[-1])
    if guess - last < MOVED * guess and run.loss.steps[-1] >= 50:
        yield flat(run, float(run.loss.values[0]), last, "by a third, only for frequencies,")
    elif last > HALF * guess and abs(fifths[1] - last) < STILL * last:
        yield Finding(
            name="plateau at the frequencies",
            severity="warning",
            seen=f"The loss goes from {fifths[1]:.3f} in the second fifth of the run to "
            f"{last:.3f} in the last, {last / guess:.0%} of ln V.",
            healthy="A model that uses its context goes below half of ln V, or gains a tenth "
            "there.",
            causes=(
                "the targets do not belong to the inputs (shuffled rows, a wrong offset)",
                "attention sees nothing (a mask that is False everywhere)",
                "the step size is too large or too small",
            ),
            advice="train on one batch alone: the loss of a healthy model goes to 0 there.",
        )


def flat(run: RunHistory, first: float, last: float, usual: str) -> Finding:
    """A run that learns nothing."""
    rate = f" at step sizes up to {run.rate.values.max():.1e}" if run.rate else ""
    return Finding(
        name="loss flat",
        severity="severe",
        seen=f"The loss goes from {first:.3f} to {last:.3f} in "
        f"{run.loss.steps[-1]:.0f} steps{rate}.",
        healthy=f"It falls {usual} within the first hundred steps.",
        causes=(
            "the step size is far too small, or the schedule has ended",
            "the optimizer does not hold the parameters of the model",
            "the parameters are frozen, or the loss is computed without gradient",
        ),
        advice="compare a weight before and after a step, and multiply the step size by 10.",
    )


def standing_preferences(run: RunHistory, start: float, last: float) -> Iterator[Finding]:
    """A comparison that stays undecided."""
    spread = float(np.abs(run.loss.values - start).max())
    exact = spread < 1e-4 * start
    yield Finding(
        name="loss stuck where it began",
        severity="severe",
        seen=f"The loss ends at {last:.4f}, where it began ({start:.4f})"
        + (", and was exactly this at every step." if exact else "."),
        healthy="It falls within some dozen steps, since most pairs can be told apart.",
        causes=(
            "the reference is the policy itself and moves with it: every margin is 0",
            "no gradient reaches the weights, or the step size is far too small",
            "the labels are random, or β is so small that no margin counts",
        ),
        advice="print the margin of one pair before and after ten steps on it alone.",
    )


def course(run: RunHistory) -> Iterator[Finding]:
    """Spikes, and a loss that ends higher than it was."""
    if run.kind not in (*SUPERVISED, *PREFERENCES) or not run.loss.shows_trends:
        return
    steps, values = run.loss
    parts = np.array_split(values, min(2 * PARTS, len(values) // TOGETHER))
    means = np.array([part.mean() for part in parts])
    best, last = int(means.argmin()), float(means[-1])
    gained = max(means[0], values[0]) - means[best]
    errors = math.sqrt(sum(p.var(ddof=1) / len(p) for p in (parts[best], parts[-1])))
    if last - means[best] > max(LOST * gained, VISIBLE * means[best], ERRORS * errors):
        step = int(steps[sum(map(len, parts[:best]))])
        yield diverged(float(means[best]), step, last)
    elif run.kind in SUPERVISED:
        yield from spikes(run)


def diverged(best: float, step: int, last: float) -> Finding:
    """A loss that was lower before."""
    return Finding(
        name="loss rises",
        severity="severe",
        seen=f"The loss was {best:.3f} about step {step} and is {last:.3f} at the end.",
        healthy="It falls, quickly at first and then slowly, and does not rise again.",
        causes=(
            "the step size is too large",
            "gradients are not set to zero between steps, and add up",
            "weight decay shrinks the weights faster than they learn",
            "β of a preference loss is so large that each step overshoots",
        ),
        advice="divide the step size by 3 to 10, with a warm-up, and clip the gradient at 1.",
    )


def spikes(run: RunHistory) -> Iterator[Finding]:
    """Single records far above those before."""
    values, steps = run.loss.values, run.loss.steps
    before = np.array([np.median(values[max(0, i - NEAR) : i]) for i in range(1, len(values))])
    above = values[1:] - before
    spread = 1.4826 * np.median(np.abs(above - np.median(above)))
    high = above > np.maximum(SPIKE * spread, JUMP * before + VISIBLE)
    high[: NEAR - 1] = False
    if high.any():
        place = int(np.where(high, above, -np.inf).argmax()) + 1
        yield Finding(
            name="loss spike",
            severity="warning",
            seen=f"The loss jumps to {values[place]:.3f} at step {steps[place]:.0f}, from "
            f"about {before[place - 1]:.3f}; there are {int(high.sum())} such records.",
            healthy="Losses of neighboring steps differ by the chance of their batches alone.",
            causes=(
                "a batch of another kind: broken text, one token over and over",
                "the step size is too large for a gradient that is not clipped",
                "β₂ of Adam is so near 1 that it answers late to larger gradients",
            ),
            advice="look at the batches of the steps before, and clip the gradient at 1.",
        )


def held_out(run: RunHistory) -> Iterator[Finding]:
    """Memorized, or judged in another form."""
    judged = run.curve("held_out_loss")
    if len(judged.values) < 3 or not run.loss.shows_trends or run.kind in ("grpo", "ppo"):
        return
    place, last = int(judged.values.argmin()), float(judged.values[-1])
    least = float(judged.values[place])
    rises = last > RISE * least + VISIBLE and run.loss.last < run.loss.first
    gap = run.kind in SUPERVISED and run.loss.last < GAP * last
    if rises or gap:
        yield Finding(
            name="held-out loss above training loss" if not rises else "held-out loss rises",
            severity="warning",
            seen=f"The held-out loss is least at step {judged.steps[place]:.0f} ({least:.3f}) "
            f"and ends at {last:.3f}, while the training loss falls to {run.loss.last:.3f}.",
            healthy="Both fall together, the held-out loss a little above the other.",
            causes=(
                "the data is small and seen many times: the model memorizes it",
                "held-out data has another form than training data (chat template, padding)",
                "chosen and rejected are swapped in one of them",
            ),
            advice="fewer passes over more data, --patience 3, or the checkpoint of that step; "
            "print one row of each kind of data as text.",
        )


RULES = (non_finite, first_loss, too_low, standing_still, course, held_out)
