import pytest
import torch
from train.parallel_run import blocks_model
from train.tiny_runs import tiny_model

from mathlm.errors import ConfigError
from mathlm.models import GPT, GPTConfig
from mathlm.train import LiveBytes, checkpoint_activations, next_token

SIZES = {"vocab_size": 11, "context": 16, "d_model": 32, "n_layers": 3, "n_heads": 2}
BATCH = {"ids": torch.arange(32).reshape(2, 16) % 11, "targets": torch.ones(2, 16).long()}


def step(prepare):
    """Gradients, and bytes kept after the forward pass, of a model with dropout."""
    torch.manual_seed(0)
    model = prepare(GPT(GPTConfig(**SIZES, dropout=0.3)))
    torch.manual_seed(1)
    with LiveBytes() as memory:
        loss, _ = next_token(model, BATCH)
        kept = memory.live
        loss.backward()
    return [p.grad for p in model.parameters()], kept, memory.peak


def test_gradients_are_the_same_bit_for_bit_with_dropout():
    plain, again = step(lambda model: model)[0], step(checkpoint_activations)[0]
    assert all(map(torch.equal, plain, again))


def test_much_less_is_kept_for_the_backward_pass():
    (_, kept, peak), (_, kept_again, peak_again) = (
        step(lambda m: m),
        step(checkpoint_activations),
    )
    stream = 2 * 16 * 32 * 8  # bytes of one input of a block
    assert kept_again < kept - 3 * 8 * stream  # three blocks kept more than eight streams each
    assert peak_again < peak


def test_evaluation_and_taps_are_as_before():
    (plain, again), ids = (
        (blocks_model(), checkpoint_activations(blocks_model())),
        BATCH["ids"][:, :8],
    )
    taps = {}
    assert torch.equal(again(ids, taps=taps), plain(ids, taps={}))
    assert taps["blocks.1.resid_post"].shape == (2, 8, 6)
    with torch.no_grad():
        assert torch.equal(again(ids), plain(ids))


def test_a_model_without_blocks_or_recomputed_twice_is_refused():
    with pytest.raises(ConfigError, match="Sequential has no ModuleList whose blocks to"):
        checkpoint_activations(tiny_model())
    with pytest.raises(ConfigError, match="the blocks of GPT recompute already"):
        checkpoint_activations(checkpoint_activations(blocks_model()))


def test_live_bytes_rise_and_fall_with_the_tensors():
    """Two tensors of 800 bytes together at most; the square keeps its input for backward."""
    x = torch.ones(100, requires_grad=True)
    with LiveBytes() as memory:
        y = (2 * x).square()
        most = memory.live
        del y  # before any assertion: an explained one takes a copy of all locals
        left = memory.live
    assert (most, left, memory.peak) == (1600, 0, 1600)


def test_a_view_takes_nothing_and_old_tensors_do_not_count():
    x = torch.ones(4, 5)
    with LiveBytes() as memory:
        views = [x.T, x[0], x.reshape(20)]
        x.add_(1)
    assert len(views) == 3
    assert (memory.live, memory.peak) == (0, 0)
