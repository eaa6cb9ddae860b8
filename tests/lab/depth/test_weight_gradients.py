import numpy as np
import pytest
import torch

from lab.depth import block_kinds
from lab.depth.weight_gradients import output_gradients


def test_before_the_norm_the_last_block_gets_less_with_depth_and_after_it_as_much():
    """From 2 to 18 blocks: divided by about 3 with pre-norm, unchanged with post-norm."""
    pre, post = (
        [output_gradients(kind, L)[:, -1].mean() for L in (2, 18)]
        for kind in ("pre-norm", "post-norm")
    )
    assert 2 < pre[0] / pre[1] < 4.5
    assert 0.6 < post[0] / post[1] < 1.6


def test_a_gradient_is_that_of_the_mean_loss():
    """A step against the gradient of all recorded matrices lowers the loss by its square."""
    found = output_gradients("post-norm", 2, [5], d_model=16)
    model = block_kinds.build("post-norm", 2, 5, start="xavier", d_model=16)
    ids = torch.randint(256, (4, 33), generator=torch.Generator().manual_seed(5))

    def loss():
        logits = model(ids[:, :-1]).flatten(0, 1)
        return torch.nn.functional.cross_entropy(logits, ids[:, 1:].flatten())

    weights = [block.feed_forward.W_out.weight for block in model.blocks]
    before, h = loss(), 1e-5
    before.backward()
    with torch.no_grad():
        for W in weights:
            W -= h * W.grad
    assert (before - loss()).item() / h == pytest.approx((found**2).sum(), rel=1e-3)


def test_seeds_stand_in_rows_and_blocks_in_columns():
    both = output_gradients("pre-norm", 3, [1, 2], d_model=16)
    assert both.shape == (2, 3)
    np.testing.assert_array_equal(both[1:], output_gradients("pre-norm", 3, [2], d_model=16))
