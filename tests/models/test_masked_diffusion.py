"""The body sees both ways, never writes a mask, and is a Llama without the causal mask."""

import pytest
import torch

from mathlm.models import GPT, GPTConfig, MaskedDiffusion

CONFIG = GPTConfig(vocab_size=12, context=8, d_model=16, n_layers=2, n_heads=2, position="rope")
IDS = torch.randint(12, (2, 6), generator=torch.Generator().manual_seed(1))


def make():
    torch.manual_seed(0)
    return MaskedDiffusion(CONFIG).eval()


def test_every_output_depends_on_every_token():
    model = make()
    before = model(IDS)[..., :-1]
    for s in range(6):
        changed = IDS.clone()
        changed[:, s] = (changed[:, s] + 1) % 12
        assert ((model(changed)[..., :-1] - before).abs().amax(-1) > 0).all()


def test_the_mask_is_never_predicted():
    model = make()
    assert model.mask_id == 11
    assert (model(IDS).softmax(-1)[..., -1] == 0).all()


def test_padding_to_the_right_changes_nothing():
    model, real = make(), torch.ones(2, 6, dtype=torch.bool)
    real[:, 4:] = False
    torch.testing.assert_close(model(IDS, mask=real)[:, :4], model(IDS[:, :4]))


def test_it_has_the_parameters_of_a_gpt():
    names = {name.removeprefix("gpt.") for name, _ in make().named_parameters()}
    assert names == {name for name, _ in GPT(CONFIG).named_parameters()}


@pytest.mark.slow
def test_a_llama_of_transformers_that_sees_both_ways_gives_the_same_logits(tmp_path):
    """The body of the class is a Llama that reads both ways."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=12, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=8,
        attn_implementation="eager", initializer_range=0.3,
    )  # fmt: skip
    theirs = transformers.LlamaForCausalLM(config).double().eval()
    theirs.save_pretrained(tmp_path)
    body = GPT.from_pretrained(tmp_path, dtype=torch.float64)
    ours = MaskedDiffusion(body.config)
    ours.gpt = body
    every = torch.zeros(2, 1, 6, 6, dtype=torch.float64)  # added to the scores: hides nothing
    with torch.no_grad():
        expected = theirs(IDS, attention_mask=every).logits
        found, causal = ours(IDS), theirs(IDS).logits
    # transformers rotates by angles in float32 also where the weights are float64
    torch.testing.assert_close(found[..., :-1], expected[..., :-1], rtol=1e-4, atol=1e-5)
    assert (expected - causal).abs().max() > 1e-2
