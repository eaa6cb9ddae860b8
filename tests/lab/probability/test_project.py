"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

from collections import Counter

import numpy as np
import pytest

from lab.probability import project, project_solution

FIT, ANSWER, TEMPERATURE = (
    project_solution.fit,
    project_solution.log_posterior,
    project_solution.temperature,
)


def answer(
    prior=None, add=None, slots=1, once=False, skip=False, log=True, end=True, axis=None
):
    """The classifier with one of its lines changed."""

    def log_posterior(model, document):
        log_prior, counts, totals, V, alpha = model
        words = list(dict.fromkeys(document)) if once else document
        words = [w for w in words if not skip or any(c[w] for c in counts)]
        alpha = alpha if add is None else add
        p = [
            [(c[w] + alpha) / (n + alpha * ((V + slots) if slots >= 0 else 0)) for w in words]
            for c, n in zip(counts, totals, strict=True)
        ]
        start = log_prior if prior is None else prior(log_prior, np.array(totals))
        product = np.log(p).sum(1) if log else np.log(np.prod(p, 1))
        scores = start + product
        return scores - np.logaddexp.reduce(scores) if end else scores

    return log_posterior


FAULTS = {
    r"returns the shape \(3,\), expected \(2,\)": lambda m, d: np.zeros(3),
    "never positive": lambda m, d: np.exp(ANSWER(m, d)),
    "the probabilities of the plays sum to": answer(end=False),
    "the prior is missing": answer(prior=lambda log_prior, n: 0 * log_prior),
    "it is the share of documents": answer(prior=lambda log_prior, n: np.log(n / n.sum())),
    "1 is added to each count instead": answer(add=1.0),
    "here it is added V times": answer(slots=0),
    "not to their sum": answer(slots=-1),
    "it must count as often as it occurs": answer(once=True),
    "so it must not be skipped": answer(skip=True),
    "underflows to 0. Add logarithms": answer(log=False),
    "raised ZeroDivisionError in line [0-9]+ of <lambda>": lambda m, d: 1 / 0,
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_of_the_classifier_is_named(sentence):
    report = project.grade(FIT, FAULTS[sentence])
    assert not report.passed
    assert len(report.faults) == 1
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(" ".join(report.faults))


def test_a_classifier_that_forgets_most_words_is_named():
    def fit(documents, plays, alpha):
        if len(documents) > 10:  # the small example is right
            documents = [d[:1] for d in documents]
        return FIT(documents, plays, alpha)

    (said,) = project.grade(fit, ANSWER).faults
    assert "are named correctly; about 66 % can be" in said


@pytest.mark.parametrize(
    ("temperature", "sentence"),
    [
        (lambda s, y: 1 / TEMPERATURE(s, y), "one over the temperature"),
        (lambda s, y: 1.0, "the cross-entropy of softmax(scores / T) is smallest at"),
        (lambda s, y: -2.0, "must be positive"),
        (lambda s, y: TEMPERATURE(s, y) if len(s) == 4000 else 1.0, "confidence is off by"),
    ],
)
def test_a_fault_of_the_temperature_is_named(temperature, sentence):
    assert sentence in project.grade(FIT, ANSWER, temperature).faults[0]


def test_the_solution_passes():
    report = project.grade(FIT, ANSWER, TEMPERATURE)
    assert report.passed, report
    assert repr(report).endswith("7 of 7 tests passed")


def test_one_part_alone_is_no_pass_and_has_no_fault():
    report = project.grade(FIT, ANSWER)
    assert (report.passed, report.faults) == (False, [])
    *_, count, note = repr(report).splitlines()
    assert count == "5 of 7 tests passed"
    assert note == "Part 2 was not tested: call grade(fit, log_posterior, temperature)."


def test_part_2_does_not_wait_for_part_1():
    report = project.grade(FIT, FAULTS["never positive"], lambda s, y: -2.0)
    assert [said.split(";")[1] for said in report.faults] == [
        " logarithms of probabilities are never positive.",
        " it must be positive.",
    ]


def test_what_is_not_written_yet_is_said():
    def stub(*args):
        raise NotImplementedError

    report = project.grade(stub, stub, stub)
    said = "something is not written yet: NotImplementedError was raised."
    assert report.faults == [said] * 2  # one of each part
    assert repr(report).count("(not run yet)") == 5


def test_the_solution_by_hand():
    """p(blood | 1) = 2.5 / 10, p(blood | 0) = 0.5 / 13, priors 1/3 and 2/3."""
    model = FIT(project.DOCUMENTS, project.PLAYS, 0.5)
    joint = np.array([2 / 3 * 0.5 / 13, 1 / 3 * 2.5 / 10])
    np.testing.assert_allclose(np.exp(ANSWER(model, ["blood"])), joint / joint.sum())


def test_passages_are_apart_and_every_play_is_in_each_set():
    train, fit, test = project.passages()
    assert [sorted(Counter(plays)) for _, plays in (train, fit, test)] == [[0, 1, 2, 3, 4]] * 3
    assert {len(d) for documents, _ in (train, fit, test) for d in documents} == {20}
    assert not {*map(tuple, fit[0])} & {*map(tuple, test[0])}
