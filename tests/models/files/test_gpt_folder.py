"""Folders of GPT-2 and of the Llama family, against transformers with the same weights."""

import pytest
import torch
from models.folders import change_config, change_weights

from mathlm.errors import (
    CheckpointCorruptError,
    CheckpointError,
    CheckpointMismatchError,
    InputError,
)
from mathlm.generate import generate
from mathlm.models import GPT, load_weights

GPT2 = {
    "vocab_size": 50, "n_positions": 24, "n_embd": 24, "n_layer": 2, "n_head": 4,
    "n_inner": 24, "layer_norm_epsilon": 1e-6,
}  # fmt: skip
LLAMA = {
    "vocab_size": 50, "max_position_embeddings": 24, "hidden_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 40,
    "head_dim": 8, "rms_norm_eps": 1e-6,
}  # fmt: skip
THETA = {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}
KINDS = {
    "gpt2": ("GPT2", GPT2),
    "gpt2 relu wide": ("GPT2", GPT2 | {"activation_function": "relu", "n_inner": None}),
    "gpt2 gelu untied": (
        "GPT2",
        GPT2 | {"activation_function": "gelu", "tie_word_embeddings": False},
    ),
    "llama": ("Llama", LLAMA),
    "llama tied": ("Llama", LLAMA | THETA | {"tie_word_embeddings": True}),
    "llama biases": ("Llama", LLAMA | {"attention_bias": True, "mlp_bias": True}),
    "mistral": ("Mistral", LLAMA | {"sliding_window": 5}),
    "mistral no window": ("Mistral", LLAMA | {"sliding_window": None}),
    "qwen2": ("Qwen2", {n: v for n, v in LLAMA.items() if n != "head_dim"}),
    "qwen3": ("Qwen3", LLAMA | THETA),
}
IDS = torch.arange(40).view(2, 20) * 7 % 50


def make_theirs(kind, sizes):
    """A model of transformers with weights large enough that every part of it matters."""
    import transformers

    config = getattr(transformers, f"{kind}Config")(**sizes)
    model = getattr(transformers, "GPT2LMHeadModel" if kind == "GPT2" else f"{kind}ForCausalLM")
    theirs = model._from_config(config, attn_implementation="eager")
    for p in theirs.parameters():
        p.data += (0.7 if kind == "GPT2" else 0.3) * torch.randn_like(p)
    return theirs.eval()


def save(folder, kind="GPT2", **changes):
    theirs = make_theirs(kind, (GPT2 if kind == "GPT2" else LLAMA) | changes)
    theirs.save_pretrained(folder)
    return theirs


def load(folder):
    return GPT.from_pretrained(folder, dtype=torch.float64)


@torch.no_grad()
def difference(folder, theirs):
    return (load(folder)(IDS) - theirs(IDS).logits).abs().max().item()


@pytest.mark.parametrize(("kind", "sizes"), KINDS.values(), ids=KINDS.keys())
def test_it_computes_what_transformers_computes(tmp_path, kind, sizes):
    """Theirs has the angles and norms of a Llama in float32, whatever the weights are."""
    theirs = make_theirs(kind, sizes)
    theirs.save_pretrained(tmp_path)
    assert theirs(IDS).logits.std() > 0.5
    assert difference(tmp_path, theirs) < (1e-10 if kind == "GPT2" else 1e-5)


@pytest.mark.parametrize(("kind", "sizes"), KINDS.values(), ids=KINDS.keys())
def test_greedy_tokens_with_a_cache_are_those_of_transformers(tmp_path, kind, sizes):
    theirs = make_theirs(kind, sizes | {"eos_token_id": None})
    theirs.save_pretrained(tmp_path)
    prompt = IDS[:, :9]
    real = torch.ones_like(prompt)
    expected = theirs.generate(prompt, attention_mask=real, max_new_tokens=14, do_sample=False)
    assert torch.equal(generate(load(tmp_path), prompt, 14, temperature=0.0), expected)


@pytest.mark.parametrize("kind", ["GPT2", "Llama"])
def test_in_single_precision_it_differs_by_roundings_only(tmp_path, kind):
    theirs = save(tmp_path, kind).float()
    ours = GPT.from_pretrained(tmp_path)
    assert {p.dtype for p in ours.parameters()} == {torch.float32}
    torch.testing.assert_close(ours(IDS), theirs(IDS).logits, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("part", ["attn.c_proj", "mlp.c_fc", "mlp.c_proj"])
def test_a_square_matrix_that_was_not_transposed_would_be_noticed(tmp_path, part):
    """With n_inner = n_embd three of four matrices are square: no shape can tell."""
    theirs, name = save(tmp_path), f"transformer.h.1.{part}.weight"
    assert load_weights(tmp_path)[name].shape == (24, 24)
    assert difference(tmp_path, theirs) < 1e-10
    change_weights(tmp_path, lambda t: t.update({name: t[name].mT}))
    assert difference(tmp_path, theirs) > 1e-3


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-5])
@pytest.mark.parametrize("wrong", [1e-12, 1e-6, 1e-5])
def test_the_epsilon_of_the_file_is_used(tmp_path, eps, wrong):
    """The stream has a standard deviation of 1e-4, a variance of 1e-8: ε is what matters."""
    theirs = make_theirs("GPT2", GPT2 | {"layer_norm_epsilon": eps, "n_layer": 1})
    for name, p in theirs.named_parameters():
        if name.endswith(("wte.weight", "wpe.weight", "c_proj.weight", "c_proj.bias")):
            p.data *= 1e-4 / p.data.std()
    theirs.save_pretrained(tmp_path)
    theirs.lm_head.weight.data *= 1e4  # tied: logits of size 1 need a file of its own below
    theirs.transformer.wte.weight = torch.nn.Parameter(theirs.lm_head.weight.data / 1e4)
    change_config(tmp_path, layer_norm_epsilon=wrong, tie_word_embeddings=False)
    change_weights(tmp_path, lambda t: t.update({"lm_head.weight": theirs.lm_head.weight.data}))
    found = difference(tmp_path, theirs)
    assert found < 1e-12 if eps == wrong else found > 1e-3


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-5])
@pytest.mark.parametrize("wrong", [1e-12, 1e-6, 1e-5])
def test_the_epsilon_of_a_llama_is_used(tmp_path, eps, wrong):
    """The same of mean squares of 1e-8; theirs are taken in float32, whatever the weights."""
    theirs = make_theirs("Llama", LLAMA | {"rms_norm_eps": eps, "num_hidden_layers": 1})
    for name, p in theirs.named_parameters():
        if name.endswith(("embed_tokens.weight", "o_proj.weight", "down_proj.weight")):
            p.data *= 1e-4 / p.data.std()
    theirs.save_pretrained(tmp_path)
    change_config(tmp_path, rms_norm_eps=wrong)
    found = difference(tmp_path, theirs)
    assert found < 1e-5 if eps == wrong else found > 1e-3


FLAGS = {
    "GPT2": [
        {"activation_function": "relu"}, {"activation_function": "gelu"},
        {"activation_function": "tanh"}, {"layer_norm_epsilon": 1e-2}, {"n_head": 2},
        {"scale_attn_weights": False}, {"scale_attn_by_inverse_layer_idx": True},
        {"reorder_and_upcast_attn": True}, {"add_cross_attention": True},
        {"tie_word_embeddings": False}, {"n_inner": 48}, {"n_layer": 1}, {"n_positions": 20},
        {"vocab_size": 40}, {"n_embd": 48}, {"model_type": "llama"},
        {"quantization_config": {"bits": 4}},
    ],
    "Llama": [
        {"hidden_act": "gelu"}, {"hidden_act": "relu"}, {"rms_norm_eps": 1e-2},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0}},
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}},
        {"rope_parameters": {"partial_rotary_factor": 0.5}},
        {"rope_parameters": "absent", "rope_theta": 100.0},
        {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
        {"attention_bias": True}, {"mlp_bias": True},
        {"attention_bias": True, "mlp_bias": True}, {"tie_word_embeddings": True},
        {"head_dim": None}, {"head_dim": 4}, {"num_key_value_heads": 4},
        {"num_key_value_heads": 1}, {"num_attention_heads": 2, "head_dim": 16},
        {"intermediate_size": 24}, {"model_type": "mistral", "sliding_window": 3},
        {"model_type": "qwen2"}, {"model_type": "qwen3"}, {"model_type": "gemma"},
        {"use_sliding_window": True}, {"layer_types": ["sliding_attention"] * 2},
        {"quantization_config": {"bits": 4}},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    made = {}
    for kind in FLAGS:
        folder = tmp_path_factory.mktemp(kind)
        made[kind] = folder, save(folder, kind)
    return made


@pytest.mark.parametrize(
    ("kind", "flag"), [(k, f) for k, flags in FLAGS.items() for f in flags], ids=str
)
def test_another_field_gives_another_model_or_none(saved, kind, flag):
    folder, theirs = saved[kind]
    before = (folder / "config.json").read_text()
    change_config(folder, **flag)
    try:
        found = difference(folder, theirs)
    except CheckpointMismatchError:
        found = float("inf")
    finally:
        (folder / "config.json").write_text(before)
    assert found > 1e-3


def test_fields_of_older_files_are_read(saved):
    """rope_theta beside the rest, no num_key_value_heads needed, no rope_parameters."""
    folder, theirs = saved["Llama"]
    before = (folder / "config.json").read_text()
    change_config(folder, rope_parameters="absent", rope_theta=10_000, rope_scaling=None)
    assert difference(folder, theirs) < 1e-5
    (folder / "config.json").write_text(before)


def test_the_first_files_of_gpt2_are_read(tmp_path):
    """They have no prefix, and masks among the weights."""
    theirs = save(tmp_path)

    def rename(tensors):
        for name in list(tensors):
            tensors[name.removeprefix("transformer.")] = tensors.pop(name)
        tensors["h.0.attn.bias"] = torch.ones(1, 1, 24, 24, dtype=torch.uint8).tril()
        tensors["h.0.attn.masked_bias"] = torch.tensor(-1e4)
        tensors["lm_head.weight"] = tensors["wte.weight"].clone()

    change_weights(tmp_path, rename)
    assert difference(tmp_path, theirs) < 1e-10


def test_a_tied_head_is_the_embedding_itself(saved, tmp_path):
    tied = load(saved["GPT2"][0])
    assert tied.head.weight is tied.token_embedding.weight
    untied = load(saved["Llama"][0])
    assert untied.head.weight is not untied.token_embedding.weight


def test_loading_draws_no_random_numbers_and_leaves_a_model_to_train(saved):
    before = torch.get_rng_state()
    model = load(saved["Llama"][0])
    assert torch.equal(torch.get_rng_state(), before)
    assert not model.training
    model.train()(IDS).square().sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_a_loaded_model_reads_with_a_cache_what_it_reads_without(saved):
    model = load(saved["Llama"][0])
    with torch.no_grad():
        cache = model.new_cache(2)
        parts = [model(part, cache=cache) for part in IDS.split([7, 1, 12], 1)]
        torch.testing.assert_close(torch.cat(parts, 1), model(IDS), rtol=1e-10, atol=1e-10)


ATTENTION, ONE = "transformer.h.0.attn.c_attn", torch.ones(1, dtype=torch.float64)
WEIGHTS = {
    "missing": (
        lambda t: t.pop(f"{ATTENTION}.weight"),
        r"configuration: missing 1 \(h.0.attn.c_attn.weight \(72,24\)\)$",
    ),
    "all missing": (lambda t: t.clear(), r"missing 28 \(wte.weight \(50,24\)"),
    "unexpected": (
        lambda t: t.update({"classifier.weight": torch.ones(2, 24)}),
        r"unexpected 1 \(classifier.weight \(2,24\)\)$",
    ),
    "misshaped": (
        lambda t: t.update({f"{ATTENTION}.bias": torch.ones(71)}),
        r"shape h.0.attn.c_attn.bias \(71\) ≠ \(72\)$",
    ),
    "several at once": (
        lambda t: t.update(
            {"x": t.pop("transformer.ln_f.bias"), "transformer.wpe.weight": ONE}
        ),
        r"missing 1 \(ln_f.bias \(24\)\); unexpected 1 \(x \(24\)\); "
        r"shape wpe.weight \(1\) ≠ \(24,24\)$",
    ),
    "integers": (
        lambda t: t.update({f"{ATTENTION}.bias": torch.ones(72).long()}),
        "h.0.attn.c_attn.bias is int64",
    ),
    "two names": (
        lambda t: t.update({"wte.weight": torch.ones(50, 24)}),
        "hold wte.weight under two names",
    ),
    "another head": (
        lambda t: t.update({"lm_head.weight": torch.ones(50, 24)}),
        "ties the head to the embedding, but lm_head.weight is not wte.weight",
    ),
}


@pytest.mark.parametrize(("change", "message"), WEIGHTS.values(), ids=WEIGHTS.keys())
def test_weights_that_do_not_fit_are_refused(tmp_path, change, message):
    save(tmp_path)
    change_weights(tmp_path, change)
    with pytest.raises(CheckpointMismatchError, match=message):
        load(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(tmp_path, value):
    save(tmp_path)
    change_weights(tmp_path, lambda t: t[f"{ATTENTION}.bias"].__setitem__(3, value))
    with pytest.raises(CheckpointCorruptError, match=r"c_attn.bias holds 1 NaN or infinite"):
        load(tmp_path)


FIELDS = {
    "type": ("Llama", {"model_type": "gpt_neox"}, "model_type='gpt_neox', .* has 'gpt2', 'll"),
    "no type": ("GPT2", {"model_type": "absent"}, "model_type=None"),
    "lacking": ("Llama", {"hidden_size": "absent"}, "config.json lacks hidden_size$"),
    "no epsilon": ("Llama", {"rms_norm_eps": "absent"}, "config.json lacks rms_norm_eps$"),
    "a string": ("GPT2", {"n_embd": "24"}, "no GPT: d_model='24' must be an integer"),
    "heads": ("GPT2", {"n_head": 5}, "no GPT: n_heads=5 must divide d_model=24"),
    "epsilon": ("GPT2", {"layer_norm_epsilon": None}, "no GPT: norm_eps=None must be a number"),
    "activation": ("Llama", {"hidden_act": "gelu"}, "hidden_act='gelu', .* has 'silu'"),
    "scaling": (
        "Llama",
        {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
        "the types 'dynamic' and 'default' of rope",
    ),
    "no object": ("Llama", {"rope_scaling": 2}, "rope_scaling=2, not an object"),
    "base": ("Llama", {"rope_parameters": {"rope_theta": "x"}}, "rope_theta='x', not a number"),
    "base 0": ("Llama", {"rope_parameters": {"rope_theta": 0}}, "rope_base=0.0 must be pos"),
    "base beyond": ("Llama", {"rope_parameters": {"rope_theta": 10**400}}, "rope_theta beyond"),
    "epsilon beyond": ("Llama", {"rms_norm_eps": 10**400}, "rms_norm_eps beyond 1e308"),
    "layers": ("Llama", {"layer_types": 5}, "layer_types=5: all must be 'full_attention'"),
    "bias": ("Llama", {"attention_bias": True}, "attention_bias=True and mlp_bias=False"),
    "scores": ("GPT2", {"scale_attn_weights": False}, "scale_attn_weights=False, .* has True"),
    "a list": ("GPT2", {"tie_word_embeddings": [1]}, r"tie_word_embeddings=\[1\]"),
    "huge": ("GPT2", {"vocab_size": 2**62}, "no such model|do not fit"),
    "deep": ("GPT2", {"n_layer": 10**9}, "1000000000 layers do not fit the 28 tensors"),
    "long": ("Llama", {"max_position_embeddings": 2**40}, "context of 1099511627776 tokens"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("kind", "changes", "message"), FIELDS.values(), ids=FIELDS.keys())
def test_a_folder_of_another_model_is_refused(saved, kind, changes, message):
    folder = saved[kind][0]
    before = (folder / "config.json").read_text()
    change_config(folder, **changes)
    try:
        with pytest.raises(CheckpointMismatchError, match=message):
            load(folder)
    finally:
        (folder / "config.json").write_text(before)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path, name):
    save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name} is missing"):
        load(tmp_path)


def test_a_pickle_is_refused(tmp_path):
    save(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save({"x": torch.ones(1)}, tmp_path / "pytorch_model.bin")
    for path in (tmp_path, tmp_path / "pytorch_model.bin"):
        with pytest.raises(CheckpointMismatchError, match="mathlm does not unpickle"):
            load(path)


def test_a_path_that_is_no_model_is_refused(saved, tmp_path):
    with pytest.raises(CheckpointError, match=r"no folder and no file .*nowhere"):
        load(tmp_path / "nowhere")
    with pytest.raises(CheckpointMismatchError, match="part of a model: give its folder"):
        load(saved["GPT2"][0] / "model.safetensors")


def test_a_dtype_that_is_none_for_weights_is_refused(saved):
    with pytest.raises(InputError, match=r"torch.int64 is not one of float16, bfloat16"):
        GPT.from_pretrained(saved["GPT2"][0], dtype=torch.int64)
