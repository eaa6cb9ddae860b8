"""What a folder of a tuned model holds."""

import pytest
import torch
from recipes.tiny_chats import make, save_base, tune

from mathlm import adapt
from mathlm.chat import folder
from mathlm.chat.model import ChatModel
from mathlm.errors import CheckpointMismatchError, ConfigError, DataNotFoundError
from mathlm.models import GPT, GPTConfig, save_pretrained
from mathlm.text import ByteBPE, ChatFormat


@pytest.fixture
def place(tmp_path):
    torch.set_default_dtype(torch.float32)
    return make(tmp_path)


def test_a_base_of_bytes_can_be_talked_with(place):
    found = folder.load(str(place / "base"), device="cpu")
    assert found.format == ChatFormat.named()
    assert set(found.tokenizer.special) == set(found.format.special)
    assert found.context == 64


def test_a_learned_tokenizer_and_its_format_stand_beside_the_model(tmp_path):
    form = ChatFormat.chatml(default_system="be kind")
    bpe = ByteBPE.train(["some text"], 260, special=form.special)
    sizes = {"context": 8, "d_model": 8, "n_layers": 1, "n_heads": 2}
    model = GPT(GPTConfig(vocab_size=len(bpe), activation="gelu_tanh", **sizes))
    save_pretrained(model, tmp_path)
    whole = ChatModel(model=model, tokenizer=bpe, format=form)
    folder.write(tmp_path, whole, kind="model", base="x", quantize=None, marks=False)
    found = folder.load(str(tmp_path), device="cpu")
    assert found.tokenizer == bpe
    assert found.format == form


def test_an_adapter_may_be_put_on_a_base_that_is_named(place):
    """The base has moved since: the adapter's own note of it no longer holds."""
    tune(place, "--lora-rank 2")
    whole = folder.load(str(place / "out"), device="cpu")
    (place / "base").rename(place / "moved")
    with pytest.raises(DataNotFoundError, match=r"is not there: give both, --model and"):
        folder.load(str(place / "out"), device="cpu")
    found = folder.load(str(place / "moved"), place / "out", device="cpu")
    ids = torch.tensor([list(b"What is rain?")])
    with torch.no_grad():
        assert torch.equal(found.model(ids), whole.model(ids))
    assert found.format == whole.format


@pytest.mark.parametrize("beside_base", [False, True], ids=["no tokenizer", "another"])
def test_an_adapter_is_read_with_the_tokenizer_it_was_trained_with(tmp_path, beside_base):
    form = ChatFormat.chatml()
    own = ByteBPE.train(["abab abab"], 260, special=form.special)
    other = ByteBPE.train(["cdcd cdcd"], 260, special=form.special)
    sizes = {"context": 8, "d_model": 8, "n_layers": 1, "n_heads": 2}
    model = GPT(GPTConfig(vocab_size=len(own), activation="gelu_tanh", **sizes))
    save_pretrained(model, tmp_path / "base")
    if beside_base:
        other.save(tmp_path / "base" / "byte_bpe.json")
    adapt.add_lora(model, rank=1, alpha=1)
    adapt.save_adapter(model, tmp_path / "out")
    whole = ChatModel(model=model, tokenizer=own, format=form)
    said = {"base": str(tmp_path / "base"), "quantize": None, "marks": False}
    folder.write(tmp_path / "out", whole, kind="adapter", **said)
    assert folder.load(tmp_path / "out", device="cpu").tokenizer == own
    assert folder.load(tmp_path / "base", tmp_path / "out", device="cpu").tokenizer == own
    other.save(tmp_path / "other.json")
    named = folder.load(tmp_path / "out", tokenizer=str(tmp_path / "other.json"), device="cpu")
    assert named.tokenizer == other


def test_two_adapters_at_once_are_refused(place):
    tune(place, "--lora-rank 2")
    with pytest.raises(ConfigError, match="is an adapter itself"):
        folder.load(str(place / "out"), place / "out", device="cpu")


def test_an_adapter_of_another_base_is_refused(place):
    tune(place, "--lora-rank 2")
    save_base(place / "other", seed=3)
    with pytest.raises(CheckpointMismatchError):
        folder.load(str(place / "other"), place / "out", device="cpu")


def test_a_folder_that_is_none_of_ours_says_nothing(tmp_path):
    assert folder.read(tmp_path) is None
