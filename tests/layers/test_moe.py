import numpy as np
import pytest
import torch

from mathlm import reference as ref
from mathlm.errors import ConfigError
from mathlm.layers import MixtureOfExperts

B, T, D, WIDTH, E, K = 2, 5, 8, 6, 4, 2
SIGMOID = {"router": "sigmoid"}


def test_it_is_the_reference_in_value_and_gradient():
    layer, x = MixtureOfExperts(D, WIDTH, E, K), torch.randn(B * T, D, requires_grad=True)
    weights = {n: p.detach().numpy() for n, p in layer.named_parameters()}
    expected, cache = ref.mixture_of_experts(x.detach().numpy(), weights, K)
    y = layer(x)
    np.testing.assert_allclose(y.detach(), expected, rtol=1e-10, atol=1e-12)
    dy = torch.randn_like(y)
    y.backward(dy)
    dx, grads = ref.mixture_of_experts_backward(dy.numpy(), cache)
    np.testing.assert_allclose(dx, x.grad, rtol=1e-9, atol=1e-12)
    for name, parameter in layer.named_parameters():
        np.testing.assert_allclose(grads[name], parameter.grad, rtol=1e-9, atol=1e-12)


def copy_experts(layer, router, experts):
    """Weights of a layer of transformers, whose two first maps are stored as one."""
    with torch.no_grad():
        layer.W_router.weight.copy_(router.weight)
        gate, up = experts.gate_up_proj.chunk(2, 1)
        layer.W_gate.copy_(gate)
        layer.W_in.copy_(up)
        layer.W_out.copy_(experts.down_proj)


def randomize(module):
    for p in module.parameters():
        torch.nn.init.normal_(p, std=0.3)
    return module.float().eval()


def test_it_is_the_layer_of_mixtral():
    """transformers 5.23.0, a random layer."""
    from transformers import MixtralConfig
    from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

    config = MixtralConfig(
        hidden_size=D, intermediate_size=WIDTH, num_local_experts=E, num_experts_per_tok=K
    )
    config._experts_implementation = "eager"
    peer = randomize(MixtralSparseMoeBlock(config))
    layer = MixtureOfExperts(D, WIDTH, E, K).float()
    copy_experts(layer, peer.gate, peer.experts)
    x = torch.randn(B, T, D, dtype=torch.float32)
    torch.testing.assert_close(layer(x), peer(x.clone()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("n_groups", "top_groups"), [(1, 1), (4, 2)])
def test_it_is_the_layer_of_deepseek_v3(n_groups, top_groups):
    """transformers 5.23.0, a random layer with groups, a bias and two shared experts."""
    from transformers import DeepseekV3Config
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE

    config = DeepseekV3Config(
        hidden_size=D, moe_intermediate_size=WIDTH, n_routed_experts=8, num_experts_per_tok=K,
        n_group=n_groups, topk_group=top_groups, n_shared_experts=2, routed_scaling_factor=2.5,
        norm_topk_prob=True,
    )  # fmt: skip
    config._experts_implementation = "eager"
    peer = randomize(DeepseekV3MoE(config))
    layer = MixtureOfExperts(
        D, WIDTH, 8, K, n_shared=2, router="sigmoid", scale=2.5, n_groups=n_groups,
        top_groups=top_groups,
    ).float()  # fmt: skip
    copy_experts(layer, peer.gate, peer.experts)
    names = {"W_gate": "gate_proj", "W_in": "up_proj", "W_out": "down_proj"}
    with torch.no_grad():
        peer.gate.e_score_correction_bias.copy_(torch.randn(8))
        layer.bias.copy_(peer.gate.e_score_correction_bias)
        for ours, theirs in names.items():
            getattr(layer.shared, ours).weight.copy_(
                getattr(peer.shared_experts, theirs).weight
            )
    x = torch.randn(B, T, D, dtype=torch.float32)
    torch.testing.assert_close(layer(x), peer(x), rtol=1e-4, atol=1e-5)


def test_with_all_experts_and_equal_scores_it_is_one_wide_network():
    layer, x = MixtureOfExperts(D, WIDTH, E, E), torch.randn(B, T, D)
    torch.nn.init.zeros_(layer.W_router.weight)
    hidden = torch.nn.functional.silu(x @ layer.W_gate.flatten(0, 1).mT)
    hidden = hidden * (x @ layer.W_in.flatten(0, 1).mT)
    wide = hidden @ layer.W_out.transpose(0, 1).flatten(1).mT
    torch.testing.assert_close(layer(x), wide / E, rtol=1e-10, atol=1e-12)


def test_a_step_of_the_bias_evens_out_the_load():
    layer, x = MixtureOfExperts(D, WIDTH, E, K, router="sigmoid"), torch.randn(400, D)
    x = x + 2 * layer.W_router.weight[0].detach()  # all tokens like one expert
    shares = []
    for _ in range(200):
        layer(x)
        shares.append((layer.load.max() / layer.load.mean()).item())
        layer.step_bias(0.01)
    assert shares[0] > 1.5
    assert shares[-1] < 1.2
    assert (layer.load == 0).all()
    assert layer.bias.grad is None


def test_the_load_is_counted_in_training_only():
    layer, x = MixtureOfExperts(D, WIDTH, E, K), torch.randn(B, T, D)
    layer.eval()(x)
    assert layer.load.sum() == 0
    layer.train()(x)
    assert layer.load.sum() == B * T * K


def test_counts_and_their_bias_keep_32_bits_in_a_model_of_16():
    """In bfloat16 256 + 1 is 256, and 0.5 + 0.001 is 0.5."""
    layer = MixtureOfExperts(D, WIDTH, 2, 2, router="sigmoid").to(torch.bfloat16)
    assert layer(torch.randn(300, D, dtype=torch.bfloat16)).dtype == torch.bfloat16
    layer(torch.randn(1, D, dtype=torch.bfloat16))
    assert layer.load.tolist() == [301, 301]
    layer.bias[:] = 0.5
    for _ in range(100):
        layer.load[:] = torch.tensor([1, 3])
        layer.step_bias(0.001)
    torch.testing.assert_close(layer.bias.double(), torch.tensor([0.6, 0.4]), rtol=0, atol=1e-5)
    assert layer.double().bias.dtype == torch.float64


def test_without_room_tokens_are_dropped():
    layer, x = MixtureOfExperts(D, WIDTH, E, K, capacity_factor=0.25), torch.randn(8, D)
    taps = {}
    y = layer(x.expand(8, D)[:1].repeat(8, 1), taps)  # all want the same two experts
    assert taps["experts"].shape == (8, K)
    assert (y[0] != 0).all()
    assert (y[1:] == 0).all()


def test_gradients_pass_numerical_tests():
    layer, x = MixtureOfExperts(3, 2, 4, 2, router="sigmoid", n_shared=1), torch.randn(3, 3)
    assert torch.autograd.gradcheck(layer.eval(), (x.requires_grad_(),))


@pytest.mark.parametrize(
    ("args", "options", "says"),
    [
        ((8, 6, 4, 5), {}, "top_k=5 must be 1 to n_experts=4"),
        ((8, 6, 4, 0), {}, "top_k=0 must be 1"),
        ((8, 6, 4, 1), {}, "the router gets no gradient; use router='softmax_top_k'"),
        ((8, 6, 4, 2), {"router": "hash"}, "router='hash' is not one of"),
        ((8, 6, 4, 2), {"n_shared": -1}, "n_shared=-1 must be at least 0"),
        ((8, 6, 4, 2), {"scale": 2.5}, "scale=2.5 must be positive, and 1 unless"),
        ((8, 6, 4, 2), {"capacity_factor": 0.0}, "capacity_factor=0.0 must be positive"),
        ((8, 0, 4, 2), {}, "d_ff=0 must be at least 1"),
        ((8, 6, 4, 2), {"top_groups": 2}, "top_groups=2 must be 1 to n_groups=1"),
        (
            (8, 6, 4, 2),
            {"n_groups": 2, "top_groups": 0},
            "top_groups=0 must be 1 to n_groups=2",
        ),
        ((8, 6, 4, 2), {"n_groups": 2}, "n_groups=2 must be 1 unless router='sigmoid'"),
        ((8, 6, 4, 2), SIGMOID | {"n_groups": 4}, "n_groups=4 must divide n_experts=4 into"),
        ((8, 6, 8, 2), SIGMOID | {"n_groups": 3}, "n_groups=3 must divide n_experts=8 into"),
        ((8, 6, 8, 3), SIGMOID | {"n_groups": 4}, "top_k=3 must be at most the 2 experts of"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_choices_that_do_not_fit_are_refused(unchecked, args, options, says):
    with pytest.raises(ConfigError, match=says):
        MixtureOfExperts(*args, **options)
