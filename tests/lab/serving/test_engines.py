"""What is exported reads the same in another engine, and a difference is seen."""

import json
from types import SimpleNamespace

import pytest
import torch

from lab.serving import engines
from mathlm.generate import generate
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


@pytest.mark.parametrize("same", [True, False])
def test_llama_cpp_is_asked_for_as_many_tokens_and_held_against_ours(
    tiny, tmp_path, monkeypatch, same
):
    ids = torch.randint(50, (1, 12))
    mine = generate(tiny, ids, 6, 0.0)[0, -6:].tolist()
    asked = []

    def run(command, **_):
        asked.append(command)
        assert (tmp_path / command[1]).read_text() == engines.LLAMA_CPP
        return SimpleNamespace(stdout=json.dumps(mine if same else [*mine[:-1], mine[-1] + 1]))

    monkeypatch.setattr(engines.subprocess, "run", run)
    found = engines.through_llama_cpp(tiny, tmp_path / "model.gguf", ids, 6, tmp_path)
    assert found == {"same_tokens": same, "new": 6}
    assert asked[0][2:] == [str(tmp_path / "model.gguf"), json.dumps(ids[0].tolist()), "6"]


def test_the_record_names_the_package_and_the_library_in_it(tmp_path):
    home = tmp_path / "node_modules" / "node-llama-cpp"
    (home / "llama").mkdir(parents=True)
    (home / "package.json").write_text('{"version": "3.22.1"}')
    (home / "llama" / "binariesGithubRelease.json").write_text('{"release": "b1"}')
    found = engines.version_of_llama_cpp(tmp_path)
    assert found == {"node-llama-cpp": "3.22.1", "llama.cpp": "b1"}
