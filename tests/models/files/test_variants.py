"""Folders of current open models, against transformers 5.23.0 with the same weights."""

import warnings

import pytest
import torch
from models.folders import change_config
from models.variant_families import KINDS, in_double, make_theirs

from mathlm.errors import CheckpointMismatchError, ConfigError
from mathlm.models import GPT, BlockVariant, load_weights, save_pretrained

IDS = torch.arange(40).view(2, 20) * 7 % 60
EVERY = pytest.mark.parametrize("kind", KINDS)
UNEVEN = ["full_attention", "full_attention", "sliding_attention"]
NEW = ["gemma2", "gemma3_text", "olmo2", "olmo3"]


def saved(folder, kind, dtype, **changes):
    """Their logits, and a folder of their model."""
    torch.set_default_dtype(dtype)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        theirs = make_theirs(kind, **changes)
        theirs.save_pretrained(folder)
        return theirs(IDS, use_cache=False).logits


@EVERY
def test_float32_logits_agree_to_1e_5(tmp_path, kind):
    theirs = saved(tmp_path, kind, torch.float32)
    with torch.no_grad():
        ours = GPT.from_pretrained(tmp_path)(IDS)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@EVERY
def test_float64_logits_agree_to_1e_10(tmp_path, kind):
    with in_double():
        theirs = saved(tmp_path, kind, torch.float64)
    with torch.no_grad():
        ours = GPT.from_pretrained(tmp_path, dtype=torch.float64)(IDS)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_older_files_say_the_bases_and_the_pattern_in_fields_of_their_own(tmp_path):
    saved(tmp_path, "gemma3_text", torch.float32)
    change_config(
        tmp_path, rope_parameters="absent", layer_types="absent", rope_theta=900.0,
        rope_local_base_freq=100.0, sliding_window_pattern=2,
        rope_scaling={"rope_type": "linear", "factor": 2.0},
    )  # fmt: skip
    config = GPT.from_pretrained(tmp_path).config
    assert (config.rope_base, config.variant.local_rope_base) == (900.0, 100.0)
    assert config.windows == (5, None, 5)
    assert config.rope_scaling.factor == 2.0


def test_a_field_that_the_type_does_not_have_is_passed_over(tmp_path):
    """As transformers does; gemma2 has no sliding_window_pattern."""
    saved(tmp_path, "gemma2", torch.float32)
    change_config(tmp_path, layer_types="absent", sliding_window_pattern=3, brand_new=1)
    assert GPT.from_pretrained(tmp_path).config.windows == (5, None, 5)


@pytest.mark.parametrize("kind", ["gemma3_text", "olmo3"])
def test_one_base_where_the_type_has_two_is_refused(tmp_path, kind):
    """transformers would take neither of the two from it."""
    saved(tmp_path, kind, torch.float32)
    change_config(tmp_path, rope_parameters={"rope_type": "default", "rope_theta": 9.0})
    with pytest.raises(CheckpointMismatchError, match="for 'full_attention' and 'sliding"):
        GPT.from_pretrained(tmp_path)


def test_what_a_file_does_not_say_is_as_its_type_has_it(tmp_path):
    saved(tmp_path, "gemma3_text", torch.float32)
    change_config(tmp_path, rope_parameters="absent", layer_types="absent")
    change_config(tmp_path, query_pre_attn_scalar="absent", _sliding_window_pattern="absent")
    config = GPT.from_pretrained(tmp_path).config
    assert (config.rope_base, config.variant.local_rope_base) == (1e6, 1e4)
    assert config.variant.full_every == 6
    assert config.variant.score_scale == 1 / 16


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("gemma2", {"query_pre_attn_scalar": 0}, "query_pre_attn_scalar=0.0, not positive"),
        ("gemma2", {"attn_logit_softcapping": -1.0}, "score_cap=-1.0 must be positive"),
        ("gemma2", {"use_bidirectional_attention": True}, "use_bidirectional_attention=True"),
        ("gemma2", {"attention_bias": True}, "attention_bias=True"),
        ("gemma2", {"hidden_activation": "relu"}, "hidden_activation='relu'"),
        ("gemma3_text", {"attn_logit_softcapping": 5.0}, "attn_logit_softcapping=5.0"),
        ("gemma2", {"layer_types": UNEVEN}, "every n-th of 3 layers"),
        ("gemma2", {"layer_types": ["chunked_attention"] * 3}, "chunked_attention"),
        ("olmo2", {"model_type": "deepseek_v3"}, "latent attention and a mixture of experts"),
        ("olmo2", {"model_type": "gpt_oss"}, "'gpt_oss', which has a mixture of experts"),
        ("olmo2", {"model_type": "deepseek_v32"}, "an indexer that picks keys"),
        ("olmo2", {"model_type": "deepseek_v4"}, "has hyper-connections, an indexer"),
        ("olmo2", {"model_type": "gemma4_text"}, "layers that share keys and values"),
        ("olmo2", {"model_type": "qwen3_next"}, "linear attention"),
        ("olmo2", {"model_type": "phi"}, "model_type='phi', this model has"),
    ],
)  # fmt: skip
def test_what_is_not_built_is_refused_by_name(tmp_path, kind, changes, words):
    saved(tmp_path, kind, torch.float32)
    change_config(tmp_path, **changes)
    with pytest.raises(CheckpointMismatchError, match=words):
        GPT.from_pretrained(tmp_path)


def test_a_scaled_base_behind_a_window_is_refused(tmp_path):
    saved(tmp_path, "gemma3_text", torch.float32)
    scaled = {"rope_type": "linear", "factor": 2.0, "rope_theta": 9.0}
    plain = {"rope_type": "default", "rope_theta": 9.0}
    both = {"sliding_attention": scaled, "full_attention": plain}
    change_config(tmp_path, rope_parameters=both)
    with pytest.raises(CheckpointMismatchError, match="in the layers with a window"):
        GPT.from_pretrained(tmp_path)


@pytest.mark.parametrize("kind", NEW)
def test_all_of_the_weights_are_used(tmp_path, kind):
    saved(tmp_path, kind, torch.float32)
    numbers = sum(t.numel() for t in load_weights(tmp_path).values())
    ours = GPT.from_pretrained(tmp_path)
    assert numbers == sum(p.numel() for p in ours.parameters())


def test_it_is_not_written_as_a_model_that_it_is_not(tmp_path):
    saved(tmp_path / "theirs", "olmo2", torch.float32)
    ours = GPT.from_pretrained(tmp_path / "theirs")
    assert isinstance(ours.config.variant, BlockVariant)
    with pytest.raises(ConfigError, match="save_pretrained knows no GPT with variant"):
        save_pretrained(ours, tmp_path / "ours")
