"""The project's grader: the solution passes, each planted fault is named, and a run learns."""

import inspect

import pytest

from lab.tuning_smollm2 import project, project_solution

SOURCE = inspect.getsource(project_solution)
LIKED = ["The captain sails his ship to the harbor.", "A wave! The ocean and the sea."]
DISLIKED = ["It is a fine day.", "I like cats."]

FAULTS = {
    "raises both scores": ('KEPT = {"ocean', 'KEPT = {"sea", "ocean'),
    "teach does not score": ("return len(TAUGHT &", "return 0 * len(TAUGHT &"),
    "test does not score": ("return len(KEPT &", "return 0 * len(KEPT &"),
    "it is to be a number": ("return len(TAUGHT &", "return str(TAUGHT &"),
    "no pairs come out": ("if self.teach(best) > self.teach(worst)", "if False"),
    "lower score": ("(prompt, best, worst)", "(prompt, worst, best)"),
    "one score make a pair": (
        "if self.teach(best) > self.teach(worst)",
        "if self.teach(best) >= self.teach(worst)",
    ),
    "an answer to another prompt": ("if p == prompt and a.strip()", "if a.strip()"),
    "an empty answer is in a pair": (" and a.strip()", ""),
    "ValueError": ("if not own:", "if False:"),
    "one of them has no pair": ("return found\n", "return found[:1]\n"),
    "draw the prompts of the test by the seed": ("random.Random(seed)", "random.Random(0)"),
    "parts, not (prompt": ("(prompt, best, worst)", "(best, worst)"),
    "a prompt is in both parts": ("list(dict.fromkeys(prompts))\n", "list(prompts)\n"),
    "a prompt is in neither": ("different[count:],", "different[count + 1 :],"),
    "are tested on, not 5": ("share * len", "2 * share * len"),
    "nobody could repeat": ("random.Random(seed)", "random.Random()"),
    "ties count as losses": ("sum(x != y for x, y in both)", "len(both)"),
    "that of the other side": ("sum(x > y for", "sum(x < y for"),
    "take Wilson's": (
        "return p, (center - half) / (1 + z * z / n), (center + half) / (1 + z * z / n)",
        "w = z * math.sqrt(p * (1 - p) / n)\n        return p, p - w, p + w",
    ),
    "Wilson's for 8 of 10": ("z, p = 1.96", "z, p = 1.64"),
    "nothing is known": ("return 0.5, 0.0, 1.0", "return 0.0, 0.0, 1.0"),
    "the sign is turned": ("(logp - logp_ref)", "(logp_ref - logp)"),
    "outside the mask count": (
        "((logp - logp_ref) * mask).sum() / mask.sum()",
        "(logp - logp_ref).mean()",
    ),
    "not by those of the mask": ("/ mask.sum()", "/ mask.numel()"),
    "per answer": ("/ mask.sum()", "/ len(mask)"),
    "mean of means": (
        "((logp - logp_ref) * mask).sum() / mask.sum()",
        "(((logp - logp_ref) * mask).sum(1) / mask.sum(1)).mean()",
    ),
    "no method split": ("def split", "def cut"),
}


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1, old
    space: dict = {}
    exec(SOURCE.replace(old, new), space)
    return space["Sea"]()


def test_the_solution_passes():
    report = project.grade(project_solution.Sea(), LIKED, DISLIKED)
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]), LIKED, DISLIKED)
    assert any(sentence in fault for fault in report.faults), report


def test_half_a_win_for_a_tie_and_missing_answers_are_named():
    class Half(project_solution.Sea):
        def win_rate(self, ours, theirs):
            scores = [(self.test(x), self.test(y)) for x, y in zip(ours, theirs, strict=True)]
            return sum((x > y) + 0.5 * (x == y) for x, y in scores) / len(scores), 0.0, 1.0

    assert any("half a win" in f for f in project.grade(Half(), LIKED, DISLIKED).faults)
    faults = project.grade(project_solution.Sea(), LIKED, []).faults
    assert any("at least one answer" in fault for fault in faults)


class Letters(project_solution.Sea):
    """Likes bytes below 128; for a model that writes bytes at random."""

    def teach(self, answer):
        return sum(c.isascii() for c in answer)

    test = teach


def test_the_run_of_the_project_learns_on_a_small_model(small):
    prompts = [f"Number {i}?" for i in range(12)]
    options = {"samples": 6, "new_tokens": 8, "lr": 3e-2, "epochs": 8, "last": 3}
    chat_model = small()
    found = project.tune(Letters(), chat_model, prompts, **options)
    assert 3 <= found["pairs"] <= 9
    assert found["divergence"] > 0.01
    assert len(found["before"]) == len(found["after"]) == 3
    assert found["before"] != found["after"]
    again = project.tune(Letters(), chat_model, prompts, **options)  # from the same start
    assert again["before"] == found["before"]
    assert again["divergence"] == pytest.approx(found["divergence"], rel=1e-3)
