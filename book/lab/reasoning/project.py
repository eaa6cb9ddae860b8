"""Grader of the project of this page: a verifier and a reward for differences.

from lab.reasoning.project import grade
grade(verify)           # part 1
grade(verify, reward)   # both parts
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from lab.grading import Case, Report, grade_by

BETA, WANTED = 0.1, 0.95  # coefficient of the tilt [reward/nat]; share right that it must reach

RIGHT = {  # text -> question that it answers
    "<answer>12</answer>": (30, 18),
    "30 - 18 is 12. <answer>12</answer>": (30, 18),
    "<answer> 12 </answer>\n": (30, 18),
    "<answer>\n12\n</answer>": (30, 18),
    "<answer>012</answer>": (30, 18),
    "<answer>" + "0" * 20 + "12</answer>": (30, 18),
    "<answer>-6</answer>": (12, 18),
    "18 - 12 = 6, so <answer>-6</answer>": (12, 18),
    "<answer>0</answer>": (7, 7),
}
WRONG = {  # text -> question, and what accepting it would teach
    "<answer>13</answer>": ((30, 18), "a wrong number is accepted"),
    "<answer>42</answer>": ((30, 18), "only the last digit is looked at"),
    "12. <answer>48</answer>": ((30, 18), "the first number of the text is taken"),
    "<answer>48</answer> 12": ((30, 18), "the last number of the text is taken"),
    "<answer>112</answer>": ((30, 18), "the right digits inside another number count"),
    "<answer>11 or 12</answer>": ((30, 18), "an answer that offers two numbers is accepted"),
    "<answer>11</answer><answer>12</answer>": ((30, 18), "two answers are accepted"),
    "<answer>12</answer><answer>11</answer>": ((30, 18), "two answers are accepted"),
    "<answer>11 or <answer>12</answer>": ((30, 18), "a second opening tag is accepted"),
    "12": ((30, 18), "a number without the tags is accepted"),
    "<answer>6</answer>": ((12, 18), "the sign is lost"),
    "<answer>30-18</answer>": ((30, 18), "the question is accepted as its own answer"),
    "<answer>12.9</answer>": ((30, 18), "a fraction is cut to a whole number"),
    "<answer>12.00000000000000001</answer>": ((30, 18), "a fraction is rounded"),
    "<answer>1 2</answer>": ((30, 18), "digits that stand apart are read as one number"),
    "<answer>1_2</answer>": ((30, 18), "an underscore inside the number is accepted"),
    "<answer>12 I think</answer>": ((30, 18), "words next to the number are accepted"),
    "<answer>12</answer> or <answer>11": ((30, 18), "a tag without its pair is accepted"),
    "<answer>12</answer></answer>": ((30, 18), "a tag without its pair is accepted"),
}
MALFORMED = (
    "", "<answer></answer>", "<answer>twelve</answer>", "</answer>12<answer>",
    "<answer>12", "<answer>--12</answer>", "<answer>²</answer>", "<answer>-</answer>",
    "<answer>1e9999</answer>", "<answer>" + "9" * 5000 + "</answer>", "\x00",
)  # fmt: skip

QUESTION = (30, 18)
POLICY = {  # what a policy writes before it is trained, and how often
    "<answer>12</answer>": 0.05,
    "First 30 - 10 = 20, then 20 - 8 = 12. <answer>12</answer>": 0.05,
    "<answer>13</answer>": 0.2,
    "First 30 - 10 = 20, then 20 - 8 = 13. <answer>13</answer>": 0.1,
    "Let me think. " * 6 + "<answer>11</answer>": 0.1,
    "12": 0.1,
    "11, 12, 13, 14, <answer>15</answer>": 0.1,
    "<answer>11 or 12 or 13</answer>": 0.1,
    "<answer>11</answer><answer>12</answer>": 0.1,
    "I do not know.": 0.1,
}
SOLVED = ("<answer>12</answer>", "First 30 - 10 = 20, then 20 - 8 = 12. <answer>12</answer>")
HALF = "<answer>13</answer>", "I do not know."  # with the format and without, both wrong
NO_ANSWER = (
    "12", "<answer>11 or 12 or 13</answer>", "<answer>11</answer><answer>12</answer>",
    "", "<answer></answer>", "<answer>twelve</answer>", "</answer>12<answer>",
)  # fmt: skip


def grade(verify: Callable, reward: Callable | None = None) -> Report:
    """Test a reader's verifier and reward.

    Args:
        verify: ``verify(question, text)`` -> whether the text answers a - b.
        reward: ``reward(question, text)`` -> a number from 0 to 1.

    Returns:
        A report that prints itself.
    """
    first = [
        Case("right answers", lambda v, r: _right(v)),
        Case("wrong answers", lambda v, r: _wrong(v)),
        Case("malformed text", lambda v, r: _malformed(v)),
    ]
    if reward is None:
        return grade_by(first, verify, reward, note="Not tested yet: reward.")
    needs = tuple(case.name for case in first)
    second = [
        Case("numbers from 0 to 1", lambda v, r: _numbers(r), needs),
        Case("order", lambda v, r: _order(r) or _elsewhere(r), (*needs, "numbers from 0 to 1")),
        Case("the policy that it makes", lambda v, r: _tilted(r), (*needs, "order")),
    ]
    return grade_by([*first, *second], verify, reward)


def _verdict(verify: Callable, question: tuple[int, int], text: str) -> bool | str:
    """What a verifier says, or a sentence on what else it did."""
    try:
        found = verify(question, text)
    except NotImplementedError:
        raise
    except Exception as error:
        return (
            f"the verifier raised {type(error).__name__} on {text[:40]!r}: what a policy "
            "writes is never an error of the program; say False."
        )
    if not isinstance(found, bool):
        return f"verify returned {found!r} on {text[:40]!r}: return True or False."
    return found


def _right(verify: Callable) -> str | None:
    for text, question in RIGHT.items():
        found = _verdict(verify, question, text)
        if isinstance(found, str):
            return found
        if not found:
            a, b = question
            return f"{text!r} answers {a} - {b} rightly and is refused."
    return None


def _wrong(verify: Callable) -> str | None:
    verdicts = {text: _verdict(verify, q, text) for text, (q, _) in WRONG.items()}
    for found in verdicts.values():
        if isinstance(found, str):
            return found
    if all(verdicts.values()):
        return "everything is accepted: a policy learns nothing from that."
    for text, (question, fault) in WRONG.items():
        if verdicts[text]:
            return f"{fault}: {text!r} passes for {question[0]} - {question[1]}."
    return None


def _malformed(verify: Callable) -> str | None:
    for text in MALFORMED:
        found = _verdict(verify, QUESTION, text)
        if isinstance(found, str):
            return found
        if found:
            return f"{text[:40]!r} holds no answer and is accepted."
    return None


def _score(reward: Callable, text: str) -> Any:
    return reward(QUESTION, text)


def _numbers(reward: Callable) -> str | None:
    for text in (*POLICY, *MALFORMED):
        found = _score(reward, text)
        if isinstance(found, bool) or not isinstance(found, int | float):
            return f"the reward of {text[:40]!r} is {found!r}: return a number."
        if not math.isfinite(found) or not 0 <= found <= 1:
            return f"the reward of {text[:40]!r} is {found}: it must lie between 0 and 1."
    return None


def _order(reward: Callable) -> str | None:
    scores = {text: _score(reward, text) for text in POLICY}
    if len(set(scores.values())) == 1:
        return "every text has the same reward: all advantages are 0, and nothing is learned."
    best, tagged, plain = scores[SOLVED[0]], scores[HALF[0]], scores[HALF[1]]
    if scores[SOLVED[1]] != best:
        return (
            "two right answers have different rewards: that is a reward for length or style, "
            "which will be optimized too."
        )
    for text, score in scores.items():
        if text not in SOLVED and score >= best:
            return (
                f"{text[:40]!r} is not right and earns {score:g}, at least as much as a right "
                f"answer ({best:g})."
            )
    if tagged <= plain:
        return (
            f"one number in tags earns {tagged:g} and a text without an answer {plain:g}: "
            "give the format a little, so that a policy that is never right learns to answer."
        )
    return None


def _elsewhere(reward: Callable) -> str | None:
    """The same order for other questions, and for texts that have no answer."""
    best, tagged = (_score(reward, text) for text in (SOLVED[0], HALF[0]))
    for text, (a, b) in RIGHT.items():
        if (score := reward((a, b), text)) != best:
            return (
                f"{text!r} answers {a} - {b} rightly and earns {score:g} instead of {best:g}."
            )
    for text, ((a, b), _) in WRONG.items():
        if (score := reward((a, b), text)) >= best:
            return (
                f"{text!r} is wrong for {a} - {b} and earns {score:g}, at least as much as a "
                f"right answer ({best:g})."
            )
    for text in NO_ANSWER:
        if (score := _score(reward, text)) > tagged:
            return (
                f"{text!r} is no answer and earns {score:g}, more than one wrong number in the "
                f"tags ({tagged:g}): a policy would learn to write that."
            )
    return None


def _tilted(reward: Callable) -> str | None:
    """Train without noise: the optimum for the reward with a KL coefficient."""
    logp = torch.tensor(list(POLICY.values()), dtype=torch.float64).log()
    scores = torch.tensor([_score(reward, t) for t in POLICY], dtype=torch.float64)
    p = (logp + scores / BETA).softmax(0)
    solved = sum(float(q) for q, text in zip(p, POLICY, strict=True) if text in SOLVED)
    if solved >= WANTED:
        return None
    rest = {t: float(q) for q, t in zip(p, POLICY, strict=True) if t not in SOLVED}
    most = max(rest, key=rest.__getitem__)
    share = f"{math.floor(1000 * solved) / 10:g}%"  # never rounded up to what is wanted
    return (
        f"the best policy for your reward, with a KL coefficient of {BETA}, is right in "
        f"{share} of its answers, of {WANTED:.0%} that are wanted; it writes "
        f"{most[:40]!r} in {rest[most]:.0%}. Is what is not right paid too well?"
    )
