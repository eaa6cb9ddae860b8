"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import numpy as np
import pytest
import torch

from lab.positional_encoding import project, project_solution

FREQUENCIES, MEASURE = project_solution.frequencies, project_solution.loss_by_position


def changed(of, change):
    """The solution with what it returns for one kind changed."""

    def frequencies(kind, K, base, s, L):
        theta, factor = FREQUENCIES(kind, K, base, s, L)
        plain = base ** (-np.arange(0, K, 2) / K)
        return change(theta, factor, plain, K, base, s, L) if kind == of else (theta, factor)

    return frequencies


def ntk_base(power):
    return changed(
        "ntk",
        lambda theta, f, plain, K, base, s, L: (
            (base * s ** power(K)) ** (-np.arange(0, K, 2) / K),
            f,
        ),
    )


def yarn(ramp, scale=1.0):
    """YaRN with another ramp, a function of the turns."""

    def change(theta, f, plain, K, base, s, L):
        kept = ramp(scale * L * plain / (2 * np.pi))
        return kept * plain + (1 - kept) * plain / s, f

    return changed("yarn", change)


def factor(of, value):
    return changed(of, lambda theta, f, plain, K, base, s, L: (theta, value(s)))


def by_index(theta, f, plain, K, base, s, L):
    ends = [K * np.log(L / (2 * np.pi * n)) / (2 * np.log(base)) for n in (32, 1)]
    first, last = np.floor(ends[0]), np.ceil(ends[1])
    kept = 1 - np.clip((np.arange(K // 2) - first) / (last - first), 0, 1)
    return kept * plain + (1 - kept) * plain / s, f


FAULTY = {
    "linear: the frequencies are as they were": changed("linear", lambda t, f, p, *_: (p, f)),
    "linear: the frequencies are multiplied by s": changed(
        "linear", lambda t, f, p, K, b, s, L: (p * s, f)
    ),
    "pair i has 2i/K": changed("linear", lambda t, f, p, K, b, s, L: (p**0.5 / s, f)),
    "the exponent is negative": changed("linear", lambda t, f, p, K, b, s, L: (1 / p / s, f)),
    "these are wavelengths": changed("linear", lambda t, f, p, *_: (2 * np.pi / t, f)),
    r"must return the pair .* it returned ndarray": lambda *a: FREQUENCIES(*a)[0],
    "one for each of the K/2 = 32 pairs": lambda *a: (np.repeat(FREQUENCIES(*a)[0], 2), 1.0),
    r"The power is K/\(K-2\)": ntk_base(lambda K: 1),
    "it must be its inverse": ntk_base(lambda K: (K - 2) / K),
    "only the slowest one is": changed("ntk", lambda t, f, p, K, b, s, L: (p / s, f)),
    "divided and not multiplied": ntk_base(lambda K: -K / (K - 2)),
    "divided by s as well": changed("ntk", lambda t, f, p, K, b, s, L: (t / s, f)),
    "the wrong way round": yarn(lambda r: 1 - np.clip((r - 1) / 31, 0, 1)),
    "not cut off at 0 and 1": yarn(lambda r: (r - 1) / 31),
    "lack the 2π": yarn(lambda r: np.clip((r - 1) / 31, 0, 1), scale=2 * np.pi),
    "linear in the index": changed("yarn", by_index),
    "ends at 4 turns": yarn(lambda r: np.clip((r - 1) / 3, 0, 1)),
    "begins at 0 turns": yarn(lambda r: np.clip(r / 32, 0, 1)),
    "there is no ramp": yarn(lambda r: (r > 1) * 1.0),
    "within the longer context": yarn(lambda r: np.clip((r - 1) / 31, 0, 1), scale=4),
    "return it separately": changed("yarn", lambda t, f, *_: (f * t, f)),
    "the factor is 1": factor("yarn", lambda s: 1.0),
    "the factor is squared": factor("yarn", lambda s: (0.1 * np.log(s) + 1) ** 2),
    "the logarithm has base 10": factor("yarn", lambda s: 0.1 * np.log10(s) + 1),
    "the logarithm has base 2": factor("yarn", lambda s: 0.1 * np.log2(s) + 1),
    "it is larger than 1": factor("yarn", lambda s: 1 / (0.1 * np.log(s) + 1)),
    "the 1 is missing": factor("yarn", lambda s: 0.1 * np.log(s)),
    "only YaRN has one": factor("ntk", lambda s: 0.1 * np.log(s) + 1),
    "use the arguments, not fixed numbers": lambda kind, K, base, s, L: FREQUENCIES(
        kind, K, 100_000.0, s, 8192
    ),
    "off by up to": changed("linear", lambda t, f, *_: (t * 1.01, f)),
}


@pytest.mark.parametrize("sentence", FAULTY)
def test_a_fault_of_the_frequencies_is_named(sentence):
    report = project.grade(FAULTY[sentence], MEASURE)
    assert not report.passed
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(" ".join(report.faults))


def measured(of):
    """A measurement that averages other numbers: a function of log-probabilities and ids."""

    def loss_by_position(model, ids, bin):
        z = np.array(model(ids[:, :-1]))
        z = z - z.max(-1, keepdims=True)
        logp = z - np.log(np.exp(z).sum(-1, keepdims=True))
        return of(np.take_along_axis(logp, ids[:, 1:, None], -1)[..., 0], logp, ids, bin)

    return loss_by_position


def bins(rows, bin):
    return rows.reshape(len(rows), -1, bin).mean((0, 2))


def own(right, logp, ids, bin):
    return -bins(np.take_along_axis(logp, ids[:, :-1, None], -1)[..., 0], bin)


def overflowing(model, ids, bin):
    z = np.array(model(ids[:, :-1]))
    right = np.take_along_axis(z, ids[:, 1:, None], -1)[..., 0]
    return bins(np.log(np.exp(z).sum(-1)) - right, bin)


def in_place(model, ids, bin):
    found = MEASURE(model, ids, bin)
    ids += 1
    return found


MEASURES = {
    "its own token": measured(own),
    "in bits": measured(lambda r, logp, ids, bin: -bins(r, bin) / np.log(2)),
    "the sign is wrong": measured(lambda r, logp, ids, bin: bins(r, bin)),
    "of a bin are added up": measured(lambda r, logp, ids, bin: -bins(r, bin) * len(r) * bin),
    "summed over the sequences": measured(lambda r, logp, ids, bin: -bins(r, bin) * len(r)),
    "the mean is over sequences only": measured(lambda r, logp, ids, bin: -bins(r, bin) * bin),
    "only the first sequence": measured(lambda r, logp, ids, bin: -bins(r[:1], bin)),
    "the bins mix positions": measured(
        lambda r, logp, ids, bin: -r.reshape(len(r), bin, -1).mean((0, 1))
    ),
    "these are probabilities": measured(lambda r, logp, ids, bin: bins(np.exp(r), bin)),
    "mean probability": measured(lambda r, logp, ids, bin: -np.log(bins(np.exp(r), bin))),
    r"make \(4,\)": measured(lambda r, logp, ids, bin: -r.mean(0)),
    "overflow": overflowing,
    "changes its argument ids": in_place,
    "is only a target": lambda model, ids, bin: model(ids),
    "other ids than": lambda model, ids, bin: model(ids[:, 1:]),
    "NotImplementedError": lambda model, ids, bin: (_ for _ in ()).throw(NotImplementedError),
}


@pytest.mark.parametrize("sentence", MEASURES)
def test_a_fault_of_the_measurement_is_named(sentence):
    report = project.grade(FREQUENCIES, MEASURES[sentence])
    assert not report.passed
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(" ".join(report.faults))


def test_the_solution_passes_every_test():
    report = project.grade(FREQUENCIES, MEASURE)
    assert report.passed, report
    assert len(report.results) == len(project.TESTS)


def test_the_same_frequencies_read_as_the_model_does():
    torch.manual_seed(0)
    config = project.GPTConfig(
        vocab_size=7, context=8, d_model=16, n_layers=1, n_heads=2, position="rope"
    )
    model, ids = project.GPT(config).eval(), np.arange(12).reshape(2, 6) % 7
    plain = model(torch.from_numpy(ids)).detach().numpy()
    for kind, s in ((None, 1.0), ("linear", 1.0), ("ntk", 1.0)):
        found = project.reading(model, FREQUENCIES, kind, s)(ids)
        np.testing.assert_allclose(found, plain, atol=1e-6)
    every_second = project.reading(model, FREQUENCIES, "linear", 2.0)(ids, 2 * np.arange(6))
    np.testing.assert_allclose(every_second, plain, atol=1e-6)
