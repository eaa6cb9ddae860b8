import pytest
import torch
from generate.reading_families import EVERY, TIGHT, logits, make, tokens
from torch import nn

from mathlm.errors import InputError
from mathlm.generate import IncrementalReader, quantize
from mathlm.generate.cuda_graph import FixedStep
from mathlm.generate.fused_step import STEPS, DecodeStep, prepared_step, side_by_side
from mathlm.models import GPT, GPTConfig, Recurrent

KINDS = {
    "gpt2": {
        "norm": "layer",
        "activation": "gelu",
        "position": "learned",
        "bias": True,
        "vocab_size": 515,
    },
    "llama": {
        "norm": "rms",
        "activation": "swiglu",
        "position": "rope",
        "bias": False,
        "vocab_size": 512,
    },
}


@EVERY
@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_step_is_the_forward_pass_for_new_tokens(family, n):
    model, ids = make(family), tokens(3, 20 + n)
    cache, step = model.new_cache(3), DecodeStep(model)
    with torch.no_grad():
        model(ids[:, :20], cache=cache)
        found = step(ids[:, 20:], cache, last=False)
    torch.testing.assert_close(found, logits(model, ids)[:, 20:], **TIGHT)
    assert cache.length == 20 + n


@EVERY
def test_in_single_precision_the_step_is_right_to_one_in_a_hundred_thousand(family):
    model, ids = make(family).float(), tokens(2, 24)
    reader = IncrementalReader(model, 2, 24)
    reader.read(ids[:, :8])
    found = torch.stack([reader.read(ids[:, t : t + 1]) for t in range(8, 24)], 1)
    expected = logits(model.double(), ids)[:, 8:]
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("n", [1, 3, 9, 17])
def test_large_matrices_are_read_in_slices_with_the_same_result(kind, n):
    sizes = {"context": 32, "d_model": 256, "n_layers": 2, "n_heads": 4}
    model = GPT(GPTConfig(**sizes, **KINDS[kind])).float().eval()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.1)  # gains and biases count, too
    cache, step, ids = model.new_cache(1), DecodeStep(model), torch.randint(512, (1, 8 + n))
    with torch.no_grad():
        model(ids[:, :8], cache=cache)
        found = step(ids[:, 8:], cache, last=False)
        expected = model.double()(ids)[:, 8:]
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)
    assert found.is_contiguous()


@EVERY
def test_the_reader_uses_the_step_for_every_family(family, monkeypatch):
    model = make(family)
    reader = IncrementalReader(model, 1, 10)
    reader.read(tokens(1, 4))
    monkeypatch.setattr(GPT, "hidden", None)
    assert reader.read(tokens(1, 1)).shape == (1, 30)


@pytest.mark.parametrize("family", ["gpt2", "llama", "alibi"])
def test_what_a_row_reads_does_not_depend_on_the_other_rows(family):
    model, ids = make(family), tokens(5, 12)
    together, alone = IncrementalReader(model, 5, 12), IncrementalReader(model, 1, 12)
    for part in ids.split([8, 1, 1, 2], 1):
        found, single = together.read(part), alone.read(part[3:4])
    torch.testing.assert_close(found[3:4], single, **TIGHT)


@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen", "mistral", "sinusoidal"])
def test_with_fixed_shapes_the_logits_are_the_same(family):
    """On the CPU the operations run one by one; only CUDA records them."""
    model, ids = make(family), tokens(2, 20)
    reader, whole = IncrementalReader(model, 2, 32, fixed=True), logits(model, ids)
    reader.read(ids[:, :6])
    for t in range(6, 20):
        torch.testing.assert_close(reader.read(ids[:, t : t + 1]), whole[:, t], **TIGHT)
    assert isinstance(reader.fixed, FixedStep)


def test_with_fixed_shapes_a_reader_goes_back_and_changes_its_rows():
    model, ids = make("llama"), tokens(2, 20)
    reader = IncrementalReader(model, 2, 20, fixed=True)
    reader.read(ids[:, :15])
    reader.read(ids[:, 15:16])
    reader.rewind(10)
    reader.select(torch.tensor([1, 0]))
    ids = ids.flip(0)
    found = [reader.read(ids[:, t : t + 1]) for t in range(10, 20)]
    torch.testing.assert_close(torch.stack(found, 1), logits(model, ids)[:, 10:], **TIGHT)


def test_fixed_shapes_are_refused_where_they_are_impossible():
    model = make("alibi")
    with pytest.raises(InputError, match="fixed shapes need a cache without padding"):
        FixedStep(DecodeStep(model), model.new_cache(1))


def test_a_full_cache_is_refused_by_the_step_of_fixed_shapes():
    model = make()
    step = FixedStep(DecodeStep(model), model.new_cache(1, 2))
    step(tokens(1, 1)), step(tokens(1, 1))
    with pytest.raises(InputError, match="the cache holds 2 of 2 positions, 1 more do not fit"):
        step(tokens(1, 1))


@pytest.mark.parametrize("change", ["add", "data", "replace", "swap", "rows", "sign", "set"])
def test_a_model_that_has_changed_is_laid_out_anew(change):
    model, ids = make(), tokens(1, 6)
    assert prepared_step(model) is prepared_step(model)
    weight = model.blocks[1].feed_forward.W_in.weight
    with torch.no_grad():
        if change == "add":
            weight += 0.1
        elif change == "data":
            weight.data[0, 0] += 1e-9
        elif change == "replace":
            model.blocks[1].feed_forward.W_in.weight = nn.Parameter(weight + 0.1)
        elif change == "rows":
            weight.data[[0, 1]] = weight.data[[1, 0]]
        elif change == "sign":
            weight.data[0] *= -1.0
        elif change == "set":
            model.blocks[1].feed_forward.activation = "relu"
        else:
            weight.data = weight.data.flip(0)
    reader = IncrementalReader(model, 1, 6)
    reader.read(ids[:, :5])
    torch.testing.assert_close(reader.read(ids[:, 5:]), logits(model, ids)[:, 5], **TIGHT)


@pytest.mark.parametrize("change", ["columns", "two signs", "signs of columns"])
def test_numbers_of_32_bits_that_move_or_change_signs_are_noticed(change):
    """Their rows have the same sums: of the same words, or with two highest bits more."""
    model = make().float()
    before = prepared_step(model)
    weight = model.blocks[1].feed_forward.W_in.weight.data
    if change == "columns":
        weight[:, :4] = weight[:, [2, 3, 0, 1]]
    elif change == "two signs":
        weight[0, [1, 3]] *= -1.0
    else:
        weight[:, 1] *= -1.0
    assert prepared_step(model) is not before


def test_the_laid_out_copies_go_when_the_model_goes():
    before = len(STEPS)
    model = make()
    prepared_step(model)
    during = len(STEPS)
    del model  # before any assertion: an explained one takes a copy of all locals
    assert (during, len(STEPS)) == (before + 1, before)


def test_models_with_unknown_parts_are_read_by_their_own_forward_pass():
    hooked, changed, patched, ids = make(), make(), make(), tokens(1, 4)
    patched.head.forward = lambda x: x.new_ones(*x.shape[:-1], 30)
    hooked.blocks[0].register_forward_hook(lambda *_: None)
    changed.blocks[0].feed_forward = nn.Sequential(nn.Identity())
    changed.blocks[0].feed_forward.forward = lambda x, taps=None: 2 * x
    for model in (hooked, changed, patched):
        assert prepared_step(model) is None
        reader = IncrementalReader(model, 1, 4)
        reader.read(ids[:, :3])
        torch.testing.assert_close(reader.read(ids[:, 3:]), logits(model, ids)[:, 3], **TIGHT)
    assert prepared_step(Recurrent(vocab_size=5, d_model=4)) is None


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_quantized_models_take_the_step_too(family, bits):
    model = quantize(make(family), bits, group=None if bits == 8 else 16)
    ids, reader = tokens(2, 9), IncrementalReader(model, 2, 9)
    assert reader.step is not None
    for part in ids.split([6, 1, 2], 1):
        found = reader.read(part)
    torch.testing.assert_close(found, logits(model, ids)[:, -1], **TIGHT)


def test_maps_of_other_kinds_are_applied_one_by_one():
    class Doubled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    a, b, x = Doubled(3, 2), nn.Linear(3, 4), torch.randn(5, 3)
    expected = torch.cat((2 * (x @ a.weight.T + a.bias), x @ b.weight.T + b.bias), 1)
    torch.testing.assert_close(side_by_side(a, b)(x), expected, **TIGHT)


def test_a_token_outside_the_vocabulary_is_refused_and_nothing_changes():
    reader = IncrementalReader(make(), 1, 9)
    reader.read(tokens(1, 3))
    for bad in (30, -1):
        with pytest.raises(InputError, match=rf"token id {bad} at \[0, 0\] is outside 0..29"):
            reader.read(torch.tensor([[bad]]))
    assert (reader.length, reader.cache.length) == (3, 3)


def test_half_precision_is_decoded_as_it_is_read():
    model, ids = make("llama").bfloat16(), tokens(2, 9)
    reader = IncrementalReader(model, 2, 9)
    reader.read(ids[:, :8])
    whole = logits(model, ids)[:, 8]
    torch.testing.assert_close(reader.read(ids[:, 8:]), whole, rtol=0.05, atol=0.05)


def test_a_cache_with_positions_of_its_own_is_refused():
    model = make()
    cache = model.new_cache(batch=1)
    with torch.no_grad():
        model(tokens(1, 2), positions=torch.tensor([[1, 2]]), cache=cache)
    with pytest.raises(InputError, match="the cache has positions of its own"):
        DecodeStep(model)(tokens(1, 1), cache)
