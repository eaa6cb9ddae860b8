import pytest

from lab.model_costs.experts import MIXTURES, ExpertConfig, count, grouped, latent
from mathlm.errors import ConfigError

SIZES = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4}
FORM = {"tie_word_embeddings": False, "num_experts_per_tok": 2}


def peers():
    """Small random models of transformers, and the configurations to count them from."""
    transformers = pytest.importorskip("transformers")
    common = {"vocab_size": 40, "d_model": 16, "n_layers": 3, "d_expert": 12, "chosen": 2}
    yield (
        transformers.MixtralForCausalLM(
            transformers.MixtralConfig(
                **SIZES, **FORM, num_key_value_heads=2, intermediate_size=12,
                num_local_experts=5,
            )
        ),
        ExpertConfig(attention=grouped(16, 4, 2, 4), experts=5, **common),
    )  # fmt: skip
    yield (
        transformers.Qwen3MoeForCausalLM(
            transformers.Qwen3MoeConfig(
                **SIZES, **FORM, num_key_value_heads=2, head_dim=6, num_experts=5,
                moe_intermediate_size=12,
            )
        ),
        ExpertConfig(attention=grouped(16, 4, 2, 6) + 2 * 6, experts=5, **common),
    )  # fmt: skip
    yield (
        transformers.DeepseekV3ForCausalLM(
            transformers.DeepseekV3Config(
                **SIZES, **FORM, num_key_value_heads=4, n_routed_experts=6, n_group=2,
                topk_group=1, moe_intermediate_size=12, intermediate_size=20,
                n_shared_experts=1, first_k_dense_replace=1, q_lora_rank=8, kv_lora_rank=6,
                qk_rope_head_dim=2, qk_nope_head_dim=4, v_head_dim=4,
            )
        ),
        ExpertConfig(
            attention=latent(16, 4, 4, 2, 8, 6), experts=6, shared=1, dense_layers=1,
            d_dense=20, **common,
        ),
    )  # fmt: skip


@pytest.mark.slow
def test_the_count_is_that_of_small_models_of_transformers():
    for model, config in peers():
        numbers = sum(p.numel() for p in model.parameters())
        assert numbers == count(config)[0], type(model).__name__


@pytest.mark.parametrize(
    ("name", "total", "active"),
    [("Mixtral 8x7B", 46.7, 12.9), ("Qwen3-30B-A3B", 30.5, 3.3), ("DeepSeek-V3", 671, 37)],
)
def test_published_models_have_the_published_sizes(name, total, active):
    found = count(MIXTURES[name])
    assert found[0] / 1e9 == pytest.approx(total, rel=2e-3)
    assert found[1] / 1e9 == pytest.approx(active, rel=2e-2)


def test_a_token_uses_all_but_the_experts_that_were_not_chosen():
    config = ExpertConfig(
        vocab_size=7, d_model=4, n_layers=2, attention=5, d_expert=3, experts=6, chosen=2
    )
    total, active = count(config)
    assert total == 2 * 7 * 4 + 2 * (5 + 8 + 24 + 6 * 36) + 4
    assert total - active == 2 * 4 * 36


def test_sizes_that_do_not_fit_are_refused():
    common = {"vocab_size": 7, "d_model": 4, "n_layers": 2, "attention": 5, "d_expert": 3}
    with pytest.raises(ConfigError, match="chosen=7 must be 1 to experts=6"):
        ExpertConfig(experts=6, chosen=7, **common)
    with pytest.raises(ConfigError, match="dense_layers=3 must be 0 to n_layers=2"):
        ExpertConfig(experts=6, chosen=2, dense_layers=3, **common)
