"""Adapters on disk: their base, files that are not whole, and several on one model."""

import json
import logging

import pytest
import torch
from adapt.llamas import change_config, change_tensors, filled

from mathlm import adapt
from mathlm.adapt import additions, base_fingerprint, load_adapter, save_adapter
from mathlm.errors import (
    CheckpointCorruptError,
    CheckpointError,
    CheckpointMismatchError,
    ConfigError,
    InputError,
    InputTypeError,
)
from mathlm.generate import quantize
from mathlm.models import GPT, GPTConfig

IDS = torch.tensor([[3, 1, 4, 1, 5, 2]])


def gpt(seed=0, **changes):
    torch.manual_seed(seed)
    sizes = {"vocab_size": 11, "context": 16, "d_model": 16, "n_layers": 2, "n_heads": 4}
    kind = {"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False}
    return GPT(GPTConfig(**(sizes | kind | changes))).eval()


def with_lora(model=None, **options):
    model = gpt() if model is None else model
    return filled(adapt.add_lora(model, 2, **({"alpha": 5, "seed": 0} | options)))


def snapshot(model):
    grads = {name: p.requires_grad for name, p in model.named_parameters()}
    return {n: t.clone() for n, t in model.state_dict().items()}, grads, repr(model)


def assert_unchanged(model, before):
    state, *rest = snapshot(model)
    assert rest == list(before[1:])
    assert all(torch.equal(state[name], tensor) for name, tensor in before[0].items())


def test_what_is_saved_comes_back_bit_for_bit(tmp_path):
    model = with_lora(targets="all-linear", rank_stabilized=True, dropout=0.25)
    save_adapter(model, tmp_path / "a")
    loaded = load_adapter(gpt(), tmp_path / "a")
    assert torch.equal(loaded(IDS), model(IDS))
    assert repr(loaded) == repr(model)
    assert adapt.trainable(loaded).keys() == adapt.trainable(model).keys()


def test_a_merged_update_is_saved_as_it_is_unmerged(tmp_path):
    model = with_lora()
    logits = model(IDS)
    save_adapter(adapt.merge_lora(model), tmp_path / "a")
    assert torch.equal(load_adapter(gpt(), tmp_path / "a")(IDS), logits)


def test_an_update_of_a_tied_head_unties_it(tmp_path):
    model = with_lora(targets=("head",), untie=True)
    save_adapter(model, tmp_path / "a")
    loaded = load_adapter(gpt(), tmp_path / "a")
    assert torch.equal(loaded(IDS), model(IDS))
    assert not loaded.config.tie_embeddings


def test_several_adapters_stand_beside_each_other(tmp_path):
    first, second = with_lora(), with_lora(targets=("W_o",), alpha=1)
    save_adapter(first, tmp_path / "a")
    save_adapter(second, tmp_path / "b")
    model = load_adapter(
        load_adapter(gpt(), tmp_path / "a", name="x"), tmp_path / "b", name="y"
    )
    assert adapt.adapter_names(model) == ["x", "y"]
    assert torch.equal(model(IDS), second(IDS))
    assert torch.equal(adapt.use_adapter(model, "x")(IDS), first(IDS))
    assert torch.equal(adapt.use_adapter(model, None)(IDS), gpt()(IDS))


def test_one_of_several_is_saved_by_its_name(tmp_path):
    model = filled(adapt.add_lora(with_lora(), 3, targets=("W_o",), name="other", seed=1))
    save_adapter(model, tmp_path / "b", "other")
    assert torch.equal(load_adapter(gpt(), tmp_path / "b")(IDS), model(IDS))


def test_loading_draws_no_random_numbers(tmp_path):
    save_adapter(with_lora(), tmp_path / "a")
    model, before = gpt(), torch.get_rng_state()
    load_adapter(model, tmp_path / "a")
    assert torch.equal(torch.get_rng_state(), before)


def test_matrices_in_half_precision_become_float32(tmp_path):
    save_adapter(with_lora(), tmp_path / "a")
    change_tensors(tmp_path / "a", lambda t: t.update({n: x.half() for n, x in t.items()}))
    loaded = load_adapter(gpt().float(), tmp_path / "a")
    assert {p.dtype for p in adapt.trainable(loaded).values()} == {torch.float32}


ADD = {
    "adapters": lambda m: adapt.add_adapters(m, 3, activation="gelu", places=("attention",)),
    "gated": lambda m: adapt.add_prefix(m, 3, seed=0),
    "prefix": lambda m: adapt.add_prefix(m, 3, gated=False, seed=0),
    "prompt": lambda m: adapt.add_prompt(m, 3, seed=0),
}


def with_addition(kind):
    model = ADD[kind](gpt())
    with torch.no_grad():
        for p in adapt.trainable(model).values():
            p.add_(torch.randn_like(p))
    return model


@pytest.mark.parametrize("kind", ADD)
def test_other_additions_come_back_bit_for_bit(tmp_path, kind):
    model = with_addition(kind)
    save_adapter(model, tmp_path / "a")
    loaded = load_adapter(gpt(), tmp_path / "a")
    assert torch.equal(loaded(IDS), model(IDS))
    assert repr(loaded) == repr(model)
    assert not torch.allclose(loaded(IDS), gpt()(IDS), atol=1e-3)


@pytest.mark.parametrize("kind", ADD)
def test_an_addition_that_does_not_fit_leaves_the_model_alone(tmp_path, kind):
    save_adapter(with_addition(kind), tmp_path / "a")
    model = gpt(n_layers=1, d_model=32)
    before = snapshot(model)
    with pytest.raises(CheckpointMismatchError, match=r"not fit the model: (unexp|shape)"):
        load_adapter(model, tmp_path / "a", other_base=True)
    assert_unchanged(model, before)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"kind": "ladder"}, "kind='ladder'"),
        ({"options": {"length": 2}}, "known are adapters with .*'width'"),
        ({"options": {"length": 0, "gated": True}}, "length=0: not a whole number above 0"),
        ({"options": {"length": 4, "gated": True}}, r"\(4,3,4\) ≠ \(4,4,4\)"),
    ],
)
def test_options_that_make_no_addition_are_refused(tmp_path, changes, match):
    save_adapter(with_addition("gated"), tmp_path / "a")
    change_config(tmp_path / "a", **changes)
    with pytest.raises(CheckpointMismatchError, match=match):
        load_adapter(gpt(), tmp_path / "a")


def test_a_lora_beside_a_prefix_is_saved_apart(tmp_path, caplog):
    model = filled(adapt.add_prefix(with_lora(), 3, seed=0))
    with caplog.at_level(logging.INFO):
        save_adapter(model, tmp_path / "a")
    assert "prefix of the model: to be saved apart" in caplog.text
    save_adapter(model, tmp_path / "b", "prefix")
    both = load_adapter(load_adapter(gpt(), tmp_path / "a"), tmp_path / "b")
    assert torch.equal(both(IDS), model(IDS))


def test_no_adapter_of_that_name_is_saved(tmp_path):
    with pytest.raises(InputError, match="no adapter 'default'; it has none"):
        save_adapter(gpt(), tmp_path / "a")
    with pytest.raises(InputError, match="no adapter 'rank'; it has 'prompt'"):
        save_adapter(adapt.add_prompt(gpt(), 2), tmp_path / "a", "rank")
    assert not (tmp_path / "a").exists()


def test_names_of_others_are_not_known(tmp_path, unchecked):
    with pytest.raises(ConfigError, match="names='theirs' is not"):
        save_adapter(with_lora(), tmp_path / "a", names="theirs")


def test_nothing_is_written_over(tmp_path):
    save_adapter(with_lora(), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match="is there already: give another folder"):
        save_adapter(with_lora(alpha=1), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_another_base_is_refused_by_its_shapes(tmp_path):
    save_adapter(with_lora(), tmp_path / "a")
    model = gpt(d_model=32)
    before = snapshot(model)
    with pytest.raises(
        CheckpointMismatchError, match=r"W_q|q_proj.lora_A.weight \(2,16\) ≠ \(2,32\)"
    ):
        load_adapter(model, tmp_path / "a")
    assert_unchanged(model, before)


def test_another_base_is_refused_by_its_names(tmp_path):
    save_adapter(with_lora(), tmp_path / "a")
    with pytest.raises(CheckpointMismatchError, match="does not fit the model: unexpected 4"):
        load_adapter(gpt(n_layers=1), tmp_path / "a")


@pytest.mark.parametrize("make", [with_lora, lambda: with_addition("prompt")])
def test_another_base_is_refused_by_one_bit_of_a_weight(tmp_path, make):
    save_adapter(make(), tmp_path / "a")
    model = gpt()
    with torch.no_grad():
        gain = model.final_norm.gamma
        gain[3] = torch.nextafter(gain[3], torch.tensor(9.0))
    before = snapshot(model)
    with pytest.raises(CheckpointMismatchError, match=r"for another base: .*SHA-256"):
        load_adapter(model, tmp_path / "a")
    assert_unchanged(model, before)
    load_adapter(model, tmp_path / "a", other_base=True)


def test_the_same_base_in_another_precision_is_the_same(tmp_path):
    save_adapter(with_lora(), tmp_path / "a")
    load_adapter(gpt().bfloat16(), tmp_path / "a")
    load_adapter(gpt().float(), tmp_path / "a")
    with pytest.raises(CheckpointMismatchError, match="after rounding to bfloat16"):
        load_adapter(gpt(seed=1).bfloat16(), tmp_path / "a")


def test_a_quantized_copy_is_another_base(tmp_path):
    save_adapter(with_lora(gpt().float()), tmp_path / "a")
    with pytest.raises(CheckpointMismatchError, match="another base"):
        load_adapter(quantize(gpt().float()), tmp_path / "a")
    load_adapter(quantize(gpt().float()), tmp_path / "a", other_base=True)


def test_weights_that_are_trained_too_are_not_the_bases(tmp_path):
    model = with_lora()
    model.token_embedding.weight.requires_grad_(True)
    with torch.no_grad():
        model.token_embedding.weight[2] += 1
    save_adapter(model, tmp_path / "a")
    load_adapter(gpt(), tmp_path / "a")
    with pytest.raises(CheckpointMismatchError, match="another base"):
        load_adapter(gpt(seed=1), tmp_path / "a")


def test_the_fingerprint_is_that_of_the_model_without_adapters():
    model, alone = gpt(), base_fingerprint(gpt())
    with_lora(model, targets=("W_q", "head"), untie=True)
    ADD["adapters"](model)
    ADD["prefix"](model)
    assert len(additions(model)) == 2
    assert base_fingerprint(model) == alone
    assert base_fingerprint(adapt.merge_lora(model)) == alone
    assert base_fingerprint(adapt.merge_lora(with_lora(), keep=False)) != alone


def test_a_file_that_is_not_whole_is_refused_and_nothing_changes(tmp_path):
    save_adapter(with_lora(), tmp_path / "a")
    path, model = tmp_path / "a" / "adapter_model.safetensors", gpt()
    before, content = snapshot(model), path.read_bytes()
    for cut in (0, 4, 40, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(CheckpointCorruptError, match="header"):
            load_adapter(model, tmp_path / "a")
    path.unlink()
    with pytest.raises(CheckpointError, match=r"adapter_model.safetensors is missing"):
        load_adapter(model, tmp_path / "a")
    assert_unchanged(model, before)


@pytest.mark.parametrize("content", ["", "{", "[]", "\x00"])
def test_a_configuration_that_is_none_is_refused(tmp_path, content):
    save_adapter(with_lora(), tmp_path / "a")
    (tmp_path / "a" / "adapter_config.json").write_text(content)
    with pytest.raises(CheckpointCorruptError, match=r"adapter_config.json (is not|holds no)"):
        load_adapter(gpt(), tmp_path / "a")


def test_folders_without_an_adapter_say_what_they_hold(tmp_path):
    with pytest.raises(CheckpointError, match="is no folder"):
        load_adapter(gpt(), tmp_path / "nowhere")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"whole model is read by GPT.from_pretrained"):
        load_adapter(gpt(), tmp_path)


def test_a_pickle_is_not_read(tmp_path):
    save_adapter(with_lora(), tmp_path / "a")
    (tmp_path / "a" / "adapter_model.safetensors").unlink()
    torch.save({}, tmp_path / "a" / "adapter_model.bin")
    with pytest.raises(CheckpointMismatchError, match="is a pickle, which can run any code"):
        load_adapter(gpt(), tmp_path / "a")
    torch.save({}, tmp_path / "a" / "adapter_model.safetensors")
    with pytest.raises(CheckpointMismatchError, match="does not unpickle"):
        load_adapter(gpt(), tmp_path / "a")


def a_nan(tensors):
    next(iter(tensors.values()))[0, 0] = float("nan")


def integers(tensors):
    tensors.update({name: tensor.long() for name, tensor in tensors.items()})


def half_of_a_pair(tensors):
    del tensors[min(tensors)]


def one_of_two_layers(tensors):
    for name in [name for name in tensors if ".0." in name]:
        del tensors[name]


def an_embedding(tensors):
    tensors["base_model.model.model.embed_tokens.lora_embedding_A"] = torch.zeros(2, 11)


def flat(tensors):
    tensors.update({name: tensor.flatten() for name, tensor in tensors.items()})


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (a_nan, CheckpointCorruptError, "1 NaN or infinite"),
        (integers, CheckpointMismatchError, "is int64"),
        (half_of_a_pair, CheckpointMismatchError, "missing 1 .*lora_A"),
        (one_of_two_layers, CheckpointMismatchError, "missing 2 .*layers.0.self_attn.q_proj"),
        (an_embedding, CheckpointMismatchError, "updates an embedding"),
        (flat, CheckpointMismatchError, r"lora_A.weight \(32\) ≠ \(32,16\)"),
        (dict.clear, CheckpointMismatchError, "it holds no matrices"),
    ],
)
def test_tensors_that_are_no_update_are_refused(tmp_path, change, error, match):
    save_adapter(with_lora(), tmp_path / "a")
    change_tensors(tmp_path / "a", change)
    model = gpt()
    before = snapshot(model)
    with pytest.raises(error, match=match):
        load_adapter(model, tmp_path / "a")
    assert_unchanged(model, before)


def test_a_name_that_is_taken_and_a_merged_model_are_refused(tmp_path):
    save_adapter(with_lora(), tmp_path / "a")
    model = with_lora()
    with pytest.raises(InputError, match="has an adapter 'default' already"):
        load_adapter(model, tmp_path / "a")
    adapt.merge_lora(model)
    with pytest.raises(InputError, match=r"unmerge_lora.model. before loading an adapter"):
        load_adapter(model, tmp_path / "a", name="other")


def test_what_is_no_model_gets_no_adapter(tmp_path, unchecked):
    save_adapter(with_lora(), tmp_path / "a")
    with pytest.raises(InputTypeError, match="model is a dict"):
        load_adapter({}, tmp_path / "a")
    save_adapter(with_addition("prompt"), tmp_path / "b")
    with pytest.raises(InputTypeError, match="is for a GPT, not Linear"):
        load_adapter(torch.nn.Linear(2, 2), tmp_path / "b", other_base=True)


def test_the_configuration_names_its_base(tmp_path):
    save_adapter(with_lora(), tmp_path / "a")
    said = json.loads((tmp_path / "a" / "adapter_config.json").read_text())["auto_mapping"]
    assert said["base_sha256"] == base_fingerprint(gpt())
    assert said["base_dtype"] == "float64"


def test_maps_of_a_model_that_is_no_gpt_keep_our_names(tmp_path):
    def stack():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))

    model = filled(adapt.add_lora(stack(), 1, targets=("0", "1"), seed=0))
    save_adapter(model, tmp_path / "a")
    x = torch.randn(5, 3)
    assert torch.equal(load_adapter(stack(), tmp_path / "a")(x), model(x))
