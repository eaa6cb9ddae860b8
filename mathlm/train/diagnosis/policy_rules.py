"""What rollouts say: rewards, divergence from the reference, entropy and lengths."""

from collections.abc import Iterator

from .finding import Finding
from .run import RunHistory

EQUAL = 0.5  # share of the iterations in which all rewards were equal
GROUPS = 0.8  # share of the prompts whose answers all got the same reward
ERRORS = 3.0  # standard errors of a difference of means
START = 1e-3  # [nats/token] rounding of two equal models is far below this
APART = 1.0  # [nats/token] each token e times as likely as in the reference
COLLAPSED = 0.1  # of the first entropy
LONGER = 1.5  # of the first length
ENDLESS = 0.05  # share of the answers that come to an end
MOVED = 0.1  # [nats/token] ten times what PPO is often stopped at within an iteration
CUT = 0.5  # share of the tokens whose ratio is cut


def rewards(run: RunHistory) -> Iterator[Finding]:
    """Constant, or falling."""
    spread, reward = run.rollout("reward_std"), run.rollout("reward")
    if spread and (equal := float((spread.values == 0).mean())) >= EQUAL:
        yield Finding(
            name="rewards all equal",
            severity="severe",
            seen=f"In {equal:.0%} of the iterations all rewards were equal, the last time "
            f"{reward.values[-1] if reward else 0:.3g}.",
            healthy="Answers to one prompt differ in their rewards, and only this teaches.",
            causes=(
                "the reward function gives the same to every answer: a pattern that none "
                "matches, a parser that fails, a column that is missing",
                "the task is far too hard or too easy for the model",
                "the temperature is so low that all answers are alike",
            ),
            advice="score two answers by hand (mathlm score), a good one and a bad one.",
        )
    elif reward.shows_trends and reward.change_in_errors < -ERRORS:
        yield Finding(
            name="reward falls",
            severity="severe",
            seen=f"The mean reward falls from {reward.first:.3g} in the first fifth of the "
            f"iterations to {reward.last:.3g} in the last.",
            healthy="It rises, or stays where it was.",
            causes=(
                "the sign of the advantage or of the loss is wrong",
                "the advantages are rewards without a baseline: all answers are pushed the "
                "same way",
                "the step size is too large, and the policy has broken",
                "the price of the divergence outweighs the reward",
            ),
            advice="train on one prompt: the answer with the best reward must become likelier.",
        )


def groups(run: RunHistory) -> Iterator[Finding]:
    """Rewards that differ from prompt to prompt, and not between the answers to one."""
    equal, spread = run.rollout("equal_groups"), run.rollout("reward_std")
    constant = spread and float((spread.values == 0).mean()) >= EQUAL  # said above
    if run.kind == "grpo" and equal and not constant and equal.last >= GROUPS:
        yield Finding(
            name="groups without spread",
            severity="warning",
            seen=f"In the last iterations the answers to one prompt all got the same reward "
            f"for {equal.last:.0%} of the prompts, in the first for {equal.first:.0%}.",
            healthy="Most prompts are answered now well and now badly; the others teach "
            "nothing, and their share of the batch is lost.",
            causes=(
                "most prompts are far too hard, or are solved by now",
                "the groups are too small, or the temperature too low, for answers to differ",
            ),
            advice="other prompts, a larger --group-size or a higher --temperature.",
        )


def divergence(run: RunHistory) -> Iterator[Finding]:
    """Zero at first, and not too far after."""
    kl, length = run.rollout("kl"), run.rollout("length")
    if not kl or not length:
        return
    first = abs(float(kl.values[0])) / float(length.values[0])
    last = float(kl.values[-1]) / float(length.values[-1])
    if kl.steps[0] == 0 and first > START:
        yield Finding(
            name="divergence at the start",
            severity="severe",
            seen=f"The divergence from the reference is {kl.values[0]:.3g} nats per answer "
            "before the first step.",
            healthy="There the policy is its reference, and the divergence is 0.",
            causes=(
                "the reference is another model, or the policy was loaded with an update",
                "log-probabilities are read at another temperature than the draws",
            ),
            advice="make the reference of the policy just before training begins.",
        )
    if last > APART:
        yield Finding(
            name="divergence explodes",
            severity="severe",
            seen=f"The divergence from the reference ends at {kl.values[-1]:.3g} nats per "
            f"answer, {last:.2g} per token.",
            healthy="It grows slowly with the reward, and stays at a small part of a nat per "
            "token.",
            causes=(
                "the step size is too large",
                "the price of the divergence has the wrong sign, or is 0",
                "the old log-probabilities are those of the new policy, so that nothing is "
                "clipped",
            ),
            advice="read the samples; a larger --beta, and a step size ten times smaller.",
        )


def entropy(run: RunHistory) -> Iterator[Finding]:
    """All answers alike."""
    found = run.rollout("entropy")
    if found.shows_trends and found.last < COLLAPSED * found.values[0]:
        yield Finding(
            name="entropy collapses",
            severity="warning",
            seen=f"The entropy falls from {found.values[0]:.3g} to {found.last:.3g} nats per "
            "token: almost every answer is the same.",
            healthy="It falls slowly, and leaves something to choose among.",
            causes=(
                "the step size is too large",
                "the reward has one answer that beats all others, and nothing holds it back",
                "the divergence costs too little",
            ),
            advice="read the samples; a larger --beta or an entropy bonus.",
        )


def lengths(run: RunHistory) -> Iterator[Finding]:
    """Answers that grow, and answers that do not end."""
    length, finished = run.rollout("length"), run.rollout("finished")
    if finished and finished.values[-1] < ENDLESS:
        yield Finding(
            name="no answer ends",
            severity="severe",
            seen=f"{finished.values[-1]:.0%} of the answers end by themselves in the last "
            f"iteration, {finished.values[0]:.0%} in the first.",
            healthy="Most answers of a tuned model end with the mark of their turn.",
            causes=(
                "the mark of the end is not among what stops an answer, or has another id",
                "the base never learned to end an answer: the mark was not a target",
                "--max-new-tokens is shorter than a usual answer",
                "longer answers get more reward",
            ),
            advice="let the base answer one prompt (mathlm chat --prompt), and look for the "
            "mark.",
        )
    longer = length.shows_trends and length.last > LONGER * length.first
    if longer and length.change_in_errors > ERRORS:
        yield Finding(
            name="answers grow",
            severity="warning",
            seen=f"The answers grow from {length.first:.3g} to {length.last:.3g} tokens.",
            healthy="Their length changes little, unless the task needs longer ones.",
            causes=(
                "the reward pays for length, openly or not",
                "the loss is a mean over the tokens of each answer: a long wrong answer "
                "costs less per token than a short one",
                "an answer that is cut off keeps its reward",
            ),
            advice="plot the reward against the length; --loss dr, or --cut 0.",
        )


def steps_of_iteration(run: RunHistory) -> Iterator[Finding]:
    """How far one iteration moves the policy."""
    moved, cut = run.rollout("moved"), run.rollout("clip_share")
    far = bool(moved) and moved.last > MOVED
    if far or (cut and cut.last > CUT):
        words = [f"by {moved.last:.2g} nats per token"] if moved else []
        words += [f"{cut.last:.0%} of the ratios lie beyond the clip"] if cut else []
        yield Finding(
            name="policy moves too far in an iteration",
            severity="warning",
            seen=f"The steps of an iteration move the policy far: {', and '.join(words)}.",
            healthy="PPO moves it by about 0.01 nats per token, and few ratios reach the clip.",
            causes=(
                "the step size is too large, or there are too many passes",
                "the ratio is always 1, since the old log-probabilities are computed anew: "
                "nothing is clipped",
            ),
            advice="--epochs 1, or a smaller step size.",
        )


RULES = (rewards, groups, divergence, entropy, lengths, steps_of_iteration)
