"""Adapters that peft reads, and those that it wrote."""

import pytest
import torch
from adapt.llamas import (
    IDS,
    change_config,
    change_tensors,
    filled,
    gpt2_folder,
    llama_folder,
    ours,
    read_by_peft,
    tuned_by_peft,
)

from mathlm.adapt import adapter_names, add_lora, load_adapter, merge_lora, save_adapter
from mathlm.adapt.peft import meant, of_pattern, shortest
from mathlm.errors import CheckpointMismatchError, ConfigError
from mathlm.layers.low_rank import LoRALinear

pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing")


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return llama_folder(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return gpt2_folder(tmp_path_factory.mktemp("gpt2"))


def same(mine, their, tolerance=1e-5):
    torch.testing.assert_close(mine(IDS), their(input_ids=IDS).logits, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"targets": "all-linear", "rank_stabilized": True},
        {"targets": ("head", "blocks.1.attention.W_o"), "rank": 3},
    ],
)
def test_peft_reads_what_we_write(llama, tmp_path, options):
    model = filled(add_lora(ours(llama), **({"rank": 4, "alpha": 6} | options), seed=0))
    same(model, read_by_peft(llama, save_adapter(model, tmp_path / "a")))
    assert not torch.allclose(model(IDS), ours(llama)(IDS), atol=1e-2)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_rslora": True, "lora_dropout": 0.1},
        {"target_modules": "all-linear"},
        {"target_modules": r".*\.1\..*(q|o)_proj"},
        {"target_modules": ["lm_head", "down_proj"]},
        {"layers_to_transform": [1]},
        {"rank_pattern": {"layers.1.self_attn.q_proj": 2}, "alpha_pattern": {"v_proj": 20}},
    ],
)
@pytest.mark.filterwarnings("ignore:Setting `save_embedding_layers`")
def test_we_read_what_peft_writes(llama, tmp_path, options):
    their = tuned_by_peft(llama, tmp_path / "a", **options)
    mine = load_adapter(ours(llama), tmp_path / "a")
    same(mine, their)
    same(merge_lora(mine), their)


@pytest.mark.parametrize("kind", ["mistral", "qwen2", "qwen3"])
def test_the_other_types_have_the_names_of_a_llama(tmp_path, kind):
    from adapt.llamas import HEADS, SIZES
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(1)
    config = AutoConfig.for_model(kind, **SIZES, **HEADS, head_dim=4)
    AutoModelForCausalLM.from_config(config).float().save_pretrained(tmp_path / "m")
    model = filled(add_lora(ours(tmp_path / "m"), 2, targets=("W_k", "W_gate"), seed=0))
    save_adapter(model, tmp_path / "a")
    same(model, read_by_peft(tmp_path / "m", tmp_path / "a"))
    their = tuned_by_peft(tmp_path / "m", tmp_path / "b")
    same(load_adapter(ours(tmp_path / "m"), tmp_path / "b"), their)


def test_different_ranks_go_there_and_back(llama, tmp_path):
    tuned_by_peft(llama, tmp_path / "a", rank_pattern={"layers.0.self_attn.v_proj": 1})
    model = load_adapter(ours(llama), tmp_path / "a")
    save_adapter(model, tmp_path / "b")
    same(model, read_by_peft(llama, tmp_path / "b"))
    ranks = {m.settings["default"].rank for m in model.modules() if isinstance(m, LoRALinear)}
    assert ranks == {1, 4}


def test_gpt2_has_names_for_all_but_queries_keys_and_values(gpt2, tmp_path):
    targets = ("W_o", "W_in", "W_out")
    model = filled(add_lora(ours(gpt2), 3, targets=targets, seed=0))
    save_adapter(model, tmp_path / "a")
    same(model, read_by_peft(gpt2, tmp_path / "a"))
    their = tuned_by_peft(
        gpt2, tmp_path / "b", target_modules=["c_proj", "c_fc"], fan_in_fan_out=True
    )
    same(load_adapter(ours(gpt2), tmp_path / "b"), their)


def test_fused_queries_are_refused_in_both_directions(gpt2, tmp_path):
    model = filled(add_lora(ours(gpt2), 3, seed=0))
    with pytest.raises(ConfigError, match="W_q is a part of c_attn, one matrix for queries"):
        save_adapter(model, tmp_path / "a", names="peft")
    assert not (tmp_path / "a").exists()
    tuned_by_peft(gpt2, tmp_path / "b", target_modules=["c_attn"], fan_in_fan_out=True)
    with pytest.raises(CheckpointMismatchError, match="three maps here, W_q, W_k and W_v"):
        load_adapter(ours(gpt2), tmp_path / "b")


def test_what_peft_has_no_name_for_keeps_our_own(gpt2, tmp_path):
    model = filled(add_lora(ours(gpt2), 3, seed=0))
    save_adapter(model, tmp_path / "a")
    assert torch.equal(load_adapter(ours(gpt2), tmp_path / "a")(IDS), model(IDS))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"use_dora": True}, "has use_dora=True: an update here is W [+] s B A"),
        ({"bias": "all"}, "bias='all'"),
        ({"modules_to_save": ["lm_head"]}, r"modules_to_save=\['lm_head'\]"),
        ({"trainable_token_indices": [3]}, r"trainable_token_indices=\[3\]"),
        ({"of_tomorrow": 1}, "of_tomorrow=1"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights='pissa', which changes the base"),
        ({"peft_type": "IA3"}, "peft_type='IA3'; mathlm reads 'LORA'"),
        ({"r": 3}, r"q_proj 4 ≠ 3"),
        ({"lora_alpha": -1}, "alpha=-1 must be a number, positive"),
        ({"lora_alpha": "six"}, "lora_alpha|alpha"),
        ({"rank_pattern": {"q_proj": 7}}, r"q_proj 4 ≠ 7"),
        ({"target_modules": ["q_proj", "v_proj", "o_proj"]}, r"missing 2 .*o_proj"),
    ],
)
def test_a_configuration_that_says_something_else_is_refused(llama, tmp_path, changes, match):
    tuned_by_peft(llama, tmp_path / "a")
    change_config(tmp_path / "a", **changes)
    model = ours(llama)
    with pytest.raises(CheckpointMismatchError, match=match):
        load_adapter(model, tmp_path / "a")
    assert adapter_names(model) == []
    assert all(p.requires_grad for p in model.parameters())


def test_a_copy_of_a_weight_must_be_the_bases(llama, tmp_path):
    tuned_by_peft(llama, tmp_path / "a", target_modules=["v_proj"])
    key = "base_model.model.model.layers.0.mlp.up_proj.base_layer.weight"
    up = ours(llama).blocks[0].feed_forward.W_in.weight.detach()
    change_tensors(tmp_path / "a", lambda t: t.update({key: up.clone()}))
    load_adapter(ours(llama), tmp_path / "a")
    change_tensors(tmp_path / "a", lambda t: t.update({key: up + 1}))
    with pytest.raises(CheckpointMismatchError, match=r"unexpected 1 .*up_proj.base_layer"):
        load_adapter(ours(llama), tmp_path / "a")


def test_the_shortest_ends_that_mean_no_other():
    known = ["h.0.attn.c_proj", "h.0.mlp.c_proj", "h.1.attn.c_proj", "h.1.mlp.c_proj", "lm"]
    assert shortest(known[:4], known) == ["c_proj"]
    assert shortest(known[0:4:2], known) == ["attn.c_proj"]
    assert shortest(known[1:2], known) == ["0.mlp.c_proj"]
    assert meant(["attn.c_proj", "lm"], known) == {known[0], known[2], "lm"}


def test_patterns_hold_at_the_end_of_a_name_and_a_broken_one_nowhere():
    assert of_pattern(["(", "1.q", r"\d+\.q"], "layers.21.q") == r"\d+\.q"
    assert of_pattern(["q"], "layers.1.kq") is None
