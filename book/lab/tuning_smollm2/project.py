"""Grader of the project of this page, a preference of one's own, and a run of it on a model."""

import random
from collections.abc import Sequence
from typing import Any

import torch

from lab.grading import Case, FaultError, Report, grade_by
from mathlm import adapt
from mathlm.align import (
    PairBatches,
    Reference,
    completions_of,
    roll_out,
    target_log_probabilities,
)
from mathlm.align.preference.data import encode_pairs
from mathlm.chat.model import ChatModel
from mathlm.text import Message
from mathlm.text.corpora.preferences import Preference
from mathlm.train.objectives import IGNORED

from .pairs import end_of, prompt_ids, text_of
from .training import add_update, tune_dpo

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def grade(preference: Any, liked: Sequence[str], disliked: Sequence[str]) -> Report:
    """Test a preference and the tools that measure it.

    Args:
        preference: An object with ``teach(answer)``, ``test(answer)``,
            ``pairs(prompts, answers)``, ``split(prompts, share, seed)``,
            ``win_rate(ours, theirs)`` and ``divergence(logp, logp_ref, mask)``.
        liked: Answers that both rules are to score higher than each of ``disliked``.
        disliked: Answers without what is preferred.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, preference, list(liked), list(disliked))


def tune(
    preference: Any,
    chat_model: ChatModel,
    prompts: Sequence[str],
    *,
    samples: int = 8,
    new_tokens: int = 32,
    lr: float = 1e-3,
    epochs: int = 2,
    last: int = 8,
) -> dict[str, Any]:
    """Sample, judge, tune by DPO and measure; on SmolLM2 with 80 prompts some 15 minutes.

    Args:
        preference: The reader's.
        chat_model: Its model loses the low-rank updates that it has, and gets a new one, which
            is in use afterwards.
        prompts: A quarter of them is tested on.
        samples: Answers to each prompt that is learned from.
        new_tokens: Longest answer.
        lr: Largest step size.
        epochs: Passes over the pairs.
        last: Blocks that get an update.

    Returns:
        ``pairs``, their number; ``win_rate`` with its interval; ``divergence`` per token;
        ``before`` and ``after``, answers to the prompts of the test.
    """
    model = chat_model.model.requires_grad_(False)
    for name in adapt.adapter_names(model):
        adapt.remove_adapter(model, name)
    learned, tested = preference.split(prompts, 0.25, 0)
    asked = [prompt for prompt in learned for _ in range(samples)]
    answers, _ = _written(chat_model, asked, new_tokens, 0)
    before, _ = _written(chat_model, tested, new_tokens, 1)
    made = [
        Preference(prompt=(Message("user", p),), chosen=a, rejected=b)
        for p, a, b in preference.pairs(asked, answers)
    ]
    encoded = encode_pairs(made, chat_model.format, chat_model.tokenizer, 512)
    reference = Reference.of(model)
    pairs = PairBatches(encoded, 8).with_reference(reference)
    add_update(model, "default", 0, last)
    steps: list[dict[str, float]] = []
    tune_dpo(model, pairs, lr, epochs, steps.append)
    after, batch = _written(chat_model, tested, new_tokens, 1)
    with torch.no_grad():
        logp = target_log_probabilities(model, batch)
        logp_ref = reference.log_probabilities(batch)
    return {
        "pairs": len(encoded),
        "win_rate": preference.win_rate(after, before),
        "divergence": preference.divergence(logp, logp_ref, batch["targets"] != IGNORED),
        "before": before,
        "after": after,
        "trained": adapt.count_trainable(model)[0],
    }


def _written(
    chat_model: ChatModel, prompts: Sequence[str], new_tokens: int, seed: int
) -> tuple[list[str], dict[str, torch.Tensor]]:
    """An answer to each prompt, as text and as the rows of a batch."""
    ids, end = prompt_ids(chat_model, prompts), end_of(chat_model)
    batch = roll_out(chat_model.model, ids, new_tokens, seed=seed, stop=(end,))
    return [text_of(chat_model, y) for y in completions_of(batch)], batch


def _rules(preference: Any, liked: list[str], disliked: list[str]) -> str | None:
    for name in ("teach", "test"):
        rule = getattr(preference, name)
        for text in (*liked, *disliked):
            if not isinstance(rule(text), int | float):
                return f"{name}({text!r}) is {rule(text)!r}; it is to be a number."
        if rule("") > min(map(rule, liked)):
            return f"{name} scores an empty answer above one that you like: nothing would win."
        for good in liked:
            for bad in disliked:
                if rule(good) <= rule(bad):
                    return (
                        f"{name} does not score {good!r} above {bad!r}, as you say it should."
                    )
    return None


def _halves(preference: Any, liked: list[str], disliked: list[str]) -> str | None:
    """Words that raise both rules are what was taught and tested at once."""
    words = {w.strip(".,;:!?\"'()") for text in liked for w in text.split()}
    none = preference.teach(""), preference.test("")
    shared = sorted(
        w for w in words if preference.teach(w) > none[0] and preference.test(w) > none[1]
    )
    if shared:
        return (
            f"the word {shared[0]!r} raises both scores: a test by what was taught shows only "
            "that the model can repeat it. Give the word to one half."
        )
    return None


def _material(preference: Any, liked: list[str], disliked: list[str]) -> tuple[list, list]:
    """Prompts and answers; the first two prompts have a better and a worse one."""
    good, bad = max(liked, key=preference.teach), min(disliked, key=preference.teach)
    prompts: list[str] = []
    answers: list[str] = []
    groups = [(bad, good), (good, bad, bad), (bad, bad), (good, good), ("", good), ("", "")]
    for i, some in enumerate(groups):
        prompts += [f"Question {i}?"] * len(some)
        answers += some
    order = random.Random(0).sample(range(len(answers)), len(answers))
    return [prompts[i] for i in order], [answers[i] for i in order]


def _pairs(preference: Any, liked: list[str], disliked: list[str]) -> str | None:
    prompts, answers = _material(preference, liked, disliked)
    found = preference.pairs(prompts, answers)
    if not found:
        return "no pairs come out, though two prompts have a better and a worse answer."
    own = set(zip(prompts, answers, strict=True))
    for pair in found:
        if len(pair) != 3:
            return f"a pair has {len(pair)} parts, not (prompt, chosen, rejected)."
        prompt, chosen, rejected = pair
        if {(prompt, chosen), (prompt, rejected)} - own:
            return "a pair holds an answer to another prompt: it would teach the question."
        if not (chosen.strip() and rejected.strip()):
            return "an empty answer is in a pair: mathlm drops it, and so the pair."
        if preference.teach(chosen) == preference.teach(rejected):
            return "two answers with one score make a pair: it teaches which stood first."
        if preference.teach(chosen) < preference.teach(rejected):
            return "a pair prefers the answer with the lower score: chosen is the better one."
    if len({prompt for prompt, *_ in found}) < 2:
        return "two prompts have a better and a worse answer, and one of them has no pair."
    return None


def _split(preference: Any, liked: list[str], disliked: list[str]) -> str | None:
    prompts = [f"Question {letter}?" for letter in LETTERS[:20]] * 2
    learned, tested = preference.split(prompts, 0.25, 0)
    if set(learned) & set(tested):
        return "a prompt is in both parts: its answers would be learned and tested."
    if set(learned) | set(tested) != set(prompts):
        return "a prompt is in neither part."
    if len(set(tested)) != 5:
        return (
            f"of 20 different prompts {len(set(tested))} are tested on, not 5, the share 0.25."
        )
    if preference.split(prompts, 0.25, 0) != (learned, tested):
        return "the same seed splits in another way: nobody could repeat your test."
    if set(preference.split(prompts, 0.25, 1)[1]) == set(tested):
        return "another seed splits in the same way: draw the prompts of the test by the seed."
    return None


def _wins(preference: Any, liked: list[str], disliked: list[str]) -> str | None:
    good, bad = max(liked, key=preference.test), min(disliked, key=preference.test)
    ours, theirs = [good] * 8 + [bad] * 2 + [bad] * 6, [bad] * 8 + [good] * 2 + [bad] * 6
    rate, low, high = preference.win_rate(ours, theirs)
    if abs(rate - 8 / 16) < 1e-9:
        return "ties count as losses: divide the wins by the comparisons that are no ties."
    if abs(rate - 11 / 16) < 1e-9:
        return "ties count as half a win; this project leaves them out."
    if abs(rate - 0.2) < 1e-9:
        return "the rate is that of the other side: ours is the first argument."
    if abs(rate - 0.8) > 1e-9:
        return f"8 wins, 2 losses and 6 ties give a rate of {rate:.3f}, not 0.800."
    if abs(low - 0.5522) < 2e-3 and abs(high - 1.0479) < 2e-3:
        return "the interval is 0.8 ± 1.96 s/√n, which ends above 1: take Wilson's."
    if abs(low - 0.4902) > 2e-3 or abs(high - 0.9433) > 2e-3:
        return (
            f"the interval is {low:.3f} to {high:.3f}; Wilson's for 8 of 10 is 0.490 to 0.943."
        )
    rate, low, high = preference.win_rate([bad] * 3, [bad] * 3)
    if (rate, low, high) != (0.5, 0.0, 1.0):
        return "without a single decision nothing is known: return 0.5, 0.0, 1.0."
    return None


def _divergence(preference: Any, liked: list[str], disliked: list[str]) -> str | None:
    logp = torch.tensor([[-1.0, -2.0, -9.0, -9.0], [-1.0, -1.0, -1.0, -1.0]])
    logp_ref = torch.tensor([[-2.0, -4.0, -1.0, -1.0], [-1.5, -1.5, -1.5, -1.5]])
    mask = torch.tensor([[True, True, False, False], [True] * 4])
    found = float(preference.divergence(logp, logp_ref, mask))  # (1 + 2 + 4 · 0.5) / 6
    wrong = {
        -5 / 6: "the sign is turned: the policy wrote the answers, so log π - log π_ref.",
        (1.5 + 0.5) / 2: "it is a mean of means: a short answer counts as much as a long one.",
        (3 + 2) / 2: "it is per answer: divide by the tokens.",
        (3 - 16 + 2) / 8: "tokens outside the mask count.",
        5 / 8: "the sum is divided by all places, and not by those of the mask.",
    }
    for value, said in wrong.items():
        if abs(found - value) < 1e-5:
            return said
    return None if abs(found - 5 / 6) < 1e-5 else f"it is {found:.3f}; by hand it is 0.833."


def _complete(preference: Any, liked: list[str], disliked: list[str]) -> str | None:
    for name in ("teach", "test", "pairs", "split", "win_rate", "divergence"):
        if not callable(getattr(preference, name, None)):
            raise FaultError(f"there is no method {name}.")
    if not liked or not disliked:
        return "give at least one answer that you like and one that you do not."
    return None


TESTS = (
    Case("methods", _complete),
    Case("rules", _rules, ("methods",)),
    Case("two halves", _halves, ("rules",)),
    Case("pairs", _pairs, ("rules",)),
    Case("split", _split, ("methods",)),
    Case("win rate", _wins, ("rules",)),
    Case("divergence", _divergence, ("methods",)),
)
