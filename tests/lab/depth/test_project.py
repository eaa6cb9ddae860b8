"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import math

import numpy as np
import pytest

from lab.depth import project
from lab.depth import project_solution as solution


def with_fault(
    average=True, delta=True, adds=True, root=True, square=(2, 2), reset=True, bare=True,
    shrink=True, share=True, fix=True, halves=2,
):  # fmt: skip
    """The solution with one of its lines changed."""

    def predict(depth, tokens, place, alpha=1.0, beta=1.0):
        S, r, rows = 1.0, 1.0, [(1.0, 1.0)]
        for _ in range(depth):
            for half in ("attention", "feed-forward")[:halves]:
                size, apart = solution.sublayer(half, r, tokens)
                size = size if average or half == "feed-forward" else 1.0
                if half == "feed-forward":
                    apart = (apart if delta else r) * adds
                if place == "branch" and fix:
                    size, apart = 1.0, apart / size
                s = (S if place == "none" and bare else 1.0) * beta ** square[1]
                total = alpha ** square[0] * S + s * size
                r = (alpha ** (square[0] * share) * S * r + s * apart) / total
                S = 1.0 if place == "after" and reset else total
            rows.append((S, r))
        S, r = np.array(rows).T
        spread = r * (1 - 1 / tokens if shrink else 1)
        return (np.sqrt(S), np.sqrt(spread)) if root else (S, spread)

    return predict


def arccosine(depth, tokens, place, alpha=1.0, beta=1.0):
    """Spreads through 1 - cos, which keeps no digits below 1e-8."""
    size, spread = solution.predict(depth, tokens, place, alpha, beta)
    return size, np.where(spread < 1e-6, 0.0, spread)


FAULTS = {
    "attention adds an average": with_fault(average=False),
    r"use δ\(r\), not r": with_fault(delta=False),
    "what the network gives differs too": with_fault(adds=False),
    "take the root": with_fault(root=False),
    "not of r": with_fault(shrink=False),
    "a block has two sums": with_fault(halves=1),
    "α multiplies the stream": with_fault(square=(1, 2)),
    "β multiplies the branch": with_fault(square=(2, 1)),
    "α and β are not squared": with_fault(square=(1, 1)),
    "α is not used": with_fault(square=(0, 2)),
    "r needs α² too": with_fault(share=False),
    "a norm sets S to 1": with_fault(reset=False),
    "as large as S": with_fault(bare=False),
    "attention's average too": with_fault(fix=False),
    "lost in rounding": arccosine,
    "each has 2 numbers": lambda *a: (np.ones(3), np.ones(3)),
    "two lists": lambda *a: np.ones(2)[0],
    "start at size 1": lambda *a: (np.zeros(2), np.ones(2)),
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_is_named(sentence):
    report = project.grade(FAULTS[sentence])
    assert not report.passed
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(" ".join(report.faults))


def test_the_solution_passes():
    report = project.grade(solution.predict)
    assert report.passed, report
    assert repr(report).endswith("8 of 8 tests passed")


def test_deep_norm_keeps_most_of_the_difference():
    """α⁴ β⁻⁸ of L = 96: the branches are a 10,000th of each sum, 192 sums lose 2 percent."""
    alpha, beta = (2 * 96) ** 0.25, (8 * 96) ** -0.25
    _, spread = solution.predict(96, 16, "after", alpha, beta**2)
    assert 0.9 < spread[-1] / math.sqrt(15 / 16) < 1
