"""Scaled rotary positions of Llama folders, against transformers."""

import pytest
import torch
from models.folders import change_config

from mathlm.errors import CheckpointMismatchError
from mathlm.functional import RopeScaling
from mathlm.models import GPT
from mathlm.models.files.hugging_face import rope_of

SIZES = {
    "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "intermediate_size": 40, "max_position_embeddings": 256,
    "eos_token_id": None,
}  # fmt: skip
IDS = torch.arange(80).view(2, 40) * 7 % 50
TRAINED = "original_max_position_embeddings"
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0,
          TRAINED: 64}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, TRAINED: 64, "beta_fast": 2.0, "beta_slow": 0.5}
ROPES = {
    "linear": {"rope_type": "linear", "factor": 3.0},
    "llama3": LLAMA3,
    "yarn": YARN,
    "yarn with the usual ramp": {"rope_type": "yarn", "factor": 4, TRAINED: 64},
    "yarn of another amplitude": YARN | {"attention_factor": 0.8},
}


def save(folder, rope):
    """A model of transformers with weights large enough that every part of it matters."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(**SIZES, rope_parameters={"rope_theta": 500.0} | rope)
    theirs = LlamaForCausalLM._from_config(config, attn_implementation="eager")
    for p in theirs.parameters():
        p.data += 0.2 * torch.randn_like(p)
    theirs.eval().save_pretrained(folder)
    return theirs


@torch.no_grad()
def difference(folder, theirs):
    ours = GPT.from_pretrained(folder, dtype=torch.float64)
    return (ours(IDS) - theirs(IDS).logits).abs().max().item()


@pytest.mark.parametrize("rope", ROPES.values(), ids=ROPES.keys())
def test_it_computes_what_transformers_computes(tmp_path, rope):
    """Theirs has the angles in float32."""
    theirs = save(tmp_path, rope)
    assert theirs(IDS).logits.std() > 0.5
    assert difference(tmp_path, theirs) < 1e-5


@pytest.mark.parametrize("rope", ROPES.values(), ids=ROPES.keys())
def test_greedy_tokens_are_those_of_transformers(tmp_path, rope):
    from mathlm.generate import generate

    theirs, prompt = save(tmp_path, rope), IDS[:, :30]
    ours = GPT.from_pretrained(tmp_path, dtype=torch.float64)
    real = torch.ones_like(prompt)
    expected = theirs.generate(prompt, attention_mask=real, max_new_tokens=12, do_sample=False)
    assert torch.equal(generate(ours, prompt, 12, temperature=0.0), expected)


FLAGS = [
    ("linear", {"factor": 2.0}), ("linear", {"rope_theta": 100.0}),
    ("llama3", {"factor": 8.0}), ("llama3", {"low_freq_factor": 0.5}),
    ("llama3", {"high_freq_factor": 8.0}), ("llama3", {TRAINED: 16}),
    ("yarn", {"factor": 8.0}), ("yarn", {"beta_fast": 8.0}), ("yarn", {"beta_slow": 0.01}),
    ("yarn", {TRAINED: 32}), ("yarn", {"attention_factor": 1.0}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "change"), FLAGS, ids=str)
def test_another_number_gives_another_model(tmp_path, kind, change):
    rope = {"rope_theta": 500.0} | ROPES[kind]
    theirs = save(tmp_path, rope)
    change_config(tmp_path, rope_parameters=rope | change)
    assert difference(tmp_path, theirs) > 1e-3


def test_fields_of_older_files_are_read(tmp_path):
    theirs = save(tmp_path, ROPES["linear"])
    old = {"type": "linear", "factor": 3.0}
    change_config(tmp_path, rope_parameters="absent", rope_theta=500.0, rope_scaling=old)
    assert difference(tmp_path, theirs) < 1e-5


def test_a_trained_length_beside_the_object_comes_first(tmp_path):
    """As in files of transformers, where it then is that of the pretraining."""
    theirs = save(tmp_path, YARN)
    rope = YARN | {"rope_theta": 500.0, TRAINED: 16}
    change_config(tmp_path, rope_parameters=rope, **{TRAINED: 64})
    assert difference(tmp_path, theirs) < 1e-5


def test_the_trained_length_is_by_default_the_context():
    fields = {"max_position_embeddings": 512, "rope_scaling": {"type": "yarn", "factor": 2.0}}
    assert rope_of(fields)[1] == RopeScaling(kind="yarn", factor=2.0, original_context=512)


def test_llama_3_2_by_hand():
    """The fields of its file, by our names."""
    fields = {"max_position_embeddings": 131_072, "rope_theta": 500_000.0}
    fields["rope_scaling"] = {
        "factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, TRAINED: 8192,
        "rope_type": "llama3",
    }  # fmt: skip
    expected = RopeScaling(
        kind="llama3", factor=32.0, original_context=8192, fast=4.0, slow=1.0
    )
    assert rope_of(fields) == (500_000.0, expected)


def test_fields_that_say_nothing_are_no_scaling():
    said = {"rope_type": "default", "factor": None, "truncate": True, "rope_theta": 100}
    assert rope_of({"rope_parameters": said, "rope_scaling": None}) == (100.0, None)
    assert rope_of({}) == (10_000.0, None)


BAD = {
    "dynamic": (
        {"rope_type": "dynamic", "factor": 2.0},
        r"rope_type='dynamic' \(its frequencies follow .*; this model has 'default', 'linear'",
    ),
    "unknown": ({"rope_type": "longrope"}, "rope_type='longrope'; this model has 'default'"),
    "a list": ({"rope_type": ["linear"]}, r"rope_type=\['linear'\]; this model has"),
    "two types": (
        {"rope_type": "linear", "type": "yarn", "factor": 2.0},
        "the types 'yarn' and 'linear' of rope",
    ),
    "no factor": ({"rope_type": "linear"}, "rope_type='linear' without factor"),
    "no turns": (
        {"rope_type": "llama3", "factor": 2.0},
        "rope_type='llama3' without high_freq_factor, low_freq_factor",
    ),
    "strange": (
        {"rope_type": "linear", "factor": 2.0, "beta_fast": 3},
        "beta_fast=3 with rope_type='linear', which has no such field here",
    ),
    "mscale": (YARN | {"mscale": 0.7}, "mscale=0.7 with rope_type='yarn'"),
    "no truncation": (YARN | {"truncate": False}, "truncate=False, this model has True"),
    "part": ({"partial_rotary_factor": 0.5}, "partial_rotary_factor=0.5, this model has 1.0"),
    "scaling by default": ({"factor": 2.0}, "factor=2.0 with rope_type='default'"),
    "shrinking": (
        {"rope_type": "linear", "factor": 0.5},
        "no GPT: factor=0.5 must be at least",
    ),
    "a string": (
        {"rope_type": "linear", "factor": "2"},
        "config.json has factor='2', not a number",
    ),
    "not finite": (YARN | {"factor": float("nan")}, "config.json has factor=nan, not a number"),
    "length": (YARN | {TRAINED: 0}, "no GPT: yarn scaling needs the trained length"),
    "length by name": (YARN | {TRAINED: "64"}, "original_context='64' must be an integer"),
    "order": (LLAMA3 | {"low_freq_factor": 9}, "no GPT: slow=9.0 must be positive and less"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("rope", "message"), BAD.values(), ids=BAD.keys())
def test_what_this_model_cannot_be_told_is_refused(rope, message):
    with pytest.raises(CheckpointMismatchError, match=message):
        rope_of({"max_position_embeddings": 64, "rope_parameters": rope})


def test_a_scaling_that_does_not_fit_the_model_is_refused(tmp_path):
    """A ramp that no pair of features lies on."""
    save(tmp_path, YARN)
    rope = YARN | {"rope_theta": 500.0, "beta_fast": 1e9, "beta_slow": 1e8}
    change_config(tmp_path, rope_parameters=rope)
    with pytest.raises(CheckpointMismatchError, match="yarn finds no ramp"):
        GPT.from_pretrained(tmp_path)
