"""How far heads look, on weights whose answer is known."""

import math

import pytest
import torch

from lab.interpretability.locality import looks


def test_three_heads_that_are_known():
    """Previous token; half on the first and half even on the rest; four back."""
    T = 12
    weights = torch.zeros(3, T, T)
    for t in range(T):
        weights[0, t, max(t - 1, 0)] = 1
        weights[1, t, 0] = 0.5
        weights[1, t, 1 : t + 1] = 0.5 / max(t, 1)
        weights[2, t, max(t - 4, 0)] = 1
    one, two, three = (looks(weights[[h]]).tolist() for h in range(3))
    assert one == pytest.approx([0, 1, 1])
    queries = range(6, T)
    assert two[0] == pytest.approx(0.5)
    assert two[1] == pytest.approx(sum(3 / t for t in queries) / 6)
    assert two[2] == pytest.approx(sum(math.exp(math.log(t)) for t in queries) / 6)
    assert three == pytest.approx([0, 0, 1])
