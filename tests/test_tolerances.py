"""No test passes whatever it finds: no tolerance without bounds, no bare "is not None"."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
LIMITS = {"rtol": 0.1, "rel": 0.1, "rel_tol": 0.1, "atol": 1.0, "abs": 1.0, "abs_tol": 1.0}
COMPARISONS = {"allclose", "approx", "assert_allclose", "assert_close", "isclose"}
FILES = sorted(TESTS.rglob("test_*.py"))
LOOSE = {  # why a file has comparisons that are looser
    "functional/test_activation_aware.py": "16, estimated from 4,000 rounding errors",
    "models/test_pair_bert.py": "a standard deviation, estimated from a few weights",
    "plot/test_architectures_demos.py": "one published run at another utilization, said there",
    "recipes/test_depth.py": "a law of growth for wide random stacks, on narrow ones",
    "recipes/test_induction.py": "a loss that a trained model comes near to",
    "recipes/test_manifold_fits.py": "an average over random points, against its expectation",
    "reference/test_decomposition.py": "1e-18, below which float64 keeps no digit beside 1",
    "reference/test_residual.py": "logarithms of stacks that differ by factors of millions",
    "reference/test_transformer_weights.py": "a variance, estimated from a few weights",
    "scaling/test_power_law.py": "widths of two intervals, one of them drawn at random",
}
THERE = {  # why a file has a test of nothing but that something is there
    "interpret/test_autoencoder.py": "a feature is revived or None: which ones, others ask",
}


def loose(tree):
    """Lines of comparisons whose tolerance is a number above its limit."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in COMPARISONS:
            for option in node.keywords:
                value = getattr(option.value, "value", 0)
                if isinstance(value, int | float) and value > LIMITS.get(option.arg, value):
                    yield node.lineno


def empty(tree):
    """Lines of tests all of whose assertions are that something is not None."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            tests = [ast.unparse(a.test) for a in ast.walk(node) if isinstance(a, ast.Assert)]
            calls = [ast.unparse(c.func) for c in ast.walk(node) if isinstance(c, ast.Call)]
            others = any("assert_" in call or "raises" in call for call in calls)
            if tests and not others and all(text.endswith(" is not None") for text in tests):
                yield node.lineno


def names(check):
    """Files of which the check finds a line."""
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in FILES}
    return {f.relative_to(TESTS).as_posix() for f, tree in trees.items() if any(check(tree))}


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
    assert list(check(ast.parse(text)))


def test_the_search_lets_the_rest_pass():
    text = "def test_x():\n    assert y is not None\n    assert y == approx(1, rel=0.1)"
    assert not list(loose(ast.parse(text)))
    assert not list(empty(ast.parse(text)))
