"""Products in 16 bits, emulated, against those that torch computes in 16 bits."""

import pytest
import torch
from torch import nn

from lab.low_precision import sixteen_bits_study, sixteen_bits_training
from lab.low_precision.sixteen_bits import RoundedProducts, gradient_sizes, windows
from lab.low_precision.sixteen_bits_training import ARMS, Arm, train, update
from mathlm.errors import ConfigError
from mathlm.functional import round_to


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_product_is_that_of_torch_in_16_bits_up_to_the_order_of_its_sum(dtype):
    x, W = torch.randn(40, 32).float(), torch.randn(24, 32).float()
    with RoundedProducts(dtype):
        emulated = x @ W.T
    real = (x.to(dtype) @ W.T.to(dtype)).float()
    assert (emulated == real).float().mean() > 0.99
    torch.testing.assert_close(emulated, real, rtol=torch.finfo(dtype).eps, atol=1e-4)
    assert not torch.equal(emulated, x @ W.T)


def test_the_gradient_is_that_of_autocast():
    """Both round x, W and dy to bfloat16; the results differ by single roundings."""
    layer, x, dy = nn.Linear(16, 8, bias=False).float(), torch.randn(12, 16), torch.randn(12, 8)
    x, dy = x.float(), dy.float()
    with RoundedProducts(torch.bfloat16):
        layer(x).backward(dy)
    found, layer.weight.grad = layer.weight.grad.clone(), None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer(x).backward(dy.bfloat16())
    torch.testing.assert_close(found, layer.weight.grad, rtol=2**-7, atol=1e-3)
    assert torch.equal(found, round_to(found, torch.bfloat16))


def test_attention_is_rounded_and_its_random_state_is_not():
    q, k, v = (torch.randn(1, 2, 4, 8).float() for _ in range(3))
    with RoundedProducts(torch.float16):
        y = nn.functional.scaled_dot_product_attention(q, k, v)
    assert torch.equal(y, round_to(y, torch.float16))


def test_without_a_format_nothing_is_rounded():
    x = torch.randn(4, 4)
    with RoundedProducts(None):
        assert torch.equal(x @ x, torch.matmul(x, x))


def test_every_size_is_found_once_and_the_gradient_is_dropped():
    """One layer: 2 activations of dy and 2 · 3 weights; softmax of logits 0 minus one-hot."""
    model = nn.Sequential(nn.Embedding(3, 3), nn.Linear(3, 3, bias=False))
    nn.init.eye_(model[0].weight)
    nn.init.zeros_(model[1].weight)
    sizes = gradient_sizes(model, {"ids": torch.tensor([[1]]), "targets": torch.tensor([[2]])})
    third = torch.tensor([1 / 3, 1 / 3, 2 / 3])
    torch.testing.assert_close(sizes["activations"], third)
    torch.testing.assert_close(sizes["parameters"].sort().values, third)
    assert model[1].weight.grad is None


@pytest.fixture
def little_text(monkeypatch):
    monkeypatch.setattr(sixteen_bits_training, "windows", lambda seed: windows(seed, 3000))


@pytest.mark.slow
def test_scaling_saves_the_gradients_that_float16_loses(little_text):
    names = ("float16 products", "float32", "float16, scaled")
    half, full, scaled = (train(name, steps=16) for name in names)
    behind = [run["losses"][-1] - full["losses"][-1] for run in (half, scaled)]
    assert behind[0] > 0.1
    assert abs(behind[1]) < behind[0] / 2
    assert 0 < scaled["skipped"] < 6
    assert scaled["scales"][-1] < ARMS["float16, scaled"].scale.initial


def test_a_weight_of_16_bits_is_put_back_by_rounding():
    """2^-9 is half the spacing below 2: 1 + 2^-9 becomes 1, 1 + 2^-7 stays."""
    model = nn.Linear(2, 1, bias=False)
    nn.init.ones_(model.weight)
    model.weight.grad = torch.tensor([[-(2.0**-9), -(2.0**-7)]])
    stuck = update(model, torch.optim.SGD(model.parameters(), 1.0), Arm(weights=torch.bfloat16))
    assert stuck == 0.5
    assert model.weight.tolist() == [[1.0, 1 + 2**-7]]


def test_an_unknown_arm_is_refused():
    with pytest.raises(ConfigError, match="arm 'float8' is not one of float32, bfloat16"):
        train("float8", steps=1)


def test_the_record_holds_every_arm(tmp_path, little_text):
    path = tmp_path / "record.json"
    found = sixteen_bits_study.main(["--steps", "2", "--seeds", "1", "--record", str(path)])
    assert found["arms"].keys() == ARMS.keys()
    assert '"arms"' in path.read_text()
