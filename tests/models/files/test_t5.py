"""Folders of T5, against transformers with the same weights."""

import json
from dataclasses import replace

import pytest
import torch
from models.folders import change_config, change_weights

from mathlm.errors import (
    CheckpointCorruptError,
    CheckpointError,
    CheckpointMismatchError,
    InputError,
)
from mathlm.models import Transformer, load_weights

SIZES = {
    "vocab_size": 50, "d_model": 24, "d_kv": 8, "d_ff": 40, "num_layers": 2,
    "num_decoder_layers": 3, "num_heads": 4, "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12, "decoder_start_token_id": 0,
}  # fmt: skip
KINDS = {
    "t5": {},
    "1.1": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    "gated silu": {"feed_forward_proj": "gated-silu"},
    "gelu": {"feed_forward_proj": "gelu"},
    "tied, unscaled": {"scale_decoder_outputs": False},
    "as deep": {"num_decoder_layers": None},
    "wide heads": {"d_kv": 10},
}
SOURCE = torch.arange(40).view(2, 20) * 7 % 50
TARGET = torch.arange(30).view(2, 15) * 11 % 50
MASK = torch.arange(20) < torch.tensor([[20], [13]])
HEAD, SHARED = "lm_head.weight", "shared.weight"
QUERY = "encoder.block.0.layer.0.SelfAttention.q.weight"


def in_float64(self, x):
    """The normalization of T5 without its detour through float32."""
    return self.weight * x * (x.square().mean(-1, keepdim=True) + self.variance_epsilon).rsqrt()


def make_theirs(**changes):
    """A model of transformers with weights large enough that every part of it matters."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(**SIZES | changes)
    theirs = T5ForConditionalGeneration._from_config(config, attn_implementation="eager")
    if changes.get("tie_word_embeddings") is False:  # theirs has to be told twice
        theirs.lm_head.weight = torch.nn.Parameter(torch.randn(50, 24))
        theirs.config.tie_word_embeddings = False
    for p in theirs.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return theirs.eval()


@pytest.fixture
def exact(monkeypatch):
    from transformers.models.t5.modeling_t5 import T5LayerNorm

    monkeypatch.setattr(T5LayerNorm, "forward", in_float64)


def load(folder):
    return Transformer.from_pretrained(folder, dtype=torch.float64)


@torch.no_grad()
def logits_of(theirs, target=TARGET):
    mask = {"attention_mask": MASK.long()}
    return theirs(input_ids=SOURCE, decoder_input_ids=target, **mask).logits


@torch.no_grad()
def difference(ours, theirs):
    return (ours(SOURCE, TARGET, source_mask=MASK) - logits_of(theirs)).abs().max().item()


@pytest.mark.parametrize("kind", KINDS)
def test_it_computes_what_transformers_computes(tmp_path, kind, exact):
    theirs = make_theirs(**KINDS[kind])
    theirs.save_pretrained(tmp_path)
    assert logits_of(theirs).std() > 0.5
    assert difference(load(tmp_path), theirs) < 1e-10


def test_in_single_precision_it_differs_by_roundings_only(tmp_path):
    theirs = make_theirs()
    theirs.save_pretrained(tmp_path)
    ours, theirs = Transformer.from_pretrained(tmp_path), theirs.float()
    assert {p.dtype for p in ours.parameters()} == {torch.float32}
    y = ours(SOURCE, TARGET, source_mask=MASK)
    torch.testing.assert_close(y, logits_of(theirs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["wide heads", "1.1"])
@torch.no_grad()
def test_greedy_tokens_with_a_cache_are_those_of_transformers(tmp_path, kind):
    theirs = make_theirs(**KINDS[kind], eos_token_id=49)
    theirs.save_pretrained(tmp_path)
    ours, ids = load(tmp_path), torch.zeros(2, 1, dtype=torch.long)
    memory, cache = ours.encode(SOURCE, MASK), ours.new_cache(2)
    for _ in range(12):
        y = ours.decode(ids[:, -1:], memory, memory_mask=MASK, cache=cache)
        ids = torch.cat((ids, y[:, -1:].argmax(-1)), 1)
        assert torch.equal(logits_of(theirs, ids[:, :-1])[:, -1].argmax(-1), ids[:, -1])
    assert len(ids.unique()) > 4


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder, and the model of transformers that it was made of."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    folder, theirs = tmp_path_factory.mktemp("t5"), make_theirs()
    theirs.save_pretrained(folder)
    return folder, theirs


@pytest.fixture
def folder(saved, tmp_path):
    for file in saved[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


FLAGS = {
    "layer_norm_epsilon": 1e-1,
    "feed_forward_proj": "gelu",
    "relative_attention_max_distance": 30,
    "num_heads": 8,
    "scale_decoder_outputs": False,
}


@pytest.mark.parametrize("flag", FLAGS)
def test_another_field_gives_another_model(saved, folder, flag):
    change_config(folder, **{"dense_act_fn": "absent"} | {flag: FLAGS[flag]})
    if flag == "num_heads":  # 8 heads of width 4 have maps of the same shapes
        change_config(folder, d_kv=4)
        tables = [f"{s}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
                  for s in ("encoder", "decoder")]  # fmt: skip
        change_weights(folder, lambda t: t.update({n: t[n].repeat(1, 2) for n in tables}))
    assert difference(load(folder), saved[1]) > 1e-3


CHOICES = {
    "norm": "layer", "norm_first": False, "position": "none", "bias": True,
    "scale_embeddings": True, "attention_scale": True, "scale_head": False,
    "activation": "silu", "n_buckets": 10, "max_distance": 60, "norm_eps": 1e-1,
}  # fmt: skip


@pytest.mark.parametrize("choice", CHOICES)
def test_each_choice_that_makes_it_a_t5_shows_in_the_logits_or_the_weights(saved, choice):
    """Of those that keep all weights; the others lack some, or have some of another shape."""
    ours = load(saved[0])
    other = Transformer(replace(ours.config, **{choice: CHOICES[choice]})).eval()
    weights = {n: p for n, p in ours.state_dict().items()}
    shapes = {n: p.shape for n, p in weights.items()}
    if {n: p.shape for n, p in other.state_dict().items()} == shapes:
        other.load_state_dict(weights)
        assert difference(other, saved[1]) > 1e-3
    else:
        assert choice in {"norm", "norm_first", "position", "bias", "n_buckets"}


def test_the_epsilon_of_the_file_is_used(tmp_path, exact):
    theirs = make_theirs(layer_norm_epsilon=1e-2)
    theirs.save_pretrained(tmp_path)
    ours = load(tmp_path)
    assert ours.config.norm_eps == 1e-2
    assert difference(ours, theirs) < 1e-10


def test_the_fields_that_the_first_files_leave_out_have_their_values_of_then(folder):
    """t5-small of 2020 says neither; 128 was the distance, and ReLU the activation."""
    names = ("relative_attention_max_distance", "feed_forward_proj", "num_decoder_layers")
    later = ("scale_decoder_outputs", "is_gated_act", "dense_act_fn", "tie_word_embeddings")
    change_weights(folder, lambda t: [t.pop(n) for n in list(t) if "decoder.block.2" in n])
    change_config(folder, n_positions=30, **dict.fromkeys((*names, *later), "absent"))
    config = load(folder).config
    assert (config.max_distance, config.activation, config.decoder_layers) == (128, "relu", 2)
    assert (config.tie_embeddings, config.scale_head, config.context) == ("all", True, 30)


def test_the_names_of_older_files_are_read(saved, folder):
    """They hold the table under three names and one that nothing reads."""
    unread = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    names = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", HEAD)
    change_weights(folder, lambda t: t.update({n: t[SHARED].clone() for n in names}))
    change_weights(folder, lambda t: t.update({unread: torch.ones(8, 4)}))
    assert difference(load(folder), saved[1]) < 1e-4


@pytest.mark.parametrize(("kind", "tables"), [("t5", 1), ("1.1", 2)])
def test_what_is_tied_is_one_tensor(tmp_path, kind, tables):
    make_theirs(**KINDS[kind]).save_pretrained(tmp_path)
    ours = load(tmp_path)
    parts = (ours.source_embedding, ours.target_embedding, ours.head)
    assert len({part.weight.data_ptr() for part in parts}) == tables
    assert ours.source_embedding.weight is ours.target_embedding.weight


def test_loading_draws_no_random_numbers_and_leaves_a_model_to_train(folder):
    before = torch.get_rng_state()
    ours = load(folder)
    assert torch.equal(torch.get_rng_state(), before)
    assert not ours.training
    ours(SOURCE, TARGET).square().sum().backward()
    assert all(p.grad is not None for p in ours.parameters())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop(QUERY), rf"missing 1 \({QUERY} \(32,24\)\)"),
        (lambda t: t.update(extra=torch.ones(2)), r"unexpected 1 \(extra \(2\)\)"),
        (lambda t: t.update({QUERY: torch.ones(24, 32)}), rf"shape {QUERY} \(24,32\) ≠"),
        (lambda t: t.pop(SHARED), r"missing 1 \(shared\.weight \(50,24\)\)"),
        (lambda t: t.update({QUERY: torch.ones(32, 24).long()}), f"weight {QUERY} is int64"),
        (
            lambda t: t.update({"decoder.embed_tokens.weight": t[SHARED] + 1}),
            r"weight decoder\.embed_tokens\.weight is not shared\.weight",
        ),
        (
            lambda t: (t.pop(QUERY), t.pop("encoder.final_layer_norm.weight")),
            r"missing 2 .*final_layer_norm",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_with_the_list(folder, change, message):
    change_weights(folder, change)
    with pytest.raises(CheckpointMismatchError, match=message):
        load(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(folder, value):
    change_weights(folder, lambda t: t[QUERY].__setitem__((0, 3), value))
    with pytest.raises(CheckpointCorruptError, match=f"{QUERY} holds 1 NaN or infinite"):
        load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "mt5"}, "model_type='mt5', this model has 't5'"),
        ({"is_encoder_decoder": False}, "is_encoder_decoder=False, this model has True"),
        ({"is_decoder": True}, "is_decoder=True, this model has False"),
        ({"quantization_config": {}}, "quantization_config="),
        ({"feed_forward_proj": "gated-relu"}, "feed_forward_proj='gated-relu', this model has"),
        ({"feed_forward_proj": ["relu"]}, r"feed_forward_proj=\['relu'\], this model has"),
        ({"dense_act_fn": "silu"}, "dense_act_fn='silu', this model has 'relu'"),
        ({"is_gated_act": True}, "is_gated_act=True, this model has False"),
        ({"tie_word_embeddings": False}, "but the weights lack lm_head.weight"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings='no', this model has"),
        ({"scale_decoder_outputs": 1}, "scale_decoder_outputs=1, this model has"),
        ({"d_kv": "absent", "d_ff": "absent"}, r"config.json lacks d_kv, d_ff"),
        ({"num_heads": 0}, "describes no T5: n_heads=0 must be at least 1"),
        ({"d_model": "24"}, "describes no T5: d_model='24' must be an integer"),
        ({"relative_attention_num_buckets": 7}, "n_buckets=7 must be even"),
        ({"layer_norm_epsilon": "1"}, "layer_norm_epsilon='1', not a number"),
        ({"layer_norm_epsilon": -1.0}, r"norm_eps=-1\.0 is outside"),
        ({"num_layers": 10**9}, "1000000000 layers do not fit"),
        ({"num_decoder_layers": 10**9}, "num_decoder_layers=1000000000, but the file holds"),
        ({"vocab_size": 2**62}, "no such model"),
        ({"n_positions": 2**70}, "a context of 1180591620717411303424 tokens"),
        ({"d_ff": 41}, r"shape .*wi\.weight \(40,24\) ≠ \(41,24\)"),
    ],
)
def test_a_folder_of_another_model_is_refused(folder, changes, message, unchecked):
    change_config(folder, **changes)
    with pytest.raises(CheckpointMismatchError, match=message):
        load(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name} is missing"):
        load(folder)


@pytest.mark.parametrize("content", ["{", "[1]", "[" * 100_000])
def test_a_config_that_cannot_be_read_is_refused(folder, content):
    (folder / "config.json").write_text(content)
    with pytest.raises(CheckpointCorruptError, match=r"is not JSON|holds no fields"):
        load(folder)


def test_a_pickle_is_refused(folder):
    (folder / "model.safetensors").unlink()
    torch.save({"x": torch.ones(1)}, folder / "pytorch_model.bin")
    with pytest.raises(CheckpointMismatchError, match="mathlm does not unpickle"):
        load(folder)


def test_a_dtype_that_is_none_for_weights_is_refused(folder):
    with pytest.raises(InputError, match=r"dtype=torch\.int64 is not one of float16"):
        Transformer.from_pretrained(folder, dtype=torch.int64)


def test_the_file_holds_what_transformers_wrote(saved):
    """What the tests change is there under these names."""
    tensors, fields = load_weights(saved[0]), json.loads((saved[0] / "config.json").read_text())
    assert {SHARED, QUERY} < set(tensors)
    assert fields["model_type"] == "t5"
