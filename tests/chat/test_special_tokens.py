"""Marks that a model has never seen."""

import pytest
import torch
from chat.test_conversation import chat_model
from recipes.tiny_chats import make, tune

from mathlm.adapt import add_lora
from mathlm.chat import folder, special_tokens
from mathlm.chat.model import ChatModel
from mathlm.errors import CheckpointMismatchError, ConfigError
from mathlm.generate import quantize
from mathlm.models import GPT
from mathlm.models.files.weights import read_tensors, to_bytes


def unseen(chat):
    """A model whose special tokens are one vector with a byte that no text has."""
    with torch.no_grad():
        rows = chat.model.token_embedding.weight
        rows[special_tokens.special_ids(chat)] = rows[0xFF] * 1.001
    add_lora(chat.model, 1)
    return chat


def test_the_likeness_of_a_row_by_hand():
    """(1, 0), (0, 1), (3, 4): the third has the cosines 3/5 and 4/5 with the others."""
    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
    found = special_tokens.likeness(rows, [2, 0])
    assert found.tolist() == pytest.approx([0.8, 0.6], rel=1e-6)


def test_special_tokens_that_are_like_another_are_trained_and_no_other_row():
    chat = unseen(chat_model())
    original = special_tokens.train_special_tokens(chat, "auto")
    weight, ids = chat.model.token_embedding.weight, special_tokens.special_ids(chat)
    chat.model(torch.arange(40)[None] + 180).square().sum().backward()
    moved = weight.grad.abs().sum(1).nonzero().flatten().tolist()
    assert moved == sorted(ids)
    assert torch.equal(original, weight[ids])


def test_special_tokens_that_are_like_none_are_left_alone():
    chat = chat_model()
    add_lora(chat.model, 1)
    assert special_tokens.train_special_tokens(chat, "auto") is None
    assert not chat.model.token_embedding.weight.requires_grad


def test_they_are_kept_or_trained_on_request():
    assert special_tokens.train_special_tokens(unseen(chat_model()), "keep") is None
    chat = chat_model()
    add_lora(chat.model, 1)
    assert special_tokens.train_special_tokens(chat, "train") is not None


def test_codes_cannot_be_trained():
    chat = chat_model()
    model = quantize(chat.model, 8)
    whole = ChatModel(model=model, tokenizer=chat.tokenizer, format=chat.format)
    with pytest.raises(ConfigError, match="in a quantized model cannot be"):
        special_tokens.train_special_tokens(whole, "train")


def test_an_adapter_s_folder_holds_the_trained_rows(tmp_path):
    """The base of the adapter is the base as it was: another row differs by nothing."""
    torch.set_default_dtype(torch.float32)
    place = make(tmp_path)
    tune(place, "--lora-rank 2 --special-tokens train")
    tuned = folder.load(str(place / "out"), device="cpu")
    ids, base = special_tokens.special_ids(tuned), GPT.from_pretrained(place / "base")
    moved = (tuned.model.token_embedding.weight != base.token_embedding.weight).any(1)
    assert set(moved.nonzero().flatten().tolist()) <= set(ids)
    rows = read_tensors(place / "out" / special_tokens.FILE)["rows"]
    assert torch.equal(tuned.model.token_embedding.weight[ids], rows)
    assert moved.any()


def test_rows_of_another_width_are_refused(tmp_path):
    chat = chat_model()
    broken = {"ids": torch.tensor([1]), "rows": torch.zeros(1, 3)}
    (tmp_path / special_tokens.FILE).write_bytes(to_bytes(broken))
    with pytest.raises(CheckpointMismatchError, match=r"expected ids and their rows of 16"):
        special_tokens.load_special_tokens(chat.model, tmp_path)


@pytest.mark.parametrize("token", [256, -1])
def test_rows_of_tokens_that_the_model_lacks_are_refused(tmp_path, token):
    chat = chat_model()
    broken = {"ids": torch.tensor([1, token]), "rows": torch.zeros(2, 16)}
    (tmp_path / special_tokens.FILE).write_bytes(to_bytes(broken))
    with pytest.raises(
        CheckpointMismatchError, match=rf"token {token}; expected ids in 0..255"
    ):
        special_tokens.load_special_tokens(chat.model, tmp_path)
