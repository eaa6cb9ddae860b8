"""Collectives, ZeRO, a cut block and a pipeline of three ranks against one process."""

import pytest
import torch
from torch import nn
from train import parallel_run

from lab.training_at_scale.pipeline import bubble_fraction, pipeline_step
from lab.training_at_scale.pipeline_schedule import idle_share, pipeline_tasks
from lab.training_at_scale.rings import all_gather, all_reduce, pieces, reduce_scatter
from lab.training_at_scale.tensor_parallel import CopyToRanks, SumOverRanks, cut_block
from lab.training_at_scale.zero import ZeroAdam
from mathlm.errors import ConfigError, InputError
from mathlm.layers import Block, FeedForward, SelfAttention

slow = pytest.mark.slow
near = torch.testing.assert_close


@slow
def test_a_ring_scatters_sums_and_gathers(three):
    """Rank r has r · 10 + (0 … 5): the sums over r are 30, 33 … 45, two for each rank."""
    sums = [30.0, 33.0, 36.0, 39.0, 42.0, 45.0]
    assert [rank["scattered"] for rank in three] == [sums[:2], sums[2:4], sums[4:]]
    assert [rank["gathered"] for rank in three] == [[0.0, 10.0, 20.0]] * 3
    assert [rank["reduced"] for rank in three] == [sums] * 3


def test_one_rank_needs_no_messages():
    x = torch.arange(3.0)
    assert all(torch.equal(f(x), x) for f in (reduce_scatter, all_gather, all_reduce))


def test_a_ring_refuses_what_does_not_divide(monkeypatch):
    monkeypatch.setattr("lab.training_at_scale.rings.ranks", lambda: 4)
    with pytest.raises(InputError, match="6 rows cannot be cut into 4 equal parts: pad them"):
        pieces(torch.zeros(6))


def adam_of_torch(steps=2):
    """Parameters and losses of torch's Adam in one process over all rows."""
    model, (x, y), losses = nn.Sequential(*parallel_run.three_layers()), parallel_run.rows(), []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - y).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return nn.utils.parameters_to_vector(model.parameters()).detach(), losses


@slow
@pytest.mark.parametrize("stage", range(4))
def test_each_stage_of_zero_is_adam_in_one_process(three, stage):
    parameters, losses = adam_of_torch()
    for rank in three:
        found = rank["zero"][stage]
        near(torch.tensor(found["parameters"]), parameters, rtol=1e-12, atol=1e-13)
        assert found["loss"] == pytest.approx(losses, rel=1e-12)


@slow
def test_each_stage_of_zero_holds_one_part_in_three_of_more(three):
    """Three layers of 30 numbers, 720 bytes; 30 divides by 3."""
    whole, part = 720, 240
    expected = [
        {"parameters": whole, "gradients": whole, "moments": 2 * whole},
        {"parameters": whole, "gradients": whole, "moments": 2 * part},
        {"parameters": whole, "gradients": part, "moments": 2 * part},
        {"parameters": part, "gradients": part, "moments": 2 * part},
    ]
    assert [stage["held"] for stage in three[1]["zero"]] == expected


@pytest.mark.parametrize("stage", range(4))
def test_zero_in_one_process_is_adam(stage):
    x, y = parallel_run.rows()
    optimizer = ZeroAdam(parallel_run.three_layers(), stage, lr=0.1)
    for _ in range(2):
        optimizer.step(x, lambda out: (out - y).square().sum())
    near(optimizer.parameters(), adam_of_torch()[0], rtol=1e-12, atol=1e-13)


def test_zero_takes_token_ids():
    torch.manual_seed(0)
    layers = [nn.Embedding(4, 3), nn.Linear(3, 2)]
    before = layers[0].weight.detach().clone()
    optimizer = ZeroAdam(layers, 2, lr=0.1)
    optimizer.step(torch.tensor([[1, 3]]), lambda out: out.square().sum())
    moved = (optimizer.parameters()[:12].view(4, 3) - before).abs().amax(1)
    near(moved, torch.tensor([0.0, 0.1, 0.0, 0.1]), rtol=1e-6, atol=0.0)


def test_zero_refuses_a_fourth_stage():
    with pytest.raises(ConfigError, match="stage=4 must be 0, 1, 2 or 3"):
        ZeroAdam([nn.Linear(1, 1)], 4)


def whole_block():
    """The block of three heads, its input and output, after a backward pass."""
    block = parallel_run.block_of_three_heads()
    x = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(7)).requires_grad_()
    y = block(x)
    y.square().sum().backward()
    return block, x, y


@slow
def test_a_cut_block_has_the_output_and_input_gradient_of_the_whole(three):
    _, x, y = whole_block()
    for rank in three:
        near(torch.tensor(rank["block"]["y"]), y.detach(), rtol=1e-12, atol=1e-13)
        near(torch.tensor(rank["block"]["dx"]), x.grad, rtol=1e-12, atol=1e-13)


@slow
def test_the_weights_of_a_cut_block_have_their_part_of_the_gradient(three):
    block, _, _ = whole_block()
    rows = block.attention.W_k.weight.grad.chunk(3)
    columns = block.feed_forward.W_out.weight.grad.chunk(3, dim=1)
    for r, rank in enumerate(three):
        near(torch.tensor(rank["block"]["W_k"]), rows[r], rtol=1e-12, atol=1e-13)
        near(torch.tensor(rank["block"]["W_out"]), columns[r], rtol=1e-12, atol=1e-13)


@slow
def test_what_is_not_cut_has_the_whole_gradient_on_every_rank(three):
    block, _, _ = whole_block()
    for rank in three:
        gain, bias = block.feed_forward_norm.weight.grad, block.attention.W_o.bias.grad
        near(torch.tensor(rank["block"]["gain"]), gain, rtol=1e-12, atol=1e-13)
        near(torch.tensor(rank["block"]["bias"]), bias, rtol=1e-12, atol=1e-13)


def test_a_block_cut_in_one_is_the_block_and_leaves_it_alone():
    block, x, y = whole_block()
    share = cut_block(block)
    near(share(x), y, rtol=1e-14, atol=1e-14)
    assert block.attention.W_o.bias is not None
    assert share.attention.part.W_q.weight is not block.attention.W_q.weight


def test_heads_that_do_not_divide_are_refused(monkeypatch):
    monkeypatch.setattr("lab.training_at_scale.tensor_parallel.ranks", lambda: 2)
    with pytest.raises(ConfigError, match="3 key/value heads do not divide by 2 ranks"):
        cut_block(parallel_run.block_of_three_heads())
    attention, network = SelfAttention(6, 2), FeedForward(6, 9)
    with pytest.raises(ConfigError, match="9 hidden do not divide by 2 ranks"):
        cut_block(Block(nn.LayerNorm(6), attention, nn.LayerNorm(6), network))


def test_copy_and_sum_are_one_anothers_transpose():
    x = torch.randn(3, requires_grad=True)
    assert torch.autograd.gradcheck(CopyToRanks.apply, (x,))
    assert torch.autograd.gradcheck(SumOverRanks.apply, (x,))


def pipeline_of_one():
    """Loss and gradients of all three layers in one process."""
    model, (x, y) = nn.Sequential(*parallel_run.three_layers()), parallel_run.rows()
    losses = [lambda out, part=part: (out - part).square().sum() for part in y.chunk(3)]
    total = pipeline_step(model, x.chunk(3), losses, torch.empty(2, 5))
    return total, [torch.tensor(parallel_run.gradient(layer)) for layer in model]


@slow
def test_each_stage_of_a_pipeline_has_the_gradient_of_one_process(three):
    total, gradients = pipeline_of_one()
    assert [rank["pipeline"]["loss"] for rank in three] == [0.0, 0.0, pytest.approx(total)]
    for rank, gradient in zip(three, gradients, strict=True):
        found = torch.tensor(rank["pipeline"]["gradient"])
        near(found, gradient, rtol=1e-12, atol=1e-13)


def test_a_pipeline_of_one_stage_is_a_plain_step():
    model, (x, y) = nn.Sequential(*parallel_run.three_layers()), parallel_run.rows()
    loss = (model(x) - y).square().sum()
    loss.backward()
    total, gradients = pipeline_of_one()
    assert total == pytest.approx(loss.item(), rel=1e-14)
    for layer, gradient in zip(model, gradients, strict=True):
        near(torch.tensor(parallel_run.gradient(layer)), gradient, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("p", "m"), [(1, 3), (2, 4), (4, 8), (5, 1)])
def test_the_bubble_is_the_idle_share_of_the_schedule(p, m):
    assert bubble_fraction(p, m) == pytest.approx(idle_share(pipeline_tasks(p, m)))


def test_a_pipeline_without_stages_or_micro_batches_is_refused():
    with pytest.raises(ConfigError, match="stages=0 must be positive"):
        bubble_fraction(0, 1)
    with pytest.raises(ConfigError, match="micro_batches=0 must be positive"):
        bubble_fraction(2, 0)
