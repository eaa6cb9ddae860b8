"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import numpy as np
import pytest

from lab.multi_head_attention import project, project_solution
from mathlm.reference import flash_attention, flash_attention_backward

FORWARD, BACKWARD = project_solution.attention, project_solution.attention_backward


def faulty(
    divide=np.sqrt, diagonal=0, total=True, mix=True, end=True, top=True, whole=False, keep=None
):
    """Attention over all queries at once, key block by key block, with one line changed."""

    def forward(q, k, v, block):
        (H, T, d), (G, S, _) = q.shape, k.shape
        K, V = k.repeat(H // G, 0), v.repeat(H // G, 0)
        mu, lam, o = np.full((H, T, 1), -np.inf), np.zeros((H, T, 1)), 0.0
        for j in range(0, S - S % block if whole else S, block):
            part = slice(j, min(j + block, S))
            seen = np.arange(S)[part] <= np.arange(T)[:, None] + S - T + diagonal
            s = np.where(seen, q @ K[:, part].mT / divide(d), -np.inf)
            new = np.maximum(mu, s.max(-1, keepdims=True)) if top else np.zeros_like(mu)
            shrink = np.exp(mu - new) if j and top else (1.0 if j else 0.0)
            powers = np.exp(s - new)
            lam = (shrink if total else 1.0) * lam + powers.sum(-1, keepdims=True)
            o = (shrink if mix else 1.0) * o + powers @ V[:, part]
            mu = new
        return (o / lam if end else o), (keep or (lambda *a: a))(q, k, v, block)

    return forward


def first_aligned(q, k, v, block):
    T = q.shape[1]
    return FORWARD(q, k[:, :T], v[:, :T], block) if k.shape[1] > T else FORWARD(q, k, v, block)


def in_turn(q, k, v, block):
    order = np.arange(len(q)).reshape(-1, len(k)).T.ravel()
    y, cache = FORWARD(q[order], k, v, block)
    return y[np.argsort(order)], cache


def quadratic_cache(q, k, v, block):
    y, cache = FORWARD(q, k, v, block)
    return y, (*cache, np.zeros((q.shape[1], k.shape[1])))


def quadratic_work(q, k, v, block):
    np.zeros((len(q), q.shape[1], k.shape[1]))
    return FORWARD(q, k, v, block)


def in_place(q, k, v, block):
    result = FORWARD(q, k, v, block)
    q *= 2
    return result


FORWARDS = {
    "not divided by √d": faulty(divide=lambda d: 1),
    "divided by d; divide by its square root": faulty(divide=lambda d: d),
    "every query sees every key": faulty(diagonal=100),
    "does not see its own key": faulty(diagonal=-1),
    "not divided by the sum λ": faulty(end=False),
    "the sum λ must be multiplied": faulty(total=False),
    "the mixture o must be multiplied": faulty(mix=False),
    "sum and mixture must be multiplied": faulty(total=False, mix=False),
    "shorter block is left out": faulty(whole=True),
    "overflow: subtract the running maximum": faulty(top=False),
    "the last query belongs to the last key": first_aligned,
    "sees no key gives NaN": faulty(),
    "take the key heads in turn": in_turn,
    "the cache holds an array with an entry for each": quadratic_cache,
    "work on one tile at a time": quadratic_work,
    "must return the pair": lambda *a: FORWARD(*a)[0],
    r"y has shape \(6, 3\)": lambda q, k, v, block: (q[0], None),
    "changes its argument q in place": in_place,
}


@pytest.mark.parametrize("sentence", FORWARDS)
def test_a_fault_of_the_forward_pass_is_named(sentence):
    report = project.grade(FORWARDS[sentence], BACKWARD)
    assert not report.passed
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(" ".join(report.faults))


def backward_with(delta=1.0, scale=True, group="sum", work=0):
    """The backward pass over whole matrices of small tests, with one line changed."""

    def backward(dy, cache):
        q, k, v, y, L, _ = cache
        (G, group_size, T, d), S = q.shape, k.shape[-2]
        dy = dy.reshape(y.shape)
        np.zeros((work, T, S))
        seen = np.tri(T, S, S - T, dtype=bool)
        P = np.exp(np.where(seen, q @ k.mT / np.sqrt(d), -np.inf) - L)
        dS = P * (dy @ v.mT - delta * (dy * y).sum(-1, keepdims=True))
        dS = dS / np.sqrt(d) if scale else dS
        parts = [dS.mT @ q, P.mT @ dy]
        if group == "sum":
            dk, dv = (x.sum(1) for x in parts)
        elif group == "last":
            dk, dv = (x[:, -1] for x in parts)
        else:
            dk, dv = (x.reshape(-1, *x.shape[2:]) for x in parts)
        return (dS @ k).reshape(G * group_size, T, d), dk, dv

    return backward


def unsafe(dy, cache):
    """Exponentiates before it normalizes."""
    gradients = BACKWARD(dy, cache)
    return tuple(g * np.exp(cache[4].max()) / np.exp(cache[4].max()) for g in gradients)


def spoils_the_cache(dy, cache):
    gradients = BACKWARD(dy, cache)
    cache[4][...] += 1
    return gradients


def spoils_dy(dy, cache):
    gradients = BACKWARD(dy, cache)
    dy *= 2
    return gradients


BACKWARDS = {
    "δ is left out": backward_with(delta=0.0),
    "δ has the wrong sign": backward_with(delta=-1.0),
    "dq lacks the factor 1/√d": backward_with(scale=False),
    "dk lacks the factor 1/√d": backward_with(scale=False),
    "dv has the gradient of one head": backward_with(group="last"),
    "dk has the gradient of one head": backward_with(group="last"),
    "dk has a gradient for each query head, (4, 7, 3)": backward_with(group="none"),
    "and let them go": backward_with(work=2),
    "the three gradients": lambda dy, cache: BACKWARD(dy, cache)[:2],
    "it must have that of q": lambda dy, cache: BACKWARD(dy, cache)[::-1],
    "large scores overflow in the backward pass": unsafe,
    "backward changes the cache": spoils_the_cache,
    "changes its argument dy in place": spoils_dy,
}


@pytest.mark.parametrize("sentence", BACKWARDS)
def test_a_fault_of_the_backward_pass_is_named(sentence):
    report = project.grade(FORWARD, BACKWARDS[sentence])
    assert not report.passed
    assert sentence in repr(report)


def test_gradients_that_are_not_finite_where_nothing_is_seen_are_named():
    def forward(q, k, v, block):
        y, (*most, L, block) = FORWARD(q, k, v, block)
        return y, (*most, np.where(np.isinf(L), -np.inf, L), block)

    report = project.grade(forward, BACKWARD)
    assert [f for f in report.faults if "let L be +∞ for such a query" in f]


def test_the_solution_passes():
    report = project.grade(FORWARD, BACKWARD)
    assert report.passed, report
    assert repr(report).endswith("15 of 15 tests passed")


def test_the_solution_is_the_package_on_other_numbers():
    q, k, v, dy = project.draw(H=6, G=2, T=11, S=13, d=4, width=3)
    ours, cache = FORWARD(q, k, v, 4)
    K, V = k.repeat(3, 0), v.repeat(3, 0)
    y, other = flash_attention(q, K, V, block=4, causal=True)
    np.testing.assert_allclose(ours, y, rtol=1e-11, atol=1e-13)
    dq, dk, dv = flash_attention_backward(dy, other)
    summed = (x.reshape(2, 3, *x.shape[1:]).sum(1) for x in (dk, dv))
    for a, b in zip(BACKWARD(dy, cache), (dq, *summed), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_what_is_not_written_yet_is_said_and_the_rest_is_put_off():
    def stub(*args):
        raise NotImplementedError

    report = project.grade(stub, stub)
    assert report.faults == ["something is not written yet: NotImplementedError was raised."]
    assert repr(report).count("(not run yet)") == 14
