"""The grader of the project: the solution passes, and each planted fault has its sentence."""

import re

import pytest

from lab.reasoning import project_solution as solution
from lab.reasoning.project import POLICY, SOLVED, grade


def number(text):
    return int(re.findall(r"-?\d+", text)[-1])


def inside(text):
    return re.search(r"<answer>(.*?)</answer>", text, re.DOTALL)


def tagged(question, text, check):
    found = inside(text)
    return bool(found) and check(found[1].strip(), question[0] - question[1])


def raises(*_):
    raise NotImplementedError


def by(convert):
    """A verifier that leaves the reading of the number to a function."""

    def verify(question, text):
        try:
            (found,) = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
            return convert(found) == question[0] - question[1]
        except (ValueError, IndexError):
            return False

    return verify


def without_blanks(text):
    return solution.written("<answer>" + "".join(text.split()) + "</answer>")


def first_word(text):
    return solution.written(f"<answer>{text.split()[0]}</answer>")


def with_eval(question, text):
    return tagged(question, text, lambda s, n: eval(s or "None") == n)


def first_of_two(question, text):
    tags = re.findall(r"<answer>\s*(-?\d+)\s*</answer>", text)
    return bool(tags) and int(tags[-1]) == question[0] - question[1]


def last_opening(question, text):
    """A verifier that looks after the last opening tag."""
    last = "<answer>" + text.rpartition("<answer>")[2]
    return text.count("</answer>") == 1 and solution.verify(question, last)


def pairs_alone(question, text):
    """A verifier that counts pairs, not tags."""
    pairs = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
    return len(pairs) == 1 and solution.verify(question, f"<answer>{pairs[0]}</answer>")


def opened_once(question, text):
    """The same, but for a second opening tag."""
    return text.count("<answer>") == 1 and pairs_alone(question, text)


def short_numbers(question, text):
    """A verifier that takes no number of more than 18 digits, whatever stands in front."""
    return solution.verify(question, text) and not re.search("[0-9]{19}", text)


VERIFIERS = {
    "everything is accepted": lambda q, t: True,
    "answers 30 - 18 rightly and is refused": lambda q, t: False,
    "'<answer> 12 </answer>\\n' answers": lambda q, t: f"<answer>{q[0] - q[1]}</answer>" in t,
    "right digits inside another number": lambda q, t: (
        tagged(
            q,
            t,
            lambda s, n: s.lstrip("0").find(str(n).lstrip("0")) >= 0 and s[-1] == str(n)[-1],
        )
        and "or" not in t
        and t.count("<answer>") == 1
        and "-18" not in t
    ),
    "raised IndexError on ''": lambda q, t: (
        number(t) == q[0] - q[1] if "answer" in t else re.findall(r"\d", t)[0] == q
    ),
    "only the last digit": lambda q, t: tagged(
        q, t, lambda s, n: bool(re.fullmatch(r"-?\d+", s)) and (int(s) - n) % 10 == 0
    ),
    "two answers are accepted": first_of_two,
    "a fraction is rounded": by(float),
    "digits that stand apart": by(without_blanks),
    "an underscore inside": by(int),
    "words next to the number": lambda q, t: "or" not in t and by(first_word)(q, t),
    "return True or False": lambda q, t: 1.0,
    "the sign is lost": lambda q, t: (
        solution.written(t) is not None and abs(solution.written(t)) == abs(q[0] - q[1])
    ),
    "a second opening tag": last_opening,
    "a tag without its pair is accepted: '<answer>12</answer> or <answer>11'": pairs_alone,
    "a tag without its pair is accepted: '<answer>12</answer></answer>'": opened_once,
    "0012</answer>' answers 30 - 18 rightly and is refused": short_numbers,
    "raised": with_eval,
    "not written yet": raises,
}


def style(question, text):
    return solution.reward(question, text) * min(1, len(text) / 60)


def paid_anywhere(question, text):
    if solution.verify(question, text):
        return 1.0
    return 0.5 if str(question[0] - question[1]) in text else 0.1 * ("<answer>" in text)


def to_the_letter(question, text):
    if f"<answer>{question[0] - question[1]}</answer>" in text and text.count("<answer>") == 1:
        return 1.0
    return 0.1 * (solution.written(text) is not None)


def without_sign(question, text):
    found = solution.written(text)
    right = found in (question[0] - question[1], question[1] - question[0])
    return 1.0 if right else 0.1 * (found is not None)


def paid_for_tags(question, text):
    return 0.3 if "<answer></answer>" in text else solution.reward(question, text)


def upside_down(question, text):
    if solution.verify(question, text):
        return 0.5
    return float(solution.written(text) is not None)


def nearly(question, text):
    """The best policy for this reward is right in 94.97 % of its answers."""
    if solution.verify(question, text):
        return 1.0
    return 0.545 * (solution.written(text) is not None)


REWARDS = {
    "is no answer and earns 0.5": paid_anywhere,
    "'<answer> 12 </answer>\\n' answers 30 - 18 rightly and earns 0.1": to_the_letter,
    "is wrong for 12 - 18": without_sign,
    "same reward": lambda q, t: 0.5,
    "reward for length or style": style,
    "'<answer></answer>' is no answer and earns 0.3": paid_for_tags,
    "earns 1, at least as much as a right answer (0.5)": upside_down,
    "is right in 94.9% of its answers, of 95% that are wanted": nearly,
    "between 0 and 1": lambda q, t: 2 * solution.reward(q, t),
    "return a number": solution.verify,
    "as much as a right answer": lambda q, t: float("answer" in t),
    "give the format a little": lambda q, t: float(solution.verify(q, t)),
    "paid too well": lambda q, t: (
        1.0 if solution.verify(q, t) else 0.9 * (solution.written(t) is not None)
    ),
}


def said(report, sentence):
    return any(sentence in fault for fault in report.faults)


@pytest.mark.parametrize("sentence", VERIFIERS)
def test_a_fault_of_the_verifier_is_named(sentence):
    report = grade(VERIFIERS[sentence])
    assert said(report, sentence), report


@pytest.mark.parametrize("sentence", REWARDS)
def test_a_fault_of_the_reward_is_named(sentence):
    report = grade(solution.verify, REWARDS[sentence])
    assert said(report, sentence), report


def test_the_solution_passes():
    assert grade(solution.verify, solution.reward).passed
    assert "Not tested yet: reward." in repr(grade(solution.verify))


def test_the_reward_waits_for_the_verifier():
    assert not grade(lambda q, t: True, solution.reward).results[-1].ran


def test_the_policy_of_the_grader_is_a_distribution_that_is_seldom_right():
    assert sum(POLICY.values()) == pytest.approx(1)
    assert sum(POLICY[text] for text in SOLVED) == pytest.approx(0.1)
    assert {t for t in POLICY if solution.verify((30, 18), t)} == set(SOLVED)
