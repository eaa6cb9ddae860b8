"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

from pathlib import Path

import numpy as np
import pytest

from lab.embeddings import project, project_solution

SOURCE = Path(project_solution.__file__).read_text()
NAMES = ("pairs", "draw", "loss", "gradient", "train")
SOLUTION = [getattr(project_solution, name) for name in NAMES]


def report_of(*changes):
    """The grader's report on the solution with some of its lines changed."""
    source = SOURCE
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    code = {}
    exec(source, code)
    return project.grade(*(code[name] for name in NAMES))


RANGE, LOSS = (
    "range(max(0, i - window), min(len(ids), i + window + 1))",
    "    return float(np.lo",
)
SEEN, NOISE = "np.logaddexp(0, -seen).sum()", "np.logaddexp(0, noise).sum()"
TWO = f"{SEEN} + {NOISE}"
TO_W = "g_o[:, None] * c_o + (g_n[:, :, None] * c_n).sum(1)"
START = "rng.normal(size=(V, 16)) / 16, np.zeros((V, 16))"
END = "return W, C\n"
FAULTS = {
    "a center is no context of its own": ("            if j != i:", "            if True:"),
    "only the words after the center": ("max(0, i - window)", "i"),
    "only the words before the center": ("min(len(ids), i + window + 1)", "i"),
    "the end of a range does not belong": ("i + window + 1", "i + window"),
    "one too small": (
        RANGE,
        RANGE.replace("i - window", "i - 1").replace("+ window + 1", "+ 2"),
    ),
    "one too large": (
        RANGE,
        RANGE.replace("i - window", "i - 3").replace("+ window + 1", "+ 4"),
    ),
    "from the end of the text": (RANGE, "range(i - window, min(len(ids), i + window + 1))"),
    "closed to a ring": (
        "            if j != i:\n                found.append((center, ids[j]))",
        "            pass\n        for r in (-2, -1, 1, 2):\n"
        "            found.append((center, ids[(i + r) % len(ids)]))",
    ),
    "compare positions, not words": ("if j != i", "if center != ids[j]"),
    "pairs are missing": ("enumerate(ids)", "enumerate(ids[:-1])"),
    "two arrays of one length": ("return centers, contexts", "return found"),
    "as often as they occur": ("counts**0.75 / (counts**0.75)", "counts / counts"),
    "all words are drawn equally": ("size=size, p=q", "size=size"),
    "all words that occur are drawn equally": (
        "counts**0.75 / (counts**0.75)",
        "(counts > 0) / (counts > 0)",
    ),
    "raised to 4/3": ("0.75", "(4 / 3)"),
    "the square root of the counts": ("0.75", "0.5"),
    "drawn with shares": ("0.75", "2.0"),
    "draw must return the shape": ("size=size, p=q)", "size=size, p=q).ravel()"),
    "word numbers from 0": ("size=size, p=q)", "size=size, p=q) + 2"),
    "a second call draws the same": (
        "return rng.choice",
        "return np.random.default_rng(0).choice",
    ),
    "one word k times": ("size=size, p=q)", "size=(size[0], 1), p=q).repeat(size[1], 1)"),
    "the noise is missing": (TWO, SEEN),
    "the seen context is missing": (TWO, NOISE),
    "noise words are treated like seen": (NOISE, "np.logaddexp(0, -noise).sum()"),
    "it is the log likelihood": (LOSS, LOSS.replace("float(", "-float(")),
    "mean over the pairs": (f"float({TWO})", f"float({TWO}) / len(seen)"),
    "the noise of a pair is averaged": (NOISE, "np.logaddexp(0, noise).mean(1).sum()"),
    "it is in bits": (f"float({TWO})", f"float({TWO}) / np.log(2)"),
    "the tables are exchanged": (
        "    w = W[centers]\n    seen",
        "    W, C = C, W\n    w = W[centers]\n    seen",
    ),
    "centers are read from C": ("    w = W[centers]\n    seen", "    w = C[centers]\n    seen"),
    "contexts are read from W": (
        "    w = W[centers]\n    seen",
        "    C = W\n    w = W[centers]\n    seen",
    ),
    "the loss is off by": (f"float({TWO})", f"float({TWO}) + 1"),
    "its logarithm minus infinity": (NOISE, "-np.log(1 / (1 + np.exp(noise))).sum()"),
    "two tables of shape": ("return dW, dC", "return dW[centers], dC"),
    "gradient changes the tables": ("return dW, dC", "W -= dW\n    return dW, dC"),
    "writes a row once; use": (
        "np.add.at(dW, centers, " + TO_W + ")",
        f"dW[centers] += {TO_W}",
    ),
    "dC): a word that occurs more than once": (
        "np.add.at(dC, contexts, g_o[:, None] * w)",
        "dC[contexts] += g_o[:, None] * w",
    ),
    "the noise words do not push": (" + (g_n[:, :, None] * c_n).sum(1)", ""),
    "the seen word does not pull": ("g_o[:, None] * c_o + ", ""),
    "the pull of the seen word has the strength": (" - 1\n", "\n"),
    "dW): it has the wrong sign": ("return dW, dC", "return -dW, dC"),
    "dC): it has the wrong sign": ("return dW, dC", "return dW, -dC"),
    "dW): it is divided by the number": ("return dW, dC", "return dW / len(w), dC"),
    "the rows of the noise words are missing": (
        "    np.add.at(dC, negatives, g_n[:, :, None] * w[:, None])\n",
        "",
    ),
    "the rows of the seen contexts are missing": (
        "    np.add.at(dC, contexts, g_o[:, None] * w)\n",
        "",
    ),
    "give the first a middle axis": ("(C[negatives] * w[:, None])", "(C[negatives] * w)"),
    "train must return the two tables": (f"    {END}\n\ndef", "    return W + C\n\n\ndef"),
    "expected (36, d)": (f"    {END}\n\ndef", "    return W[:-1], C[:-1]\n\n\ndef"),
    "the step size is too large": (f"    {END}\n\ndef", "    return W * np.nan, C\n\n\ndef"),
    "begin with small random vectors": (START, "np.zeros((2, V, 16))"),
    "which knowing nothing costs": (
        "W -= rate * dW\n            C -=",
        "W += rate * dW\n            C +=",
    ),
    "Are all pairs visited several times": (
        "    for epoch in range(5)",
        "    C += rng.normal(size=C.shape) / 100\n    for epoch in range(0)",
    ),
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_is_named(sentence):
    report = report_of(FAULTS[sentence])
    assert not report.passed
    assert sentence in repr(report).replace("centers (dW)", "dW)").replace(
        "contexts (dC)", "dC)"
    )


def test_the_solution_passes():
    report = project.grade(*SOLUTION)
    assert report.passed, report
    assert repr(report).endswith("8 of 8 tests passed")


def test_what_is_not_written_yet_is_said_and_the_rest_is_put_off():
    def stub(*args):
        raise NotImplementedError

    report = project.grade(stub, stub, stub, stub, stub)
    assert set(report.faults) == {
        "something is not written yet: NotImplementedError was raised."
    }
    assert repr(report).count("(not run yet)") == 5


def test_words_of_a_planted_cluster_never_meet(rng):
    text, cluster = project.planted(rng, 50)
    places = np.flatnonzero(text < len(cluster))
    assert np.diff(places).min() == 3
    assert np.bincount(cluster).tolist() == [project.INNER] * project.GROUPS


def test_clusters_are_recovered_from_their_indicators_and_not_from_noise(rng):
    cluster = np.repeat(range(4), 6)
    W = np.eye(4)[cluster] + 0.01 * rng.normal(size=(24, 4))
    assert project.recovered(W, cluster) == 1
    assert project.recovered(rng.normal(size=(24, 16)), cluster) < 0.6
