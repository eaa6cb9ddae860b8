"""BERT with its head, against transformers' BertForMaskedLM and its definition."""

import json

import pytest
import torch
from models.folders import change_weights
from torch import nn

from mathlm.errors import CheckpointError, CheckpointMismatchError, InputError
from mathlm.models import Bert, BertConfig, MaskedBert
from mathlm.text import pretrained

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
SIZES = {"vocab_size": 50, "context": 24, "d_model": 24, "n_layers": 2, "n_heads": 4}
THEIRS = {
    "vocab_size": 60, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 32, "layer_norm_eps": 1e-6,
    "type_vocab_size": 3,
}  # fmt: skip
IDS = torch.arange(40).view(2, 20) * 7 % 60
MASK = torch.arange(20) < torch.tensor([[20], [13]])
SEGMENTS = (torch.arange(40).view(2, 20) // 5) % 3
HEAD = "cls.predictions"


def make(**changes):
    """A model with weights large enough for every part to matter."""
    model = MaskedBert(BertConfig(**SIZES), **changes)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.2 * torch.randn_like(p))
    return model.eval()


def make_theirs(kind="BertForMaskedLM", **changes):
    """A model of transformers, all weights shaken."""
    import transformers

    model = getattr(transformers, kind)(transformers.BertConfig(**THEIRS | changes))
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return model.eval()


@pytest.fixture
def folder(tmp_path):
    make_theirs().save_pretrained(tmp_path)
    return tmp_path


@torch.no_grad()
def difference(ours, theirs):
    expected = theirs(IDS, attention_mask=MASK.long(), token_type_ids=SEGMENTS)
    expected = expected["logits" if "logits" in expected else "prediction_logits"]
    return (ours(IDS, mask=MASK, segments=SEGMENTS) - expected)[MASK].abs().max().item()


@pytest.mark.parametrize("act", ["gelu", "gelu_new", "relu", "silu"])
@pytest.mark.parametrize("tie", [True, False])
def test_it_computes_what_transformers_computes(tmp_path, act, tie):
    theirs = make_theirs(hidden_act=act, tie_word_embeddings=tie)
    theirs.save_pretrained(tmp_path)
    ours = MaskedBert.from_pretrained(tmp_path)
    assert difference(ours, theirs) < 1e-10
    assert (ours.head.weight is ours.bert.token_embedding.weight) == tie


def test_a_model_of_both_objectives_of_pretraining_is_read(tmp_path):
    theirs = make_theirs("BertForPreTraining")
    theirs.save_pretrained(tmp_path)
    assert difference(MaskedBert.from_pretrained(tmp_path), theirs) < 1e-10


@pytest.mark.parametrize("change", [{"hidden_act": "relu"}, {"layer_norm_eps": 1e-2}], ids=str)
def test_another_field_gives_another_model(folder, change):
    before = MaskedBert.from_pretrained(folder)(IDS)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert (MaskedBert.from_pretrained(folder)(IDS) - before).abs().max() > 1e-3


def test_the_body_is_the_bert_of_the_same_folder(folder):
    model, body = MaskedBert.from_pretrained(folder), Bert.from_pretrained(folder)
    assert torch.equal(model.bert(IDS), body(IDS))


def test_logits_are_what_the_definition_says():
    model, ids, taps = make(tie_embeddings=False), torch.randint(50, (2, 7)), {}
    h = nn.functional.gelu(model.bert(ids) @ model.transform.weight.mT + model.transform.bias)
    gain, shift = model.transform_norm.gamma, model.transform_norm.beta
    h = nn.functional.layer_norm(h, (24,), gain, shift, 1e-12)
    expected = h @ model.head.weight.mT + model.head.bias
    torch.testing.assert_close(model(ids, taps=taps), expected, **TIGHT)
    torch.testing.assert_close(taps["transformed"], h, **TIGHT)


def test_every_logit_depends_on_every_token():
    model, ids, taps = make(), torch.randint(50, (1, 6)), {}
    y = model(ids, taps=taps)
    for t in range(6):
        (dx,) = torch.autograd.grad(
            y[0, t].square().sum(), taps["embedding"], retain_graph=True
        )
        assert (dx[0].abs().sum(-1) > 1e-6).all()


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_on_either_side_changes_nothing(side):
    model, alone = make(), torch.randint(50, (1, 5))
    real = slice(4, 9) if side == "left" else slice(0, 5)
    ids, mask = torch.randint(50, (1, 9)), torch.zeros(1, 9, dtype=torch.bool)
    ids[0, real], mask[0, real] = alone, True
    torch.testing.assert_close(model(ids, mask=mask)[:, real], model(alone), **TIGHT)


@pytest.mark.parametrize("tie", [True, False])
def test_tying_saves_one_matrix_and_every_weight_gets_a_gradient(tie):
    model = make(tie_embeddings=tie)
    model(torch.randint(50, (3, 24)), segments=torch.randint(2, (3, 24))).sum().backward()
    head = 24 * 24 + 3 * 24 + 50 + (0 if tie else 50 * 24)
    sizes = [sum(p.numel() for p in m.parameters()) for m in (model, model.bert)]
    assert sizes[0] - sizes[1] == head
    assert all(p.grad is not None for p in model.parameters())


def test_it_learns_which_of_two_words_stands_in_a_hole():
    """A word stands on both sides of the hole or nowhere: the loss falls from log 50 to 0."""
    model = make().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(60):
        word = torch.randint(5, 50, (32,))
        ids = torch.stack([word, torch.full_like(word, 4), word], 1)
        loss = nn.functional.cross_entropy(model(ids)[:, 1], word)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_a_tied_matrix_that_is_stored_twice_must_be_the_same(folder):
    embedding = "bert.embeddings.word_embeddings.weight"
    before = MaskedBert.from_pretrained(folder)(IDS)
    change_weights(folder, lambda t: t.update({f"{HEAD}.decoder.weight": t[embedding] + 0}))
    assert torch.equal(MaskedBert.from_pretrained(folder)(IDS), before)
    change_weights(folder, lambda t: t.update({f"{HEAD}.decoder.weight": t[embedding] + 1}))
    with pytest.raises(
        CheckpointMismatchError, match=r"ties .*decoder.weight to .* but they dif"
    ):
        MaskedBert.from_pretrained(folder)


def test_a_bias_under_two_names_must_be_the_same(folder):
    change_weights(folder, lambda t: t.update({f"{HEAD}.decoder.bias": t[f"{HEAD}.bias"] + 1}))
    with pytest.raises(CheckpointMismatchError, match=r"decoder.bias to cls.predictions.bias"):
        MaskedBert.from_pretrained(folder)


def test_an_untied_head_with_the_bias_under_one_name_is_read(tmp_path):
    theirs = make_theirs(tie_word_embeddings=False)
    theirs.cls.predictions.decoder.bias.data.copy_(theirs.cls.predictions.bias)
    theirs.save_pretrained(tmp_path)
    change_weights(tmp_path, lambda t: t.pop(f"{HEAD}.decoder.bias"))
    assert difference(MaskedBert.from_pretrained(tmp_path), theirs) < 1e-10


WRONG = {
    "missing": (lambda t: t.pop(f"{HEAD}.bias"), rf"missing 1 \({HEAD}.bias \(60\)\)$"),
    "unexpected": (
        lambda t: t.update({f"{HEAD}.extra": torch.ones(2)}),
        rf"unexpected 1 \({HEAD}.extra \(2\)\)$",
    ),
    "misshaped": (
        lambda t: t.update({f"{HEAD}.bias": torch.ones(59)}),
        rf"shape {HEAD}.bias \(59\) ≠ \(60\)$",
    ),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG.keys())
def test_weights_that_do_not_fit_are_refused(folder, change, message):
    change_weights(folder, change)
    with pytest.raises(CheckpointMismatchError, match=message):
        MaskedBert.from_pretrained(folder)


def test_a_folder_without_a_head_is_refused():
    with pytest.raises(CheckpointMismatchError, match=r"missing 5 \(cls.predictions.transform"):
        MaskedBert.from_pretrained(pretrained.find("minilm"))


def test_a_field_that_ties_neither_nor_unties_is_refused(folder):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"tie_word_embeddings": "yes"}))
    with pytest.raises(
        CheckpointMismatchError, match=r"tie_word_embeddings='yes', .* has True"
    ):
        MaskedBert.from_pretrained(folder)


def test_a_missing_file_and_ids_that_do_not_fit_are_named(folder):
    with pytest.raises(InputError, match=r"token id 60 at \[0, 0\] is outside 0\.\.59"):
        MaskedBert.from_pretrained(folder)(torch.tensor([[60]]))
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model.safetensors is missing"):
        MaskedBert.from_pretrained(folder)
