"""The same updates of the same weights, in the peft package and here."""

import peft
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from mathlm.adapt import add_lora, merge_lora
from mathlm.layers import LoRALinear
from mathlm.models import GPT

IDS = torch.randint(30, (2, 12), generator=torch.Generator().manual_seed(0))
OLD_NAME = "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"  # peft calls it
pytestmark = pytest.mark.filterwarnings(OLD_NAME)
NAMES = {"W_q": "q_proj", "W_v": "v_proj", "W_out": "down_proj"}
SIZES = {"vocab_size": 30, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32}


@pytest.fixture(params=[False, True], ids=["", "rank-stabilized"])
def pair(request, tmp_path):
    """Our model and peft's, with the same numbers in every update."""
    torch.set_default_dtype(torch.float32)
    theirs = LlamaForCausalLM(LlamaConfig(**SIZES, **HEADS, tie_word_embeddings=False))
    theirs.save_pretrained(tmp_path)
    ours = GPT.from_pretrained(tmp_path)
    add_lora(ours, 4, 16, tuple(NAMES), rank_stabilized=request.param, seed=0)
    config = peft.LoraConfig(
        r=4, lora_alpha=16, target_modules=[*NAMES.values()], use_rslora=request.param
    )
    theirs = peft.get_peft_model(theirs, config).eval()
    return ours, theirs, matched(ours, theirs)


def matched(ours, theirs):
    """Pairs of our maps and theirs, once they have the same numbers."""
    pairs = []
    for name, layer in ours.named_modules():
        if isinstance(layer, LoRALinear):
            number, last = name.split(".")[1], NAMES[name.split(".")[-1]]
            part = "mlp" if last == "down_proj" else "self_attn"
            at = f"base_model.model.model.layers.{number}.{part}.{last}"
            pairs.append((layer, theirs.get_submodule(at)))
    for layer, other in pairs:
        torch.nn.init.normal_(layer.B["default"], std=0.1)
        other.lora_A["default"].weight.data.copy_(layer.A["default"])
        other.lora_B["default"].weight.data.copy_(layer.B["default"])
    return pairs


def test_logits_and_gradients_are_those_of_peft(pair):
    ours, theirs, pairs = pair
    found, expected = ours(IDS), theirs(IDS).logits
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    for logits in (found, expected):
        torch.nn.functional.cross_entropy(logits[:, :-1].mT, IDS[:, 1:]).backward()
    assert len(pairs) == 6
    for layer, other in pairs:
        for own, weights in ((layer.A, other.lora_A), (layer.B, other.lora_B)):
            gradient = weights["default"].weight.grad
            assert gradient.abs().max() > 0
            torch.testing.assert_close(own["default"].grad, gradient, rtol=1e-4, atol=1e-6)


def test_merged_weights_are_those_of_peft(pair):
    ours, theirs, pairs = pair
    merge_lora(ours)
    theirs.merge_adapter()
    for layer, other in pairs:
        expected = other.base_layer.weight
        torch.testing.assert_close(layer.merged, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(ours(IDS), theirs(IDS).logits, rtol=1e-5, atol=1e-5)
