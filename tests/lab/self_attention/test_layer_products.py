import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from lab.self_attention.layer_products import attention_products, recurrent_products
from mathlm.errors import InputError
from mathlm.layers import SelfAttention


@pytest.mark.parametrize(("n", "d"), [(8, 4), (5, 16)])
def test_attention_products_are_what_torch_counts(n, d):
    """A multiply-add is two of torch's operations."""
    x = torch.zeros(1, n, d)
    with FlopCounterMode(display=False) as counter:
        SelfAttention(d, 2, causal=False)(x, taps={})
    assert counter.get_total_flops() == 2 * sum(attention_products(n, d))


@pytest.mark.parametrize(("module", "maps"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_recurrent_products_are_what_torch_counts(module, maps):
    layer = getattr(torch.nn, module)(6, 6, bias=False)
    with FlopCounterMode(display=False) as counter:
        layer(torch.zeros(5, 1, 6))
    assert counter.get_total_flops() == 2 * recurrent_products(5, 6, maps)


def test_pairs_and_projections_are_equal_at_twice_the_width():
    pairs, projections = attention_products(2 * 48, 48)
    assert pairs == projections


@pytest.mark.parametrize("sizes", [(0, 4), (4, -1)])
def test_sizes_below_one_are_refused(sizes):
    with pytest.raises(InputError, match="at least 1"):
        attention_products(*sizes)
    with pytest.raises(InputError, match="at least 1"):
        recurrent_products(*sizes)
