import pytest
import torch

from mathlm import functional as F
from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.functional.rotary_scaling import rotary_frequencies
from mathlm.layers import (
    AlibiPosition,
    LearnedPosition,
    RelativePosition,
    RotaryPosition,
    SinusoidalPosition,
)
from mathlm.models import GPT, GPTConfig

POSITIONS = torch.tensor([[0, 1, 2], [4, 5, 6]])


def test_sinusoids_and_learned_vectors_are_rows_of_a_table():
    fixed, learned = SinusoidalPosition(8, 6), LearnedPosition(8, 6)
    assert torch.equal(fixed(POSITIONS), F.sinusoidal_table(8, 6)[POSITIONS])
    assert torch.equal(learned(POSITIONS), learned.weight[POSITIONS])


def test_a_rotation_is_the_same_for_all_heads():
    cos, sin = RotaryPosition(8, 6, 50.0)(POSITIONS)
    expected = F.rotary_table(8, 6, 50.0)
    assert cos.shape == (2, 1, 3, 3)
    assert torch.equal(cos[:, 0], expected[0][POSITIONS])
    assert torch.equal(sin[:, 0], expected[1][POSITIONS])


def test_a_scaled_rotation_has_the_scaled_frequencies():
    yarn = F.RopeScaling(kind="yarn", factor=4, original_context=64)
    cos, sin = RotaryPosition(8, 16, 1e4, yarn)(torch.arange(8))
    angles = torch.arange(8)[:, None] * F.scaled_frequencies(16, 1e4, yarn)
    torch.testing.assert_close(cos[0], yarn.amplitude * angles.cos(), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(sin[0], yarn.amplitude * angles.sin(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_relative_bias_and_its_gradient_are_those_of_t5(bidirectional):
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    config = T5Config(d_model=16, num_heads=4, is_decoder=not bidirectional)
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    ours = RelativePosition(4, bidirectional=bidirectional)
    ours.load_state_dict(theirs.relative_attention_bias.state_dict())
    positions, dbias = torch.arange(300), torch.randn(4, 300, 300)
    bias, expected = ours(positions, positions), theirs.compute_bias(300, 300)[0]
    bias.backward(dbias), expected.backward(dbias)
    assert torch.equal(bias, expected)
    gradient = theirs.relative_attention_bias.weight.grad
    torch.testing.assert_close(ours.weight.grad, gradient, rtol=1e-12, atol=1e-12)


def test_only_learned_schemes_have_parameters():
    schemes = {
        "none of": [SinusoidalPosition(8, 6), RotaryPosition(8, 6), AlibiPosition(4)],
        "one": [LearnedPosition(8, 6), RelativePosition(4)],
    }
    counts = [[len(list(m.parameters())) for m in group] for group in schemes.values()]
    assert counts == [[0, 0, 0], [1, 1]]
    assert all(m.state_dict() == {} for m in schemes["none of"])


def test_alibi_and_relative_bias_have_one_matrix_a_head_and_row():
    for module in (AlibiPosition(4), RelativePosition(4)):
        assert module(POSITIONS, POSITIONS).shape == (2, 4, 3, 3)


FIXED = [SinusoidalPosition, RotaryPosition]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_rotation_of_16_bits_turns_by_the_angles_of_32(dtype):
    """bfloat16 has 8 bits: its cosines alone would turn by wrong angles, up to 2.75e-3."""
    module = RotaryPosition(4096, 64).float().to(dtype)
    cos, sin = module(torch.arange(4096))
    exact = torch.arange(4096.0)[:, None] * rotary_frequencies(64)
    off = torch.atan2(sin, cos)[0].double() - exact
    off = (off + torch.pi) % (2 * torch.pi) - torch.pi
    assert cos.dtype == torch.float32
    assert off.abs().max() < 1e-6


@pytest.mark.parametrize(
    "make", [*(lambda kind=k: kind(64, 6) for k in FIXED), lambda: AlibiPosition(6)]
)
def test_tables_survive_the_way_to_16_bits_and_back(make):
    there, never = make().float().bfloat16().float(), make().float()
    for name, table in never.named_buffers():
        assert torch.equal(there.get_buffer(name), table)


def test_what_is_added_has_the_dtype_of_the_model():
    added, alibi = SinusoidalPosition(8, 6).bfloat16(), AlibiPosition(4).bfloat16()
    assert added(POSITIONS).dtype == alibi(POSITIONS, POSITIONS).dtype == torch.bfloat16
    assert added.double()(POSITIONS).dtype == torch.float64


@pytest.mark.parametrize("position", ["rope", "sinusoidal", "alibi"])
def test_a_model_that_went_to_16_bits_and_back_computes_as_its_copy(position):
    options = {"vocab_size": 11, "context": 64, "d_model": 16, "n_layers": 2, "n_heads": 2}
    model = GPT(GPTConfig(position=position, **options)).bfloat16()
    same = GPT(GPTConfig(position=position, **options)).float()
    same.load_state_dict(model.float().state_dict())
    ids = torch.randint(11, (1, 64))
    assert torch.equal(model(ids), same(ids))


@pytest.mark.parametrize(
    "module", [LearnedPosition(8, 6), SinusoidalPosition(8, 6), RotaryPosition(8, 6)]
)
@pytest.mark.parametrize("place", [-1, 8])
def test_positions_outside_the_context_are_refused(module, place):
    with pytest.raises(InputError, match=rf"position {place} at \[1\] is outside 0\.\.7"):
        module(torch.tensor([0, place]))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("module", [SinusoidalPosition(8, 6), RotaryPosition(8, 6)])
def test_fractional_positions_are_refused(module):
    with pytest.raises(InputTypeError, match="positions must be int64, got float64"):
        module(torch.tensor([0.5]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: RotaryPosition(8, 5), InputError, "width 5 must be even"),
        (lambda: SinusoidalPosition(8, 5), InputError, "width 5 must be even"),
        (lambda: RotaryPosition(8, 6, 0.0), InputError, r"base=0\.0 .* must be positive"),
        (
            lambda: RotaryPosition(8, 6, 1e4, F.RopeScaling(kind="linear", factor=0.5)),
            ConfigError,
            r"factor=0\.5 must be at least 1",
        ),
        (lambda: AlibiPosition(0), InputError, "n_heads=0 must be at least 1"),
        (lambda: RelativePosition(4, 1), InputError, "n_buckets=1 must be at least 2"),
        (lambda: RelativePosition(4, 32, 9), InputError, "max_distance=9 must be more than 16"),
    ],
)
def test_sizes_that_do_not_work_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
