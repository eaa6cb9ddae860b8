"""Our models as GGUF files: what stands in them, and what reads them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from gguf import GGUFReader, GGUFValueType
from models.files.test_gguf import FIELDS, IDS, make_theirs, weights_of

from mathlm.adapt import add_lora
from mathlm.errors import CheckpointError, ConfigError, DataNotFoundError, InputError
from mathlm.models import GPT, GPTConfig, save_gguf
from mathlm.text import ByteBPE, pretrained

LLAMA = {"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False}
SIZES = {"vocab_size": 50, "context": 24, "d_model": 32, "n_layers": 2, "n_heads": 4}


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


def made(**changes):
    return GPT(GPTConfig(**(LLAMA | SIZES | changes))).eval()


@pytest.mark.parametrize("tied", [True, False])
def test_the_file_holds_what_a_converter_writes(tmp_path, tied):
    theirs = make_theirs(tied)
    theirs.save_pretrained(tmp_path / "folder")
    path = save_gguf(GPT.from_pretrained(tmp_path / "folder"), tmp_path / "model.gguf")
    reader, expected = GGUFReader(path), weights_of(theirs)
    assert {t.name for t in reader.tensors} == set(expected)
    for tensor in reader.tensors:
        want = expected[tensor.name]
        np.testing.assert_array_equal(tensor.data.reshape(want.shape), want)
    fields = {n: f.contents() for n, f in reader.fields.items() if n.startswith("llama.")}
    for name, value in FIELDS.items():
        assert fields[f"llama.{name}"] == pytest.approx(value)


@torch.no_grad()
def test_transformers_computes_from_the_file_what_we_compute(tmp_path):
    ours = made(n_kv_heads=2, rope_base=500.0, norm_eps=1e-6)
    for p in ours.parameters():
        p += 0.3 * torch.randn_like(p)
    path = save_gguf(ours, tmp_path / "model.gguf", tokenizer=None)
    same = GPT.from_pretrained(path)
    assert torch.equal(same(IDS), ours(IDS))
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, gguf_file=path.name, dtype=torch.float32
    )
    assert ours(IDS).std() > 0.3
    torch.testing.assert_close(theirs(IDS).logits, ours(IDS), rtol=0, atol=1e-5)


@pytest.mark.parametrize("base", [10_000, 10_000.0])
def test_the_base_of_rope_is_written_as_a_real_number(tmp_path, base):
    """Llama.cpp takes it in float32 alone."""
    config = made().config
    object.__setattr__(config, "rope_base", base)
    path = save_gguf(GPT(config), tmp_path / "model.gguf")
    field = GGUFReader(path).fields["llama.rope.freq_base"]
    assert (field.types, field.contents()) == ([GGUFValueType.FLOAT32], base)


def test_weights_that_the_dtype_does_not_hold_are_refused(tmp_path):
    model = made()
    model.blocks[0].attention.W_o.weight.data[0, 0] = 1e5
    with pytest.raises(InputError, match="1 of 1024 numbers are NaN or infinite in float16"):
        save_gguf(model, tmp_path / "model.gguf", dtype=torch.float16)
    assert not list(tmp_path.iterdir())


def test_matrices_have_the_dtype_and_gains_32_bits(tmp_path):
    path = save_gguf(made(), tmp_path / "model.gguf", dtype=torch.float16)
    kinds = {t.name: t.data.dtype for t in GGUFReader(path).tensors}
    assert kinds["token_embd.weight"] == kinds["blk.1.attn_q.weight"] == np.float16
    assert kinds["output_norm.weight"] == kinds["blk.0.ffn_norm.weight"] == np.float32


@pytest.mark.slow
def test_the_tokenizer_of_another_file_is_copied(tmp_path):
    smollm2 = pretrained.find("smollm2")
    small = made(vocab_size=49_152, d_model=8, n_layers=1, n_heads=2)
    path = save_gguf(small, tmp_path / "tuned.gguf", tokenizer=smollm2)
    text = "Now is the winter\n\nof our discontent — 1592"
    ids = ByteBPE.from_gguf(smollm2).encode(text)
    assert ByteBPE.from_gguf(path).encode(text) == ids
    found = GPT.from_pretrained(path).config
    assert found.norm_eps == pytest.approx(1e-5)  # of 32 bits in the file
    filled = {"n_kv_heads": None, "d_head": None, "d_ff": None}  # said in the file
    assert (found.kv_heads, found.head_width) == (2, 4)
    assert replace(found, norm_eps=1e-5, **filled) == small.config
    with pytest.raises(ConfigError, match="has a tokenizer of 49152 tokens, and the model one"):
        save_gguf(made(), tmp_path / "other.gguf", tokenizer=smollm2)
    assert not (tmp_path / "other.gguf").exists()


@pytest.mark.parametrize(
    "other",
    [
        {"norm": "layer"},
        {"activation": "gelu"},
        {"qk_norm": True},
        {"window": 8},
        {"bias": True},
    ],
    ids=str,
)
def test_a_model_that_is_no_llama_is_refused(tmp_path, other):
    with pytest.raises(ConfigError, match=r"a Llama has|no type of Hugging|'llama' has no"):
        save_gguf(made(**other), tmp_path / "model.gguf")
    assert list(tmp_path.iterdir()) == []


def test_a_model_with_an_update_another_dtype_and_a_file_that_is_there_are_refused(tmp_path):
    path = save_gguf(made(), tmp_path / "model.gguf")
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"model\.gguf is there already"):
        save_gguf(made(), path)
    assert path.read_bytes() == before
    with pytest.raises(ConfigError, match="bfloat16 is not one of float32, float16"):
        save_gguf(made(), tmp_path / "b.gguf", dtype=torch.bfloat16)
    with pytest.raises(ConfigError, match="a GGUF file holds a model alone"):
        save_gguf(add_lora(made(), 2), tmp_path / "c.gguf")


def test_no_file_is_left_where_the_package_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(DataNotFoundError, match=r"pip install 'gguf>=0\.17'"):
        save_gguf(made(), tmp_path / "model.gguf")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_leaves_no_part_of_a_file(tmp_path, monkeypatch):
    def full(self, *_, **__):
        raise OSError("No space left on device")

    monkeypatch.setattr("gguf.GGUFWriter.write_tensors_to_file", full)
    with pytest.raises(OSError, match="No space left"):
        save_gguf(made(), tmp_path / "model.gguf")
    assert list(tmp_path.iterdir()) == []
