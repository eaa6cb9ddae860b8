"""What a run on preferences says: accuracy, margins, and what became of the chosen answers."""

from collections.abc import Iterator

from .finding import Finding
from .run import RunHistory

EVEN = 0.1  # about one half: two standard errors of a hundred pairs
WRONG = 0.4  # accuracy; one half less two standard errors of twenty-five pairs
LOST = -5.0  # [nats] an answer that has become 150 times less likely
GONE = -50.0  # [nats] an answer that is never written again
EXACT = 1e-4  # share; a loss that does not see the policy at all is another fault
FAR = 30.0  # [nats] far from the reference, whatever the answer
SHARED = 0.5  # of what the rejected answers lost
CONFIDENT = 1.2  # of the loss of equal answers
CERTAIN = 20.0  # margin; people agree on three pairs in four, which is a margin of 1


def started_equal(run: RunHistory) -> Iterator[Finding]:
    """Accuracy one half before the first step."""
    found = run.before.get("accuracy")
    expected = run.expected.get("accuracy")
    if found is not None and expected and abs(found - expected.value) > EVEN:
        yield Finding(
            name="accuracy at the start",
            severity="severe",
            seen=f"Before the first step {found:.0%} of the pairs are ranked correctly.",
            healthy=f"There {expected.because}, so that the accuracy is one half.",
            causes=(
                "the reference is another model than the policy at its start",
                "the head of a reward does not begin at 0",
            ),
            advice="make the reference of the policy just before training begins.",
        )


def ranked_wrongly(run: RunHistory) -> Iterator[Finding]:
    """Held-out pairs against their labels."""
    accuracy, margin = run.curve("accuracy"), run.curve("margin")
    negative = margin.values[-1] < 0 if margin else True
    if accuracy and accuracy.values[-1] < WRONG and negative:
        said = f", with a mean margin of {margin.values[-1]:.3g}" if margin else ""
        yield Finding(
            name="ranked the wrong way",
            severity="severe",
            seen=f"At the end {accuracy.values[-1]:.0%} of the held-out pairs are ranked "
            f"correctly{said}.",
            healthy="The accuracy rises above one half, and the margin above 0.",
            causes=(
                "chosen and rejected are swapped in the training data or in the loss",
                "the loss has the wrong sign",
            ),
            advice="print one pair as the loss sees it.",
        )


def chosen_falls(run: RunHistory) -> Iterator[Finding]:
    """The margin grows while both answers become unlikely."""
    chosen, rejected = run.curve("chosen_change"), run.curve("rejected_change")
    if not chosen or not rejected:
        return
    own, other = float(chosen.values[-1]), float(rejected.values[-1])
    both = own < LOST and other < own < SHARED * other
    if both or own < GONE:
        yield Finding(
            name="chosen answers become unlikely",
            severity="warning",
            seen=f"The margin grows, and yet the chosen answers lost {-own:.1f} nats and the "
            f"rejected ones {-other:.1f}.",
            healthy="Chosen answers keep their probability, or lose far less than rejected "
            "ones; what both lose goes to answers that nobody has judged.",
            causes=(
                "the step size is too large, or there are too many passes",
                "the two answers are alike, so that what lowers one lowers the other",
                "the base was not fine-tuned on such answers first",
            ),
            advice="a step size ten times smaller, one pass, or a supervised term beside the "
            "loss (--loss orpo, or mathlm sft on the chosen answers first).",
        )


def overconfident(run: RunHistory) -> Iterator[Finding]:
    """A loss above that of not knowing, though most pairs are ranked correctly."""
    held, accuracy = run.curve("held_out_loss"), run.curve("accuracy")
    expected = run.expected.get("loss")
    if not (held and accuracy and expected):
        return
    if held.values[-1] > CONFIDENT * expected.value and accuracy.values[-1] >= 0.5:
        yield Finding(
            name="margins too large",
            severity="warning",
            seen=f"The held-out loss ends at {held.values[-1]:.3f}, above the "
            f"{expected.value:.3f} of not knowing, though {accuracy.values[-1]:.0%} of the "
            "pairs are ranked correctly.",
            healthy="A model that is right more often than not has a loss below that of "
            "equal answers.",
            causes=(
                "β is too large: small changes of the policy become certain judgments",
                "too many passes, or a step size that is too large",
            ),
            advice="β = 0.1, and one pass.",
        )


def unheld(run: RunHistory) -> Iterator[Finding]:
    """Far from the reference, and the loss has hardly seen it."""
    changes = [run.curve(f"{side}_change") for side in ("chosen", "rejected")]
    expected = run.expected.get("loss")
    if not (all(changes) and run.loss and expected):
        return
    far = max(abs(float(change.values[-1])) for change in changes)
    seen = abs(run.loss.last / expected.value - 1) > EXACT
    if far > FAR and seen and run.loss.last > 0.5 * expected.value:
        yield Finding(
            name="β too small for the loss",
            severity="warning",
            seen=f"The loss is still {run.loss.last:.3f}, where it began at "
            f"{expected.value:.3f}, though the answers changed by up to {far:.0f} nats.",
            healthy="With β between 0.01 and 0.5 such changes lower the loss visibly, and "
            "then it holds the policy back.",
            causes=("β is so small that nothing holds the policy near its reference",),
            advice="β = 0.1, and look at the divergence from the reference.",
        )


def certain(run: RunHistory) -> Iterator[Finding]:
    """Margins that no label can bear out."""
    margin = run.curve("margin")
    if margin and margin.values[-1] > CERTAIN:
        yield Finding(
            name="margins beyond all doubt",
            severity="warning",
            seen=f"The mean margin of held-out pairs is {margin.values[-1]:.3g}.",
            healthy="A margin of 1 says that three people in four agree, a margin of 7 that "
            "one in a thousand does not.",
            causes=(
                "β is too large: small changes of the policy become certain judgments",
                "the step size is too large, and the policy has run away",
                "the pairs differ in something trivial, such as length or form",
            ),
            advice="β = 0.1, a smaller step size, and a look at what tells the pairs apart.",
        )


RULES = (started_equal, ranked_wrongly, chosen_falls, overconfident, certain, unheld)
