import pytest
import torch

from lab.architectures.silent_mistakes import MISTAKES, harms, with_mistake
from mathlm.errors import ConfigError
from mathlm.functional import half_split_order
from mathlm.models import GPT, GPTConfig
from mathlm.text import ByteBPE, pretrained

SIZES = {"vocab_size": 13, "context": 8, "d_model": 36, "n_layers": 2, "n_heads": 6}
LLAMA = {"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False}
TEXT = torch.tensor([[3, 1, 4, 1, 5, 9, 2]])


@pytest.fixture
def model():
    config = GPTConfig(**SIZES, **LLAMA, n_kv_heads=3, rope_base=1e5, tie_embeddings=True)
    model = GPT(config).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model


@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_fits_and_changes_what_the_model_says(model, name):
    wrong = with_mistake(model, MISTAKES[name])
    assert [p.shape for p in wrong.parameters()][: len([*model.parameters()])] == [
        p.shape for p in model.parameters()
    ]
    assert not torch.equal(wrong(TEXT), model(TEXT))


def test_a_mistake_leaves_the_right_model_as_it_was(model):
    before = model(TEXT)
    for mistake in MISTAKES.values():
        with_mistake(model, mistake)
    torch.testing.assert_close(model(TEXT), before, rtol=0, atol=0)


def test_no_mistake_costs_nothing_and_the_divergence_is_never_negative(model):
    found = harms(model, TEXT)
    assert min(harm[1] for harm in found.values()) > 0
    same = with_mistake(model, type(MISTAKES["W_o transposed"])())
    torch.testing.assert_close(same(TEXT), model(TEXT), rtol=0, atol=0)


def test_pairs_that_are_not_reordered_come_right_when_reordered(model):
    wrong = with_mistake(model, MISTAKES["rotary pairs not reordered"])
    order = half_split_order(6)
    for block in wrong.blocks:
        for W in (block.attention.W_q.weight, block.attention.W_k.weight):
            W.data.copy_(W.unflatten(0, (-1, 6))[:, order].flatten(0, 1))
    torch.testing.assert_close(wrong(TEXT), model(TEXT), rtol=1e-12, atol=1e-12)


def test_heads_dealt_out_in_turn_read_the_keys_of_their_number_modulo_g(model):
    """Six query heads, three key heads: head 1 reads key head 1, and not 0."""
    wrong = with_mistake(model, MISTAKES["query heads dealt out in turn"])
    right = model.blocks[0].attention.W_q.weight.unflatten(0, (6, 6))
    dealt = wrong.blocks[0].attention.W_q.weight.unflatten(0, (6, 6))
    torch.testing.assert_close(dealt, right[[0, 3, 1, 4, 2, 5]], rtol=0, atol=0)


def test_the_added_loss_is_the_difference_of_two_cross_entropies(model):
    name = "W_o transposed"
    wrong = with_mistake(model, MISTAKES[name])
    losses = [
        torch.nn.functional.cross_entropy(m(TEXT[:, :-1])[0], TEXT[0, 1:])
        for m in (wrong, model)
    ]
    torch.testing.assert_close(harms(model, TEXT, [name])[name][0], losses[0] - losses[1])


def test_a_text_of_one_token_is_refused(model):
    with pytest.raises(ConfigError, match="a text of 1 tokens"):
        harms(model, TEXT[:, :1])


LINES = (
    "The capital of France is Paris. It lies on the river Seine.",
    "Water boils at one hundred degrees. At the top of a mountain it boils sooner, because the "
    "air is thinner there.",
    "def add(a, b):\n    return a + b\n\nprint(add(2, 3))\n",
    "Once upon a time there was a small village at the edge of a forest, and in it lived a "
    "miller with his three sons.",
)


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_there_are_quiet_and_loud_mistakes_in_a_real_model(line):
    torch.set_default_dtype(torch.float32)
    path = pretrained.find("smollm2")
    ids = torch.tensor([ByteBPE.from_gguf(path).encode(line)])
    names = [*MISTAKES][:6]
    smallest, small, base, pairs, gain, turned = (
        float(harm[1]) for harm in harms(GPT.from_pretrained(path), ids, names).values()
    )
    assert smallest < 1e-4 < small < 0.7 * base < 0.1
    assert 0.3 < pairs < 2 < gain
    assert turned > 4
