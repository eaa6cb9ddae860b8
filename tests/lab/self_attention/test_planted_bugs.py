import pytest

from lab.self_attention.attention_checks import CHECKS, fused
from lab.self_attention.planted_bugs import BUGS, RIGHT, caught
from mathlm.reference import self_attention


def fails(name):
    return [check for check, failed in zip(CHECKS, caught(BUGS[name]), strict=True) if failed]


def test_the_right_steps_pass_every_check():
    assert not any(caught(RIGHT))


def test_the_package_passes_every_check():
    def attend(*inputs):
        y, cache = self_attention(*inputs)
        return y, cache[-1][-1]

    assert not any(caught(attend))


def test_the_fused_attention_passes_every_check():
    assert not any(caught(fused))


@pytest.mark.parametrize("bug", BUGS)
def test_every_bug_is_caught(bug):
    assert fails(bug)


def test_every_check_catches_a_bug():
    assert all(any(column) for column in zip(*map(caught, BUGS.values()), strict=True))


def test_a_mask_after_the_softmax_leaves_the_triangle_empty():
    """The weights above the diagonal are 0, and yet the denominator has seen the future."""
    assert "future moves nothing" in fails("mask after the softmax")
    assert "upper triangle is 0" not in fails("mask after the softmax")


def test_an_error_counts_as_caught():
    def broken(*inputs):
        raise ValueError("shapes")

    assert all(caught(broken))
