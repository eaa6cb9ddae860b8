"""Folders of pretrained models, against an independent implementation and published numbers."""

import json

import pytest
import torch
from models.folders import change_config, change_weights

from mathlm.errors import CheckpointCorruptError, CheckpointError, CheckpointMismatchError
from mathlm.models import Bert, load_weights, sentence_embeddings
from mathlm.text import pretrained

SIZES = {
    "vocab_size": 60, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 32, "layer_norm_eps": 1e-6,
    "type_vocab_size": 3,
}  # fmt: skip
IDS = torch.arange(40).view(2, 20) * 7 % 60
MASK = torch.arange(20) < torch.tensor([[20], [13]])
SEGMENTS = (torch.arange(40).view(2, 20) // 5) % 3
TEXTS = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]


def make_theirs(kind="BertModel", **changes):
    """A model of transformers with weights large enough that every part of it matters."""
    import transformers

    model = getattr(transformers, kind)(transformers.BertConfig(**SIZES | changes))
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return model.eval()


@pytest.fixture
def folder(tmp_path):
    make_theirs().save_pretrained(tmp_path)
    return tmp_path


@torch.no_grad()
def difference(ours, theirs):
    theirs = getattr(theirs, "bert", theirs)
    expected = theirs(IDS, attention_mask=MASK.long(), token_type_ids=SEGMENTS)
    y = ours(IDS, mask=MASK, segments=SEGMENTS)
    return (y - expected.last_hidden_state)[MASK].abs().max().item()


@pytest.mark.parametrize("kind", ["BertModel", "BertForMaskedLM", "BertForPreTraining"])
@pytest.mark.parametrize("act", ["gelu", "gelu_new", "relu", "silu"])
def test_it_computes_what_transformers_computes(tmp_path, kind, act):
    theirs = make_theirs(kind, hidden_act=act)
    theirs.save_pretrained(tmp_path)
    ours = Bert.from_pretrained(tmp_path)
    assert ours.token_embedding.weight.dtype == torch.float64
    assert difference(ours, theirs) < 1e-10


@pytest.mark.parametrize(
    "change",
    [{"hidden_act": "gelu_new"}, {"layer_norm_eps": 1e-2}, {"num_attention_heads": 2}],
    ids=str,
)
def test_another_field_gives_another_model(tmp_path, change):
    theirs = make_theirs()
    theirs.save_pretrained(tmp_path)
    change_config(tmp_path, **change)
    assert difference(Bert.from_pretrained(tmp_path), theirs) > 1e-3


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-5])
@pytest.mark.parametrize("wrong", [1e-12, 1e-6, 1e-5])
def test_the_epsilon_of_the_file_is_used(tmp_path, eps, wrong):
    """Embeddings have a standard deviation of 1e-4, a variance of 1e-8: ε is what matters."""
    theirs = make_theirs(layer_norm_eps=eps)
    for name, p in theirs.named_parameters():
        if "_embeddings.weight" in name:
            p.data *= 1e-4 / p.data.std()
    theirs.save_pretrained(tmp_path)
    change_config(tmp_path, layer_norm_eps=wrong)
    found = difference(Bert.from_pretrained(tmp_path), theirs)
    assert found < 1e-12 if eps == wrong else found > 1e-3


def test_every_hidden_state_of_transformers_is_among_the_taps(tmp_path):
    theirs, taps = make_theirs(attn_implementation="eager"), {}
    theirs.save_pretrained(tmp_path)
    with torch.no_grad():
        Bert.from_pretrained(tmp_path)(IDS, taps=taps)
        expected = theirs(IDS, output_hidden_states=True, output_attentions=True)
    names = ["embedding", "blocks.0.resid_post", "blocks.1.resid_post"]
    for name, state in zip(names, expected.hidden_states, strict=True):
        torch.testing.assert_close(taps[name], state, rtol=1e-10, atol=1e-10)
    for i, weights in enumerate(expected.attentions):
        ours = taps[f"blocks.{i}.attention.weights"]
        torch.testing.assert_close(ours, weights, rtol=1e-10, atol=1e-12)


def test_old_names_of_gains_and_shifts_are_read(folder):
    def rename(tensors):
        for name in list(tensors):
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma")
            tensors[old.replace("LayerNorm.bias", "LayerNorm.beta")] = tensors.pop(name)

    before = Bert.from_pretrained(folder)
    change_weights(folder, rename)
    assert "embeddings.LayerNorm.gamma" in load_weights(folder)
    assert torch.equal(Bert.from_pretrained(folder)(IDS), before(IDS))


def test_loading_draws_no_random_numbers_and_leaves_a_model_to_train(folder):
    before = torch.get_rng_state()
    model = Bert.from_pretrained(folder, dropout=0.1)
    assert torch.equal(torch.get_rng_state(), before)
    assert not model.training
    assert model.config.dropout == 0.1
    model.train()(IDS).square().sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_the_dtype_is_that_of_the_file(folder):
    change_weights(folder, lambda t: t.update({k: v.bfloat16() for k, v in t.items()}))
    model = Bert.from_pretrained(folder)
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}


QUERY = "encoder.layer.0.attention.self.query"
WEIGHTS = {
    "missing": (
        lambda t: t.pop(f"{QUERY}.weight"),
        rf"do not fit its config.json: missing 1 \({QUERY}.weight \(24,24\)\)$",
    ),
    "all missing": (
        lambda t: t.clear(),
        r"missing 37 \(embeddings.word_emb",
    ),
    "unexpected": (
        lambda t: t.update({"classifier.weight": torch.ones(2, 24)}),
        r"unexpected 1 \(classifier.weight \(2,24\)\)$",
    ),
    "one layer more": (
        lambda t: t.update({"encoder.layer.2.output.dense.bias": torch.ones(24)}),
        r"unexpected 1 \(encoder.layer.2.output.dense.bias \(24\)\)$",
    ),
    "our own name": (
        lambda t: t.update({"blocks.0.attention_norm.gamma": torch.ones(24)}),
        r"unexpected 1 \(blocks.0.attention_norm.gamma \(24\)\)$",
    ),
    "misshaped": (
        lambda t: t.update({f"{QUERY}.bias": torch.ones(23)}),
        rf"shape {QUERY}.bias \(23\) ≠ \(24\)$",
    ),
    "two dtypes": (
        lambda t: t.update({f"{QUERY}.bias": torch.ones(24).half()}),
        rf"dtype {QUERY}.bias float16 ≠ float64$",
    ),
}


@pytest.mark.parametrize(("change", "message"), WEIGHTS.values(), ids=WEIGHTS.keys())
def test_weights_that_do_not_fit_are_refused(folder, change, message):
    change_weights(folder, change)
    with pytest.raises(CheckpointMismatchError, match=message):
        Bert.from_pretrained(folder)


def test_weights_that_are_no_numbers_are_refused(folder):
    change_weights(folder, lambda t: t.update({k: v.long() for k, v in t.items()}))
    with pytest.raises(
        CheckpointMismatchError, match=r"config\.json: .*(weight|bias) is int64"
    ):
        Bert.from_pretrained(folder)


FIELDS = {
    "roberta": ({"model_type": "roberta"}, "model_type='roberta', .* has 'bert'"),
    "no type": ({"model_type": "absent"}, "model_type=None, .* has 'bert'"),
    "relative": (
        {"position_embedding_type": "relative_key"},
        "position_embedding_type='relative_key', .* has 'absolute'",
    ),
    "activation": ({"hidden_act": "mish"}, "hidden_act='mish', .* has 'gelu', 'gelu_new'"),
    "a list": ({"hidden_act": ["gelu"]}, r"hidden_act=\['gelu'\]"),
    "decoder": ({"is_decoder": True}, "is_decoder=True, .* has False"),
    "lacking": ({"hidden_size": "absent"}, "config.json lacks hidden_size$"),
    "a string": ({"hidden_size": "24"}, "no BERT: d_model='24' must be an integer"),
    "heads": ({"num_attention_heads": 5}, "n_heads=5 must divide d_model=24"),
    "eps": ({"layer_norm_eps": None}, "no BERT: norm_eps=None must be a number"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("changes", "message"), FIELDS.values(), ids=FIELDS.keys())
def test_a_folder_of_another_model_is_refused(folder, changes, message):
    change_config(folder, **changes)
    with pytest.raises(CheckpointMismatchError, match=message):
        Bert.from_pretrained(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", "is not JSON"), (b"[]", "holds no fields, but list"), (b"\xff", "is not JSON")],
)
def test_a_config_that_cannot_be_read_is_refused(folder, content, message):
    (folder / "config.json").write_bytes(content)
    with pytest.raises(CheckpointCorruptError, match=message):
        Bert.from_pretrained(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name} is missing"):
        Bert.from_pretrained(folder)


def test_a_pickle_is_refused(folder):
    (folder / "model.safetensors").unlink()
    torch.save({"x": torch.ones(1)}, folder / "pytorch_model.bin")
    with pytest.raises(CheckpointMismatchError, match="mathlm does not unpickle"):
        Bert.from_pretrained(folder)


@pytest.fixture(scope="module")
def minilm():
    return Bert.from_pretrained(pretrained.find("minilm"))


def encode(texts):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(pretrained.find("minilm") / "tokenizer.json"))
    rows = tokenizer.encode_batch(texts)
    mask = torch.tensor([row.attention_mask for row in rows]) > 0
    return torch.tensor([row.ids for row in rows]), mask


def test_the_published_similarities_of_three_sentences_are_reproduced(minilm):
    """Printed by the quick start of sbert.net: 0.6660, 0.1046 and 0.1411."""
    v = sentence_embeddings(minilm, *encode(TEXTS))
    cosines = (v @ v.mT)[[0, 0, 1], [1, 2, 2]]
    expected = torch.tensor([0.6660, 0.1046, 0.1411], dtype=torch.float32)
    torch.testing.assert_close(cosines, expected, rtol=0, atol=5e-5)


@torch.no_grad()
def test_minilm_computes_what_transformers_computes(minilm):
    from transformers import BertModel

    ids, mask = encode(TEXTS)
    theirs = BertModel.from_pretrained(pretrained.find("minilm")).eval()
    expected = theirs(ids, attention_mask=mask.long()).last_hidden_state
    torch.testing.assert_close(
        minilm(ids, mask=mask)[mask], expected[mask], rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(folder, value):
    change_weights(folder, lambda t: t[f"{QUERY}.bias"].__setitem__(3, value))
    with pytest.raises(CheckpointCorruptError, match=rf"{QUERY}.bias holds 1 NaN or infinite"):
        Bert.from_pretrained(folder)


def test_a_weight_under_two_names_is_refused(folder):
    change_weights(folder, lambda t: t.update({f"bert.{QUERY}.bias": torch.ones(24)}))
    with pytest.raises(CheckpointMismatchError, match=f"{QUERY}.bias under two names"):
        Bert.from_pretrained(folder)


def test_weights_of_eight_bits_are_refused(folder):
    tiny = torch.float8_e4m3fn
    change_weights(folder, lambda t: t.update({k: v.to(tiny) for k, v in t.items()}))
    with pytest.raises(CheckpointMismatchError, match="is float8_e4m3fn"):
        Bert.from_pretrained(folder)


HUGE = {"vocab_size": 2**62, "max_position_embeddings": 2**70, "num_hidden_layers": 10**9}


@pytest.mark.parametrize("name", HUGE)
def test_sizes_that_no_model_has_are_refused(folder, name):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: HUGE[name]}))
    with pytest.raises(
        CheckpointMismatchError, match=r"no such model|num_hidden_layers=1000000000"
    ):
        Bert.from_pretrained(folder)


def test_a_configuration_nested_without_end_is_refused(folder):
    (folder / "config.json").write_text("[" * 100_000)
    with pytest.raises(CheckpointCorruptError, match="is not JSON"):
        Bert.from_pretrained(folder)
