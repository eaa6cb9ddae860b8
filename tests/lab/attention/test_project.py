"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import numpy as np
import pytest

from lab.attention import project, project_solution
from mathlm.reference import dot_product_attention, dot_product_attention_backward

FORWARD, BACKWARD = project_solution.attention, project_solution.attention_backward


def faulty(divide=np.sqrt, axis=-1, keep=True, top=True, mask_scores=None, low=-np.inf):
    """Attention with one of its lines changed."""

    def forward(q, k, v, mask=None):
        mask = np.ones((len(q), len(k)), dtype=bool) if mask is None else mask
        scores = q @ k.mT / divide(q.shape[-1])
        hide = mask_scores or (lambda s, m: np.where(m, s, low))
        scores = hide(scores, mask)
        powers = np.exp(scores - (scores.max(-1, keepdims=True) if top else 0.0))
        weights = powers / (powers.sum(axis, keepdims=True) if keep else powers.sum())
        return weights @ v, (q, k, v, weights)

    return forward


def after_softmax(q, k, v, mask=None):
    y, cache = dot_product_attention(q, k, v)
    return (y if mask is None else cache[-1] * mask @ v), cache


def in_place(q, k, v, mask=None):
    y, cache = FORWARD(q, k, v, mask)
    q *= 2
    return y, cache


def nobody_without_a_mask(q, k, v, mask=None):
    y, cache = FORWARD(q, k, v, mask)
    return (0 * y if mask is None else y), cache


def forgets_nan(q, k, v, mask=None):
    return FORWARD(q, np.nan_to_num(k), np.nan_to_num(v), mask)


def seen_by_any_sequence(q, k, v, mask=None):
    """Cleans only what no query of any sequence reads."""
    if mask is None or mask.ndim == 2:
        return FORWARD(q, k, v, mask)
    seen = mask.any((0, 1))[:, None]
    return faulty()(q, np.where(seen, k, 0), np.where(seen, v, 0), mask)


def divides(q, k, v, mask=None):
    return 1 / 0


def transposed_whole(q, k, v, mask=None):
    return FORWARD(q, k, v, mask) if q.ndim == 2 else (q @ k.T @ v, None)


FORWARDS = {
    "not divided by √d_k": faulty(divide=lambda d: 1),
    "divided by d_k; divide by its square root": faulty(divide=lambda d: d),
    "runs over the queries": faulty(axis=0, top=False),
    "normalize each row by itself": faulty(keep=False, top=False),
    "scores of some 10,000 overflow": faulty(top=False),
    "the mask is ignored": faulty(mask_scores=lambda s, m: s),
    "True means that a query may attend": faulty(
        mask_scores=lambda s, m: s if m.all() else np.where(m, -np.inf, s)
    ),
    "minus infinity": faulty(mask_scores=lambda s, m: s * m),
    "after the softmax": after_softmax,
    "gives NaN": faulty(),
    "averages the values": faulty(low=-1e9),
    "0 · NaN = NaN": faulty(low=-1e9),
    "must return the pair": lambda q, k, v, mask=None: FORWARD(q, k, v, mask)[0],
    r"y has shape \(6, 3\)": lambda q, k, v, mask=None: (k, None),
    "changes its argument q in place": in_place,
    "without a mask every query may attend": nobody_without_a_mask,
    "must stay visible": forgets_nan,
    "a question for each sequence": seen_by_any_sequence,
    r"use `\.mT`": transposed_whole,
    "raised ZeroDivisionError in line [0-9]+ of divides: division by zero": divides,
}


@pytest.mark.parametrize("sentence", FORWARDS)
def test_a_fault_of_the_forward_pass_is_named(sentence):
    report = project.grade(FORWARDS[sentence], BACKWARD)
    assert not report.passed
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(" ".join(report.faults))


def backward_with(dscores=None, scale_q=True, scale_k=True, order=(0, 1, 2), dv=None):
    """The backward pass with one of its lines changed."""

    def backward(dy, cache):
        q, k, v, A = cache
        dA = dy @ v.mT
        dS = (dscores or (lambda A, dA: A * (dA - (A * dA).sum(-1, keepdims=True))))(A, dA)
        root = np.sqrt(q.shape[-1])
        dq, dk = dS @ k / (root if scale_q else 1), dS.mT @ q / (root if scale_k else 1)
        found = dq, dk, (dv or (lambda A, dy: A.mT @ dy))(A, dy)
        return tuple(found[i] for i in order)

    return backward


def spoils_the_cache(dy, cache):
    gradients = BACKWARD(dy, cache)
    cache[-1][...] *= 2
    return gradients


BACKWARDS = {
    "dS is not dA": backward_with(lambda A, dA: dA),
    "lacks the row sum": backward_with(lambda A, dA: A * dA),
    "must run over the keys": backward_with(
        lambda A, dA: A * (dA - (A * dA).sum(-2)[..., None, :])
    ),
    "one number for the whole matrix": backward_with(lambda A, dA: A * (dA - (A * dA).sum())),
    "factor A before the bracket": backward_with(
        lambda A, dA: dA - (A * dA).sum(-1, keepdims=True)
    ),
    "dq against central differences: the factor": backward_with(scale_q=False),
    "dk against central differences: the factor": backward_with(scale_k=False),
    "dv against central differences: it is off by": backward_with(
        dv=lambda A, dy: 2 * A.mT @ dy
    ),
    "each gradient has the shape of its argument": backward_with(order=(1, 0, 2)),
    "the three gradients": lambda dy, cache: BACKWARD(dy, cache)[:2],
    "leading axes are mixed": lambda dy, cache: tuple(
        g + g.mean() * (dy.ndim > 2) for g in BACKWARD(dy, cache)
    ),
    "must be exactly 0": lambda dy, cache: tuple(g + 1e-12 for g in BACKWARD(dy, cache)),
    "backward changes the cache": spoils_the_cache,
}


def test_a_cache_of_uncleaned_keys_is_named():
    def forward(q, k, v, mask=None):
        y, (_, _, _, A) = FORWARD(q, k, v, mask)
        return y, (q, k, v, A)

    report = project.grade(forward, BACKWARD)
    assert [f for f in report.faults if "keep the cleaned keys and values in the cache" in f]
    assert sum(r.passed for r in report.results) == 15


@pytest.mark.parametrize("sentence", BACKWARDS)
def test_a_fault_of_the_backward_pass_is_named(sentence):
    report = project.grade(FORWARD, BACKWARDS[sentence])
    assert not report.passed
    assert sentence in repr(report)


def test_the_solution_and_the_package_pass():
    report = project.grade(FORWARD, BACKWARD)
    assert report.passed, report
    assert report.faults == []
    assert repr(report).endswith("16 of 16 tests passed")
    assert project.grade(dot_product_attention, dot_product_attention_backward).passed


def test_the_solution_is_the_package_on_other_numbers(rng):
    q, k, v, dy = (rng.normal(size=(2, *s)) for s in ((5, 4), (7, 4), (7, 3), (5, 3)))
    mask = rng.random((2, 5, 7)) < 0.5
    ours, cache = FORWARD(q, k, v, mask)
    y, other = dot_product_attention(q, k, v, mask)
    np.testing.assert_allclose(ours, y, rtol=1e-12, atol=1e-14)
    for a, b in zip(
        BACKWARD(dy, cache), dot_product_attention_backward(dy, other), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


def test_what_is_not_written_yet_is_said_and_the_rest_is_put_off():
    def stub(*args):
        raise NotImplementedError

    report = project.grade(stub, stub)
    assert report.faults == ["something is not written yet: NotImplementedError was raised."]
    assert repr(report).count("(not run yet)") == 15
    later = project.grade(FORWARD, stub)
    assert repr(later).count("✓ forward") == 8
    assert (
        "✗ backward: shapes: something is not written yet: NotImplementedError was raised."
        in repr(later)
    )
