"""No test passes whatever it finds: no tolerance without bounds, no bare "is not None"."""

import ast
from pathlib import Path

import pytest
from sources import nodes

TESTS = Path(__file__).parent
LIMITS = {"rtol": 0.1, "rel": 0.1, "rel_tol": 0.1, "atol": 1.0, "abs": 1.0, "abs_tol": 1.0}
COMPARISONS = {"allclose", "approx", "assert_allclose", "assert_close", "isclose"}
FILES = sorted(TESTS.rglob("test_*.py"))
LOOSE = {  # why a file has comparisons that are looser
    "functional/test_quantization_activation_aware.py": "16, from 4,000 rounding errors",
    "models/test_bert_pair.py": "a standard deviation, estimated from a few weights",
    "lab/neural_networks/test_fifty_layers.py": "means over a few random networks",
    "lab/model_costs/test_demos.py": "one published run at another utilization, said there",
    "lab/depth/test_depth_study.py": "a law of wide random stacks, on narrow ones",
    "lab/interpretability/test_induction.py": "a loss that a trained model comes near to",
    "lab/explanations/test_manifold_fits.py": "an average of random points, against its mean",
    "reference/test_linear_algebra_decomposition.py": "1e-18: float64 keeps no digit beside 1",
    "lab/depth/test_growth.py": "logarithms of factors of millions",
    "reference/network/test_stacks_transformer_weights.py": "a variance of a few weights",
    "scaling/test_power_law.py": "widths of two intervals, one of them drawn at random",
    "scaling/test_chinchilla.py": "widths of two intervals, one of them drawn at random",
    "lab/evaluation/test_contamination.py": "counts of 550 drawn places, 85 = four deviations",
    "lab/evaluation/test_membership.py": "a spread over 400 samples, 12 % = three deviations",
    "lab/evaluation/test_tournament.py": "counts of 1,000 drawn pairs, 130 = four deviations",
    "lab/training_at_scale/test_plans.py": "printed rates, within the 15 % said there",
}
THERE = {  # why a file has a test of nothing but that something is there
    "interpret/test_autoencoder.py": "a feature is revived or None: which ones, others ask",
}


def called(call):
    """The name of what is called, without what it belongs to."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def loose(tree):
    """Lines of comparisons whose tolerance is a number above its limit."""
    for node in tree:
        if isinstance(node, ast.Call) and called(node) in COMPARISONS:
            for option in node.keywords:
                value = getattr(option.value, "value", 0)
                if isinstance(value, int | float) and value > LIMITS.get(option.arg, value):
                    yield node.lineno


def only_something(test):
    """Whether a test asserts that something is not None, and nothing else."""
    inside = list(ast.walk(test))
    asserts = [node.test for node in inside if isinstance(node, ast.Assert)]
    calls = [called(node) for node in inside if isinstance(node, ast.Call)]
    others = any("assert_" in name or "raises" in name for name in calls)
    ends = (ast.unparse(test).endswith(" is not None") for test in asserts)
    return bool(asserts) and not others and all(ends)


def empty(tree):
    """Lines of tests all of whose assertions are that something is not None."""
    for node in tree:
        is_test = isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if is_test and only_something(node):
            yield node.lineno


def names(check):
    """Files of which the check finds a line."""
    return {file.relative_to(TESTS).as_posix() for file in FILES if any(check(nodes(file)))}


@pytest.mark.slow
def test_no_tolerance_is_without_bounds_but_for_a_reason_that_is_listed():
    assert len(FILES) > 300
    assert names(loose) - set(LOOSE) == set()


def test_no_test_asks_only_whether_there_is_something():
    assert names(empty) - set(THERE) == set()


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (loose, "assert x == pytest.approx(y, rel=0.5)"),
        (loose, "torch.testing.assert_close(x, y, rtol=1e6, atol=0)"),
        (loose, "np.testing.assert_allclose(x, y, atol=2)"),
        (empty, "def test_x():\n    y = f()\n    assert y is not None"),
    ],
)
def test_the_search_finds_what_it_searches_for(check, text):
    assert list(check(list(ast.walk(ast.parse(text)))))


def test_the_search_lets_the_rest_pass():
    text = "def test_x():\n    assert y is not None\n    assert y == approx(1, rel=0.1)"
    found = list(ast.walk(ast.parse(text)))
    assert not list(loose(found))
    assert not list(empty(found))
