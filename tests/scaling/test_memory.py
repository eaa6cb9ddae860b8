"""Memory, against what torch allocates."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from mathlm.errors import InputError, InputTypeError
from mathlm.models import GPT, BertConfig, GPTConfig, Transformer, TransformerConfig
from mathlm.optim import SGD, Adam, AdamW, RMSProp
from mathlm.scaling import PUBLISHED, count_parameters, inference_memory, training_memory
from mathlm.scaling.measured import profiled_peak

SIZES = {"vocab_size": 500, "context": 256, "d_model": 96, "n_layers": 2, "n_heads": 4}
LLAMA = {
    "n_kv_heads": 2, "norm": "rms", "activation": "swiglu", "position": "rope", "bias": False,
}  # fmt: skip
OPTIMIZERS = {
    "sgd": lambda p: SGD(p, lr=0.1),
    "momentum": lambda p: SGD(p, lr=0.1, momentum=0.9),
    "rmsprop": RMSProp,
    "adam": Adam,
    "adamw": AdamW,
}
B, T = 2, 100
IDS = torch.arange(B * (T + 1)).view(B, T + 1) * 7 % 500


def nbytes(tensors):
    return sum(t.nbytes for t in tensors if t is not None and t.ndim)


def backward(model, *inputs):
    """The logits are dropped before the gradient is computed, as in a trainer."""
    cross_entropy(model(*inputs).flatten(0, 1), IDS[:, 1:].flatten()).backward()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_weights_gradients_and_states_have_the_counted_bytes(name):
    """To the byte, but for counters of steps."""
    config = GPTConfig(**SIZES)
    model = GPT(config).float()
    optimizer = OPTIMIZERS[name](model.parameters())
    backward(model, IDS[:, :-1])
    optimizer.step()
    states = [t for state in optimizer.state.values() for t in state.values()]
    counted = training_memory(config, T, optimizer=name)
    assert counted["weights"] == nbytes(model.parameters())
    assert counted["gradients"] == nbytes(p.grad for p in model.parameters())
    assert counted["optimizer"] == nbytes(t for t in states if isinstance(t, torch.Tensor))


@pytest.mark.parametrize("changes", [{}, LLAMA], ids=str)
def test_the_peak_of_a_second_micro_batch_is_the_sum_of_all_parts(changes):
    config = GPTConfig(**SIZES | changes)
    model = GPT(config).float()
    optimizer = AdamW(model.parameters())
    backward(model, IDS[:, :-1])
    optimizer.step()  # gradients are kept
    parts = training_memory(config, T, B)
    found = profiled_peak(lambda: backward(model, IDS[:, :-1]))
    assert parts["activations"] + parts["loss"] == pytest.approx(found, rel=0.03)


def test_the_peak_of_an_encoder_decoder_is_the_sum_of_all_parts():
    config = TransformerConfig(**SIZES)
    model = Transformer(config).float()
    backward(model, IDS, IDS[:, :-1])
    parts = training_memory(config, (T + 1, T), B)
    found = profiled_peak(lambda: backward(model, IDS, IDS[:, :-1]))
    assert parts["activations"] + parts["loss"] == pytest.approx(found, rel=0.03)


@pytest.mark.parametrize(
    ("changes", "rel"), [({"vocab_size": 2000}, 0.001), ({}, 0.02), (LLAMA, 0.02)], ids=str
)
@torch.no_grad()
def test_reading_takes_the_counted_memory(changes, rel):
    config = GPTConfig(**SIZES | changes)
    model = GPT(config).float()
    parts = inference_memory(config, T, B, bytes_per_number=4)
    cache = model.new_cache(B, T)
    assert parts["weights"] == nbytes(model.parameters())
    assert parts["cache"] == sum(nbytes((layer.k, layer.v)) for layer in cache.layers)
    found = profiled_peak(lambda: model(IDS[:, :-1], cache=cache))
    assert parts["activations"] == pytest.approx(found, rel=rel)


FORMS = {
    16: {},
    18: {"bytes_per_number": 2, "master_bytes": 4, "gradient_bytes": 4},
    12: {"optimizer": "momentum"},
    8: {"optimizer": "sgd"},
    4: {"optimizer": "sgd", "bytes_per_number": 2},
    3: {"optimizer": "rmsprop", "bytes_per_number": 1, "state_bytes": 1},
}


@pytest.mark.parametrize(("each", "options"), FORMS.items(), ids=str)
def test_bytes_of_a_parameter_by_hand(each, options):
    """Weights, gradients, states: 4 + 4 + 8; 2 + 4 + 4 + 8; 4 + 4 + 4; 4 + 4; 2 + 2; 1+1+1."""
    parts = training_memory(GPTConfig(), 8, **options)
    n = sum(parts[name] for name in ("weights", "gradients", "optimizer"))
    assert n == each * 124_439_808


def test_mixed_precision_takes_as_much_as_single_but_for_activations():
    """Rajbhandari et al. (2020), section 3.1: 2 + 2 bytes, and 12 of Adam with the copy."""
    mixed = training_memory(GPTConfig(), 8, bytes_per_number=2, master_bytes=4)
    single = training_memory(GPTConfig(), 8)
    names = ("weights", "gradients", "optimizer")
    assert sum(mixed[n] for n in names) == sum(single[n] for n in names)
    assert 2 * mixed["activations"] == single["activations"]


def test_seventy_billion_parameters_take_138_gigabytes_at_two_bytes():
    config = PUBLISHED["llama2-70b"]
    assert inference_memory(config, 1)["weights"] == 2 * 68_976_648_192


@pytest.mark.parametrize("count", [training_memory, inference_memory])
def test_what_is_not_said_is_one_sequence(count):
    one, three = count(GPTConfig(), 8), count(GPTConfig(), 8, 3)
    assert one == count(GPTConfig(), 8, 1)
    grown = {name for name, size in one.items() if three[name] == 3 * size > 0}
    assert grown == {*one} - {"weights", "gradients", "optimizer"}


def test_a_bert_has_no_logits():
    parts = training_memory(BertConfig(), 8)
    assert parts["loss"] == 0
    assert parts["weights"] == 4 * count_parameters(BertConfig())


BAD = {
    "optimizer": ({"optimizer": "lion"}, "optimizer='lion' is not one of 'sgd', 'momentum'"),
    "tokens": ({"tokens": 0}, "tokens=0 must be an integer of at least 1"),
    "batch": ({"batch": 0}, "batch=0 must be"),
    "bytes": ({"bytes_per_number": 0.5}, "bytes_per_number=0.5 must be an integer"),
    "gradient": ({"gradient_bytes": 0}, "gradient_bytes=0 must be"),
    "state": ({"state_bytes": 0}, "state_bytes=0 must be"),
    "master": ({"master_bytes": -1}, "master_bytes=-1 must be an integer of at least 0"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=BAD.keys())
def test_numbers_out_of_range_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        training_memory(GPTConfig(), **{"tokens": 4} | changes)


@pytest.mark.usefixtures("unchecked")
def test_what_has_no_cache_is_refused():
    with pytest.raises(InputTypeError, match="config is a BertConfig, expected a GPTConfig"):
        inference_memory(BertConfig(), 4)
    for name in ("tokens", "batch", "bytes_per_number"):
        with pytest.raises(InputError, match=f"{name}=0 must be an integer of at least 1"):
            inference_memory(GPTConfig(), **{"tokens": 4} | {name: 0})
