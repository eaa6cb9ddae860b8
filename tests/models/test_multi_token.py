import pytest
import torch

from mathlm.errors import ConfigError
from mathlm.models import GPT, GPTConfig, MultiTokenGPT

CONFIG = GPTConfig(vocab_size=11, context=8, d_model=12, n_layers=2, n_heads=3)


def test_the_first_head_is_the_gpt():
    model, ids = MultiTokenGPT(CONFIG, 3).eval(), torch.randint(11, (2, 8))
    logits = model(ids)
    assert logits.shape == (2, 8, 3, 11)
    assert torch.allclose(logits[:, :, 0], model.gpt(ids), rtol=1e-12)


def test_further_heads_start_as_the_first_and_add_what_they_learn():
    model, ids = MultiTokenGPT(CONFIG, 2).eval(), torch.randint(11, (2, 8))
    assert torch.equal(model(ids)[:, :, 0], model(ids)[:, :, 1])
    torch.nn.init.normal_(model.further[0].weight)
    h = model.gpt.hidden(ids)
    inner = h @ model.further[0].weight.T
    expected = (h + inner * inner.sigmoid()) @ model.gpt.head.weight.T
    assert torch.allclose(model(ids)[:, :, 1], expected, rtol=1e-12)


def test_heads_cost_one_matrix_each():
    sizes = [sum(p.numel() for p in MultiTokenGPT(CONFIG, n).parameters()) for n in (1, 4)]
    assert sizes[0] == sum(p.numel() for p in GPT(CONFIG).parameters())
    assert sizes[1] - sizes[0] == 3 * 12**2


def test_every_head_learns():
    model = MultiTokenGPT(CONFIG, 3)
    model(torch.randint(11, (2, 8))).square().sum().backward()
    assert all(W.weight.grad.any() for W in model.further)


def test_a_model_without_heads_is_refused():
    with pytest.raises(ConfigError, match="heads=0 must be at least 1"):
        MultiTokenGPT(CONFIG, 0)
