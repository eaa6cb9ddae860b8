"""What is exported reads the same in another engine, and a difference is seen."""

import pytest
import torch

from lab.serving import engines
from mathlm.models import GPT, GPTConfig


@pytest.fixture
def tiny():
    """A Llama of two layers, in single precision."""
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(0)
    sizes = {
        "tie_embeddings": False,
        "vocab_size": 50,
        "context": 32,
        "d_model": 16,
        "n_layers": 2,
        "n_heads": 2,
    }
    return GPT(GPTConfig(norm="rms", activation="swiglu", position="rope", **sizes)).eval()


@pytest.mark.slow
def test_a_folder_is_the_same_model_in_transformers(tiny):
    found = engines.through_folder(tiny, torch.randint(50, (1, 12)), 6)
    assert found["difference"] < 1e-5 * max(1, found["spread"])
    assert found["same_tokens"]
    assert found["new"] == 6


@pytest.mark.slow
def test_another_model_is_not_called_the_same(tiny, monkeypatch):
    """A head of the opposite sign: the greedy tokens are the least likely ones."""
    save = engines.save_pretrained

    def saved_negated(model, folder):
        with torch.no_grad():
            model.head.weight.neg_()
        done = save(model, folder)
        with torch.no_grad():
            model.head.weight.neg_()
        return done

    monkeypatch.setattr(engines, "save_pretrained", saved_negated)
    found = engines.through_folder(tiny, torch.randint(50, (1, 12)), 6)
    assert found["difference"] > found["spread"] > 0
    assert not found["same_tokens"]
