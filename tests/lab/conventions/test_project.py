"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import numpy as np
import pytest
import torch

from lab.conventions import project, project_solution
from mathlm import functional


def stuck(name, value):
    """A function that always gives one convention the same name."""
    return lambda given: project_solution.identify(given) | {name: value}


def in_place(given):
    given.x[...] *= 2
    return project_solution.identify(given)


def divides(given):
    return 1 / 0


def unwritten(given):
    raise NotImplementedError


FAULTS = {
    "how its weights lie: for 16 of 16 checkpoints with 'in_out'": stuck("layout", "out_in"),
    "which features its rotary embedding pairs: for 16 of 16": stuck("pairs", "interleaved"),
    "which GELU it uses: for 16 of 16 checkpoints with 'tanh'": stuck("gelu", "exact"),
    "divides the squares by: for 16 of 16 checkpoints with 'n'": stuck("variance", "n-1"),
    "pairs is 'neox'; it must be one of half_split, interleaved": stuck("pairs", "neox"),
    "must return a dict with the keys layout, pairs, gelu, variance": lambda given: "out_in",
    "your code changes the checkpoint in place": in_place,
    "of divides: division by zero": divides,
    "something is not written yet": unwritten,
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_is_named(sentence):
    report = project.grade(FAULTS[sentence])
    assert not report.passed
    assert len(report.faults) == 1
    assert sentence in repr(report)


def test_both_confusions_of_a_convention_are_said():
    def turned(given):
        found = project_solution.identify(given)
        return found | {"gelu": {"exact": "tanh", "tanh": "exact"}[found["gelu"]]}

    assert project.grade(turned).faults == [
        "for 16 of 16 checkpoints with 'exact' your function says 'tanh'. "
        "for 16 of 16 checkpoints with 'tanh' your function says 'exact'."
    ]


def test_the_solution_passes():
    report = project.grade(project_solution.identify)
    assert report.passed, report
    assert repr(report).endswith("5 of 5 tests passed\n32 of 32 checkpoints identified")


def test_a_coin_names_none_right_but_by_chance():
    rng = np.random.default_rng(0)
    coin = {n: c[int(rng.integers(2))] for n, c in project.CHOICES.items()}
    report = project.grade(lambda given: coin)
    assert repr(report).endswith("\n2 of 32 checkpoints identified")
    assert len(report.faults) == 4


def test_the_block_under_our_conventions_is_the_packages():
    given = project.checkpoint(project.answers()[0], seed=3)
    x, W = torch.from_numpy(given.x), {n: torch.from_numpy(w) for n, w in given.weights.items()}
    h = functional.layer_norm(x, torch.ones(8), torch.zeros(8), 1e-5)
    table = functional.rotary_table(6, 8)
    q, k = (functional.rotate_half_split(h @ W[n].T, *table) for n in ("W_q", "W_k"))
    y = functional.dot_product_attention(q, k, h @ W["W_v"].T, functional.causal_mask(6, 6))
    expected = functional.gelu(y) @ W["W_o"].T
    np.testing.assert_allclose(given.y, expected.numpy(), atol=1e-6)


def test_every_two_kinds_differ_by_more_than_rounding():
    outputs = [project.checkpoint(kind, 0).y for kind in project.answers()]
    gaps = [np.abs(a - b).max() for i, a in enumerate(outputs) for b in outputs[:i]]
    assert min(gaps) > 1e-5
