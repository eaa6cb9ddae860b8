import math
from itertools import pairwise

import pytest
import torch

from lab.depth import depth_study as depth
from mathlm.errors import ConfigError, InputError


@pytest.fixture(scope="module")
def deep():
    """One stack of 64 blocks of every kind."""
    torch.set_default_dtype(torch.float64)
    return {run["kind"]: run for run in depth.depth_study([64], batch=2)}


def test_attention_without_residuals_makes_all_tokens_alike_in_a_few_blocks(deep):
    """The logarithm of the spread more than doubles from block to block: 0.9, 0.6, ..."""
    logs = [-math.log(s) for s in deep["attention-only"]["spread"][:4]]
    assert all(b > 2 * a for a, b in pairwise(logs))
    assert deep["attention-only"]["spread"][8] < 1e-14
    assert deep["plain"]["spread"][8] < 1e-14


def test_pre_norm_with_residuals_keeps_tokens_apart(deep):
    assert deep["pre-norm"]["spread"][-1] > 0.1
    assert deep["residual"]["spread"][8] > 0.1


def test_the_stream_grows_as_a_root_with_norms_inside_and_doubles_its_square_without(deep):
    ratio = deep["pre-norm"]["rms"][64] / deep["pre-norm"]["rms"][16]
    assert ratio == pytest.approx(2, rel=0.25)
    assert 2**0.5 < deep["residual"]["rms"][64] ** (1 / 64) < 2
    assert deep["post-norm"]["rms"][1:] == pytest.approx([1.0] * 64, abs=1e-4)


def test_gradients_are_finite_and_end_at_1(deep):
    for run in deep.values():
        assert run["gradient"][-1] == pytest.approx(1)
        assert all(math.isfinite(g) and g > 0 for g in run["gradient"])
    assert deep["residual"]["gradient"][0] > 1e9
    assert 1 < deep["pre-norm"]["gradient"][0] < 20


def test_a_shallow_stack_is_the_beginning_of_a_deep_one():
    runs = depth.depth_study([2, 5], ["pre-norm"], d_model=16, length=4, batch=1)
    assert runs[0]["rms"] == runs[1]["rms"][:3]
    assert [run["depth"] for run in runs] == [2, 5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depths": [0]}, r"depths=\[0\] must be numbers of blocks"),
        ({"depths": []}, r"depths=\[\]"),
        ({"kinds": ["dense"]}, r"kinds=\['dense'\] must be some of plain, residual"),
        ({"kinds": []}, r"kinds=\[\]"),
        ({"batch": 0}, "batch=0"),
    ],
)
def test_stacks_that_are_not_there_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        depth.depth_study(**options)


def test_a_signal_that_is_gone_is_an_error():
    with pytest.raises(InputError, match=r"largest entry of sequence \[0\] is 0.0"):
        depth.depth_study([1], ["plain"], gain=0.0)
