import copy

import pytest
import torch
from torch import nn

from mathlm.adapt import (
    adapter_names,
    add_lora,
    additions,
    base_fingerprint,
    count_trainable,
    merge_lora,
    remove_adapter,
    trainable,
    unmerge_lora,
    use_adapter,
)
from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.generate import quantize
from mathlm.layers import LoRALinear
from mathlm.models import (
    GPT,
    Bert,
    BertConfig,
    GPTConfig,
    Recurrent,
    Transformer,
    TransformerConfig,
)

IDS = torch.randint(20, (2, 9), generator=torch.Generator().manual_seed(0))


def gpt(**changes):
    sizes = {"vocab_size": 20, "context": 16, "d_model": 16, "n_layers": 2, "n_heads": 2}
    return GPT(GPTConfig(**sizes | changes))


def trained(model, seed=1):
    """As if the update in use had been trained."""
    generator = torch.Generator().manual_seed(seed)
    for p in trainable(model).values():
        p.data += 0.3 * torch.randn(p.shape, dtype=p.dtype, generator=generator)
    return model


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_model_is_what_it_was_bit_for_bit(dtype):
    model = gpt(norm="rms", position="rope", activation="swiglu").to(dtype)
    before = model(IDS)
    assert add_lora(model, 4, 8, "all-linear", dropout=0.5) is model
    assert model.training
    assert torch.equal(model(IDS), before)


@pytest.mark.parametrize("kind", ["bert", "transformer", "recurrent"])
def test_other_models_take_updates_too(kind):
    D = {"vocab_size": 20, "context": 16, "d_model": 16, "n_heads": 2, "n_layers": 1}
    model, inputs, targets = {
        "bert": lambda: (Bert(BertConfig(**D)), (IDS,), "all-linear"),
        "transformer": lambda: (
            Transformer(TransformerConfig(**D)),
            (IDS, IDS),
            ("W_q", "W_v"),
        ),
        "recurrent": lambda: (Recurrent(kind="lstm", vocab_size=20, d_model=8), (IDS,), "head"),
    }[kind]()
    before = model.eval().requires_grad_(False)(*inputs)  # some kernels ask for gradients
    add_lora(model, 2, targets=targets, seed=0)
    assert torch.equal(model(*inputs), before)
    assert not torch.allclose(trained(model)(*inputs), before)


def test_gradients_reach_the_updates_alone():
    model = trained(add_lora(gpt(), 2, targets=("W_q", "W_out")))
    model(IDS).square().sum().backward()
    with_gradient = {n for n, p in model.named_parameters() if p.grad is not None}
    assert with_gradient == set(trainable(model))
    assert all(".A.default" in n or ".B.default" in n for n in with_gradient)
    assert len(with_gradient) == 2 * 2 * 2


def test_count_of_what_is_trained():
    """Per block W_q 16 → 16, W_out 64 → 16: r (16 + 16) + r (64 + 16) = 112 r; two blocks."""
    model = gpt()
    _, before = count_trainable(model)
    add_lora(model, 3, targets=("W_q", "W_out"))
    assert count_trainable(model) == (2 * 112 * 3, before + 2 * 112 * 3)


def test_training_steps_learn_and_leave_the_base_alone():
    model = add_lora(gpt(), 4, targets="all-linear", seed=0)
    frozen = {n: p.clone() for n, p in model.named_parameters() if not p.requires_grad}
    optimizer = torch.optim.AdamW(trainable(model).values(), lr=0.02)
    losses = []
    for _ in range(30):
        loss = nn.functional.cross_entropy(model(IDS[:, :-1]).mT, IDS[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.2
    now = dict(model.named_parameters())
    assert all(torch.equal(now[n], p) for n, p in frozen.items())


def test_the_same_seed_gives_the_same_update():
    one, two = (trainable(add_lora(gpt(), 2, seed=3)) for _ in range(2))
    other = trainable(add_lora(gpt(), 2, seed=4))
    assert all(torch.equal(one[n], two[n]) for n in one)
    assert not any(torch.equal(one[n], other[n]) for n in one if ".A." in n)


def test_the_default_strength_makes_the_factor_one():
    layers = [m for m in add_lora(gpt(), 4).modules() if isinstance(m, LoRALinear)]
    assert {layer.settings["default"].scale for layer in layers} == {1.0}


def test_several_updates_stand_beside_each_other():
    model = trained(add_lora(gpt(), 2, name="one")).eval()
    first = model(IDS)
    trained(add_lora(model, 3, targets=("W_o",), name="two"), seed=2)
    second = model(IDS)
    assert adapter_names(model) == ["one", "two"]
    assert torch.equal(use_adapter(model, "one")(IDS), first)
    assert torch.equal(use_adapter(model, "two")(IDS), second)
    assert not torch.allclose(first, second)


def test_the_update_in_use_is_the_one_that_trains():
    model = add_lora(add_lora(gpt(), 2, name="one"), 3, name="two")
    assert all(n.endswith(".two") for n in trainable(model))
    assert all(n.endswith(".one") for n in trainable(use_adapter(model, "one")))
    assert trainable(use_adapter(model, None)) == {}


def test_with_none_in_use_the_model_is_the_one_before():
    model = gpt().eval()
    before = model(IDS)
    trained(add_lora(model, 2))
    assert not torch.allclose(model(IDS), before)
    assert torch.equal(use_adapter(model, None)(IDS), before)


def test_a_removed_update_leaves_plain_maps_of_the_same_bits():
    model = gpt()
    before, maps = model(IDS), [type(m) for m in model.modules()]
    add_lora(trained(add_lora(model, 2, name="one")), 2, name="two")
    assert adapter_names(remove_adapter(model, "two")) == ["one"]
    remove_adapter(model, "one")
    assert [type(m) for m in model.modules()] == maps
    assert torch.equal(model(IDS), before)


def test_with_the_update_in_use_removed_none_is_in_use():
    model = gpt().eval()
    before = model(IDS)
    trained(add_lora(trained(add_lora(model, 2, name="one")), 2, name="two"))
    assert torch.equal(remove_adapter(model, "two")(IDS), before)
    assert not torch.equal(use_adapter(model, "one")(IDS), before)


def test_copies_and_states_carry_the_update():
    model = trained(add_lora(gpt(), 2)).eval()
    twin = copy.deepcopy(model)
    fresh = add_lora(gpt(), 2).eval()
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(twin(IDS), model(IDS))
    assert torch.equal(fresh(IDS), model(IDS))


def test_moving_a_model_moves_its_update():
    model = trained(add_lora(gpt(), 2)).to(torch.bfloat16)
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}
    assert model(IDS).dtype == torch.bfloat16


@pytest.mark.parametrize("bits", [8, 4])
def test_a_quantized_model_learns_beside_its_codes(bits):
    model = quantize(gpt(d_model=32).float(), bits)
    before = model(IDS)
    numbers = count_trainable(model)[1]
    add_lora(model, 2, seed=0)
    with torch.no_grad():  # with gradients the codes are written out
        assert torch.equal(model(IDS), before)
    assert count_trainable(model) == (2 * 2 * 2 * 64, numbers + 2 * 2 * 2 * 64)
    model(IDS).sum().backward()
    assert all(p.grad is not None for p in trainable(model).values())


def test_numbers_of_a_quantized_model_are_those_of_the_model():
    model = gpt(d_model=32).float()
    assert count_trainable(quantize(model, 8)) == (0, count_trainable(model)[1])


def test_a_tied_head_is_refused_unless_it_gets_a_copy():
    model = gpt()
    with pytest.raises(InputError, match="head and token_embedding are one matrix"):
        add_lora(model, 2, targets="head")
    assert adapter_names(model) == []
    assert all(p.requires_grad for p in model.parameters())


@pytest.mark.parametrize("quantized", [False, True])
def test_an_untied_head_is_updated_and_the_embedding_is_not(quantized):
    model = quantize(gpt(d_model=32).float(), 8) if quantized else gpt()
    before, vectors = model(IDS), model.token_embedding(IDS)
    add_lora(model, 2, targets="head", untie=True)
    assert torch.equal(model(IDS), before)
    assert not model.config.tie_embeddings
    assert not torch.allclose(trained(model)(IDS), before)
    assert torch.equal(model.token_embedding(IDS), vectors)


def test_untying_says_so_in_every_kind_of_model():
    sizes = {"vocab_size": 20, "context": 16, "d_model": 16, "n_heads": 2, "n_layers": 1}
    for tie, left in (("all", "inputs"), ("target", "none")):
        model = Transformer(TransformerConfig(**sizes, tie_embeddings=tie))
        add_lora(model, 2, targets="head", untie=True)
        assert model.config.tie_embeddings == left
        assert model.head.base.weight is not model.target_embedding.weight


def test_a_map_that_is_used_twice_gets_one_update():
    layer = nn.Linear(4, 4)
    model = nn.Sequential(layer, nn.ReLU(), layer)
    add_lora(model, 2, targets=("0", "2"))
    assert model[0] is model[2]
    with pytest.raises(InputError, match="0 and 2 are one matrix"):
        add_lora(nn.Sequential(layer, nn.ReLU(), layer), 2, targets="0")


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"rank": 0}, ConfigError, "rank=0 must be a whole number"),
        ({"rank": 2.0}, InputTypeError, "rank=2.0 must be a whole number"),
        ({"rank": 17}, InputError, "rank=17 is more than .* = 16 of blocks.0.attention.W_q"),
        ({"alpha": -1}, ConfigError, "alpha=-1 must be a number, positive"),
        ({"dropout": 1.0}, ConfigError, "dropout=1.0 must be a number in"),
        ({"targets": "Wq"}, InputError, "target 'Wq' names no linear map; near it: W_q"),
        ({"name": "default"}, InputError, "has an adapter 'default' already"),
        ({"name": "a.b"}, InputError, "name='a.b' cannot name an adapter"),
        ({"name": "keys"}, InputError, "name='keys' cannot name an adapter"),
        ({"name": "prefix"}, InputError, "what save_adapter calls another kind of addition"),
        ({"targets": None}, InputTypeError, "targets=None is a NoneType: give names"),
        ({"targets": {"W_q"}}, InputTypeError, "is a set: give names"),
        ({"targets": ["all-linear", "head"]}, InputError, "'all-linear' stands for itself"),
        ({"untie": "no"}, InputTypeError, "untie='no' must be True or False"),
        ({"seed": 2**70}, InputError, "seed=1180591620717411303424 is outside"),
        ({"untie": True}, InputError, "no target shares its matrix"),
        ({"seed": "x"}, InputTypeError, "seed='x' must be a whole number"),
        ({"model": "gpt"}, InputTypeError, "model is a str"),
        ({"model": nn.Linear(2, 2)}, InputTypeError, "the model is one linear map"),
    ],
)
def test_what_cannot_be_added_is_refused_before_anything_changes(
    change, kind, message, unchecked
):
    model = trained(add_lora(gpt(), 2))
    before = {n: p.requires_grad for n, p in model.named_parameters()}
    with pytest.raises(kind, match=message):
        add_lora(**{"model": model, "rank": 2, "name": "two"} | change)
    assert {n: p.requires_grad for n, p in model.named_parameters()} == before


def test_what_is_no_model_is_refused_by_name(unchecked):
    calls = (adapter_names, trainable, count_trainable, merge_lora, unmerge_lora)
    for call in (*calls, additions, base_fingerprint, lambda m: use_adapter(m, None)):
        with pytest.raises(InputTypeError, match="model is a str: give a torch"):
            call("gpt")


def test_an_unknown_update_is_answered_with_those_there_are():
    model = add_lora(gpt(), 2, name="one")
    for act in (use_adapter, remove_adapter):
        with pytest.raises(InputError, match="no adapter 'two'; it has 'one'"):
            act(model, "two")
    with pytest.raises(InputError, match="no adapter 'default'; it has none"):
        use_adapter(gpt(), "default")


def test_blocks_that_are_one_block_get_one_update():
    model = gpt()
    model.blocks[1] = model.blocks[0]
    before = model(IDS)
    assert torch.equal(add_lora(model, 2)(IDS), before)
    assert type(model.blocks[0].attention.W_q.base) is nn.Linear
    assert count_trainable(model)[0] == 2 * 2 * (16 + 16)
