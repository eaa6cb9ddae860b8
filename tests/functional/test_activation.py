import math

import pytest
import torch

from mathlm import functional as F

GRID = torch.linspace(-6, 6, 49, dtype=torch.float64)
FORMULAS = {
    F.relu: lambda x: max(x, 0.0),
    F.gelu: lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    F.gelu_tanh: lambda x: (
        x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
    ),
    F.silu: lambda x: x / (1 + math.exp(-x)),
}


@pytest.mark.parametrize("f", FORMULAS, ids=lambda f: f.__name__)
def test_each_activation_is_its_formula(f):
    expected = torch.tensor([FORMULAS[f](x) for x in GRID.tolist()])
    torch.testing.assert_close(f(GRID), expected, rtol=1e-12, atol=1e-14)


def test_the_two_gelus_differ_by_less_than_5e_4_and_more_than_rounding():
    difference = (F.gelu(GRID) - F.gelu_tanh(GRID)).abs().max().item()
    assert 1e-4 < difference < 5e-4


def test_swiglu_gates_the_second_by_the_silu_of_the_first():
    gate, up = torch.tensor([0.0, math.log(3)]), torch.tensor([5.0, 2.0])
    expected = torch.tensor([0.0, 1.5 * math.log(3)])  # σ(log 3) = 3/4
    torch.testing.assert_close(F.swiglu(gate, up), expected, rtol=1e-14, atol=0)


def test_geglu_gates_the_second_by_the_gelu_of_the_first():
    """At 1, x + 0.044715 x³ is 1.044715: gelu_tanh(1) = (1 + tanh(1.044715 √(2/π))) / 2."""
    gate, up = torch.tensor([0.0, 1.0]), torch.tensor([5.0, 2.0])
    expected = torch.tensor([0.0, 1 + math.tanh(1.044715 * math.sqrt(2 / math.pi))])
    torch.testing.assert_close(F.geglu_tanh(gate, up), expected, rtol=1e-14, atol=0)
