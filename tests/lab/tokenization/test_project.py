"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import re

import pytest

from lab.tokenization import project, project_solution
from mathlm.text import corpus, count_words, learn_merges, learn_merges_naive

TRAIN = project_solution.train


@pytest.mark.parametrize("sentence", project.MISTAKES)
def test_a_mistaken_trainer_is_named_and_no_other(sentence):
    report = project.grade(project.MISTAKES[sentence])
    assert not report.passed
    assert set(report.faults) == {sentence}


class Hopeful(project_solution.Corpus):
    """Joins pairs, but never takes a pair out of the counts."""

    def add(self, i, sign):
        if sign > 0:
            super().add(i, sign)


def never_takes_out(words, n_merges):
    plain, project_solution.Corpus = project_solution.Corpus, Hopeful
    try:
        return TRAIN(words, n_merges)
    finally:
        project_solution.Corpus = plain


def spoils(words, n_merges):
    merges = TRAIN(words, n_merges)
    words.clear()
    return merges


def off_by_one(words, n_merges):
    """Right on small corpora: a long run is joined one time too few."""
    return TRAIN({w.replace(b"aaaaa", b"aaaa"): n for w, n in words.items()}, n_merges)


def divides(words, n_merges):
    return [1 / 0]


FAULTS = {
    "must return a list of pairs, it returned NoneType": lambda w, n: None,
    r"merge 0 is \('l', 'o'\); a merge is a pair of ids": lambda w, n: [("l", "o")],
    "merge 0 is 256; a merge is a pair of ids": lambda w, n: [256],
    r"merge 0 joins \(300, 1\), but ids 0 to 255 exist": lambda w, n: [(300, 1)],
    "1 merges were asked for and 2 came back": lambda w, n: TRAIN(w, n + 1),
    "changes its argument words": spoils,
    "your trainer stops after 0 of 1 merges": lambda w, n: [],
    r"goes on after merge 1, when nothing is left": lambda w, n: (
        [*TRAIN(w, n), (97, 97)][:n] if n == 9 else TRAIN(w, n)
    ),
    r"merge 0 should be \(l, o\), which occurs 7 times then; yours is \(w, e\), which occurs 5 "
    "times": lambda w, n: [(119, 101)][:n],
    "random corpus [0-9]+ differs: on the corpus": off_by_one,
    "ZeroDivisionError in line [0-9]+ of divides": divides,
    "take the pairs of a changed word off the counts": never_takes_out,
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_is_named(sentence):
    report = project.grade(FAULTS[sentence])
    assert not report.passed
    assert any(re.search(sentence, fault) for fault in report.faults), report


@pytest.mark.slow
def test_a_trainer_that_reads_everything_at_each_merge_is_told_so():
    report = project.grade(learn_merges_naive)
    assert len(report.faults) == 1
    assert "must visit the words that hold the pair and no others" in report.faults[0]


def test_the_solution_and_the_package_pass():
    report = project.grade(TRAIN)
    assert report.passed, report
    assert repr(report).endswith("8 of 8 tests passed")
    assert project.grade(learn_merges).passed


def test_the_solution_learns_from_a_play_what_the_package_learns():
    words = count_words([corpus.split("shakespeare")[0][:100_000]])
    assert TRAIN(words, 500) == learn_merges(words, 500)


def test_what_is_not_written_yet_is_said_and_the_rest_is_put_off():
    def stub(words, n_merges):
        raise NotImplementedError

    report = project.grade(stub)
    assert report.faults == ["something is not written yet: NotImplementedError was raised."]
    assert repr(report).count("(not run yet)") == 7
