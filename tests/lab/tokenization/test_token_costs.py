import math

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from lab.tokenization.token_costs import flop_per_byte, token_loss_to_bits
from mathlm.errors import InputError
from mathlm.models import GPT, GPTConfig
from mathlm.text import bits_per_byte


def test_flop_of_a_byte_are_those_that_torch_counts_for_the_weights():
    """A pass over 8 tokens of 2.5 bytes; attention's own products are 3 times 4 T d at most."""
    model = GPT(GPTConfig(vocab_size=64, context=8, d_model=16, n_layers=1, n_heads=2)).float()
    blocks = sum(p.numel() for p in model.blocks.parameters() if p.ndim == 2)
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, 8, dtype=torch.int64)).sum().backward()
    weights = flop_per_byte(blocks, 64, 16, 2.5) * 8 * 2.5
    assert weights <= counter.get_total_flops() <= weights + 12 * 8 * 8 * 16


def test_the_table_of_a_model_has_vocabulary_times_width_entries():
    model = GPT(GPTConfig(vocab_size=64, context=8, d_model=16, n_layers=1, n_heads=2))
    assert model.token_embedding.weight.numel() == 64 * 16


def test_bits_by_token_are_those_of_the_whole_text():
    """Ten tokens at 3 nats, 25 bytes: 30 nats in all."""
    assert math.isclose(token_loss_to_bits(3.0, 2.5), bits_per_byte(30.0, 25), rel_tol=1e-12)


@pytest.mark.parametrize("beta", [0.0, -1.0, math.inf, math.nan])
def test_a_token_has_a_positive_length(beta):
    for call in (lambda: flop_per_byte(1, 1, 1, beta), lambda: token_loss_to_bits(1.0, beta)):
        with pytest.raises(InputError, match=f"bytes_per_token={beta} must be positive"):
            call()


@pytest.mark.parametrize("loss", [-1.0, math.nan, math.inf])
def test_a_loss_is_finite_and_not_negative(loss):
    with pytest.raises(InputError, match=f"loss={loss} must be finite"):
        token_loss_to_bits(loss, 1.0)


@pytest.mark.usefixtures("unchecked")
def test_narrow_integers_do_not_overflow():
    """6 (1 + 2^17 2^17) / 1; 2^34 is no int32."""
    wide = np.int32(2**17)
    assert flop_per_byte(1, wide, wide, 1) == 6 * (1 + 2**34)


def test_costs_larger_than_any_number_are_refused():
    with pytest.raises(InputError, match="larger than any number"):
        flop_per_byte(1, 1, 1, 5e-324)
    with pytest.raises(InputError, match="larger than any number"):
        token_loss_to_bits(1e308, 5e-324)
