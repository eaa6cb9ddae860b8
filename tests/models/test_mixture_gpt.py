from dataclasses import replace

import pytest
import torch

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.functional import balance_loss, sigmoid_top_k, z_loss
from mathlm.models import GPT, BlockVariant, GPTConfig, MixtureConfig, MixtureGPT
from mathlm.scaling import active_parameters, count_parameters
from mathlm.train import BalancedExperts, next_token

SMALL = GPTConfig(
    vocab_size=20, context=8, d_model=16, n_layers=2, n_heads=2, d_ff=12, norm="rms",
    activation="swiglu", position="rope", bias=False,
)  # fmt: skip
CONFIG = MixtureConfig(gpt=SMALL, n_experts=4, top_k=2, n_shared=1)
MIXTRAL = MixtureConfig(
    gpt=GPTConfig(
        vocab_size=32_000, context=32_768, d_model=4096, n_layers=32, n_heads=32,
        n_kv_heads=8, d_ff=14_336, norm="rms", activation="swiglu", position="rope",
        rope_base=1e6, bias=False, tie_embeddings=False,
    ),
    n_experts=8, top_k=2,
)  # fmt: skip


def batch():
    ids = torch.randint(20, (3, 9))
    return {"ids": ids[:, :-1], "targets": ids[:, 1:]}


def test_the_count_is_that_of_the_model():
    model = MixtureGPT(CONFIG)
    assert count_parameters(CONFIG) == sum(p.numel() for p in model.parameters())


def test_the_active_parameters_are_those_of_a_model_with_as_many_experts_as_a_token_uses():
    skipped = 2 * (4 - 2) * 3 * 12 * 16
    assert active_parameters(CONFIG) == count_parameters(CONFIG) - skipped


def test_mixtral_has_the_published_sizes():
    """47 and 13 billion, arXiv:2401.04088; and to the last parameter those of transformers."""
    from transformers import MixtralConfig, MixtralForCausalLM

    assert round(count_parameters(MIXTRAL) / 1e9) == 47
    assert round(active_parameters(MIXTRAL) / 1e9) == 13
    with torch.device("meta"):
        peer = MixtralForCausalLM(MixtralConfig())
    assert count_parameters(MIXTRAL) == sum(p.numel() for p in peer.parameters())


def test_one_expert_is_a_gpt():
    mixture = MixtureGPT(MixtureConfig(gpt=SMALL, n_experts=1, top_k=1))
    gpt, weights = GPT(SMALL), mixture.state_dict()
    for name in gpt.state_dict():
        ours = (
            f"gpt.{name}".replace(".weight", "") if "feed_forward." in name else f"gpt.{name}"
        )
        gpt.get_parameter(name).data.copy_(weights[ours].squeeze(0))
    ids = batch()["ids"]
    torch.testing.assert_close(mixture(ids), gpt(ids), rtol=1e-10, atol=1e-12)


def test_the_objective_adds_the_losses_of_every_router():
    model, data = MixtureGPT(CONFIG), batch()
    loss, count = BalancedExperts(balance=0.3, z=0.2)(model, data)
    plain, same = next_token(model, data)
    taps = {}
    model(data["ids"], taps=taps)
    extra = 0.0
    for i in range(2):
        z, chosen = (taps[f"blocks.{i}.feed_forward.{n}"] for n in ("router_logits", "experts"))
        extra = extra + 0.3 * balance_loss(z, chosen) + 0.2 * z_loss(z).mean()
    assert count == same
    torch.testing.assert_close(loss, plain + count * extra, rtol=1e-12, atol=1e-12)
    without, _ = BalancedExperts(balance=0)(model, data)
    torch.testing.assert_close(without, plain)


def test_the_balance_loss_reaches_every_router():
    model, data = MixtureGPT(CONFIG), batch()
    BalancedExperts()(model, data)[0].backward()
    assert all(m.W_router.weight.grad.abs().max() > 0 for m in model.mixtures())


def test_biases_of_all_layers_take_a_step():
    model = MixtureGPT(MixtureConfig(gpt=SMALL, n_experts=4, top_k=2, router="sigmoid"))
    model(batch()["ids"])
    model.step_biases(0.1)
    assert len(model.mixtures()) == 2
    assert all(m.bias.abs().max() > 0 for m in model.mixtures())


def test_the_past_does_not_see_the_future():
    model, ids = MixtureGPT(CONFIG).eval(), batch()["ids"]
    other = ids.clone()
    other[:, -1] = (ids[:, -1] + 1) % 20
    torch.testing.assert_close(model(ids)[:, :-1], model(other)[:, :-1])


def test_every_layer_has_the_groups_of_the_configuration():
    groups = {"n_experts": 8, "router": "sigmoid", "n_groups": 4, "top_groups": 2}
    model = MixtureGPT(MixtureConfig(gpt=SMALL, top_k=2, **groups))
    taps = {}
    model(batch()["ids"], taps=taps)
    for i, layer in enumerate(model.mixtures()):
        logits = taps[f"blocks.{i}.feed_forward.router_logits"]
        right = sigmoid_top_k(logits, 2, layer.bias, n_groups=4, top_groups=2)[1]
        assert torch.equal(taps[f"blocks.{i}.feed_forward.experts"], right)


def test_what_does_not_fit_is_refused(unchecked):
    with pytest.raises(ConfigError, match="n_groups=2 must be 1 unless router='sigmoid'"):
        MixtureConfig(gpt=SMALL, n_experts=4, top_k=2, n_groups=2)
    with pytest.raises(ConfigError, match="top_k=5 must be 1 to n_experts=4"):
        MixtureConfig(gpt=SMALL, n_experts=4, top_k=5)
    with pytest.raises(ConfigError, match="must be 'swiglu'"):
        MixtureConfig(gpt=GPTConfig(), n_experts=4, top_k=2)
    with pytest.raises(InputError, match="has no router"):
        BalancedExperts()(GPT(SMALL), batch())
    with pytest.raises(ConfigError, match="balance=-1"):
        BalancedExperts(balance=-1)
    with pytest.raises(ConfigError, match="z=-1"):
        BalancedExperts(z=-1)
    with pytest.raises(InputTypeError, match="expected a MixtureConfig"):
        active_parameters(SMALL)


@pytest.mark.parametrize("placement", ["before", "after", "both"])
def test_every_block_has_experts_wherever_its_branches_are_normalized(placement):
    gpt = replace(SMALL, variant=BlockVariant(placement=placement))
    model, tokens = MixtureGPT(replace(CONFIG, gpt=gpt)), batch()
    assert len(model.mixtures()) == SMALL.n_layers
    model(tokens["ids"]).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
