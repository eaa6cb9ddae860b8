import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import record, stream_writes, write_logits
from mathlm.models import GPT, Bert, BertConfig, GPTConfig

SIZES = {"vocab_size": 11, "context": 8, "d_model": 8, "n_layers": 3, "n_heads": 2}
KINDS = {
    "gpt2": {"norm": "layer", "bias": True, "position": "learned"},
    "layer norm without bias": {"norm": "layer", "bias": False, "position": "alibi"},
    "llama": {"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False},
}
IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


def perturbed(kind):
    """A GPT whose gains and shifts are not those of the start."""
    model = GPT(GPTConfig(**SIZES, **KINDS[kind])).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.3)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_the_writes_add_up_to_the_stream_behind_the_last_block(kind):
    model = perturbed(kind)
    writes = stream_writes(model, IDS)
    assert len(writes) == 2 * 3 + 1
    torch.testing.assert_close(
        sum(writes.values()), record(model, IDS)["blocks.2.resid_post"], rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_shares_of_the_writes_add_up_to_the_logit(kind):
    model = perturbed(kind)
    shares = write_logits(model, stream_writes(model, IDS), token=7)
    torch.testing.assert_close(
        sum(shares.values()), model(IDS)[..., 7].detach(), rtol=1e-10, atol=1e-12
    )


def test_only_a_shift_adds_a_share_of_its_own():
    extra = {
        kind: set(write_logits(m := perturbed(kind), w := stream_writes(m, IDS), 0)) - set(w)
        for kind in KINDS
    }
    assert extra == {
        "gpt2": {"final_norm.beta"}, "layer norm without bias": set(), "llama": set(),
    }  # fmt: skip


def test_a_write_of_nothing_has_no_share():
    model = perturbed("llama")
    model.blocks[1].attention.W_o.weight.data.zero_()
    shares = write_logits(model, stream_writes(model, IDS), token=2)
    assert shares["blocks.1.attention_out"].abs().max() == 0
    assert shares["blocks.0.attention_out"].abs().min() > 0


def test_a_post_norm_model_has_no_sum():
    bert = Bert(BertConfig(**SIZES)).eval()
    with pytest.raises(InputTypeError, match="Bert is not a GPT"):
        stream_writes(bert, IDS)


def test_unknown_tokens_and_no_writes_are_refused():
    model = perturbed("llama")
    with pytest.raises(InputError, match=r"tokens \[11\]: .* 0 to 10"):
        write_logits(model, stream_writes(model, IDS), 11)
    with pytest.raises(InputError, match="0 writes"):
        write_logits(model, {}, 1)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "token", [1.0, torch.tensor([1, 2]), None], ids=["half", "two", "none"]
)
def test_a_token_that_is_not_one_is_refused(token):
    model = perturbed("llama")
    with pytest.raises(InputTypeError, match="must be the id of one token"):
        write_logits(model, stream_writes(model, IDS), token)
