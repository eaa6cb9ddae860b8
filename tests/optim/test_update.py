"""What all optimizers share, for each of them."""

import copy
import math
import subprocess
import sys

import pytest
import torch
from torch import nn

from mathlm.errors import ConfigError, InputError, InputTypeError, NonFiniteLossError
from mathlm.optim import SGD, Adam, AdamEpsilonHat, AdamW, Muon, RMSProp
from mathlm.optim.update import of_torch, step_finite

MAKERS = {
    "SGD": lambda p, **o: SGD(p, **({"lr": 0.05} | o)),
    "momentum": lambda p, **o: SGD(p, **({"lr": 0.05, "momentum": 0.9} | o)),
    "averaged": lambda p, **o: SGD(p, **({"lr": 0.05, "momentum": 0.9, "averaged": True} | o)),
    "nesterov": lambda p, **o: SGD(p, **({"lr": 0.05, "momentum": 0.9, "nesterov": True} | o)),
    "RMSProp": RMSProp,
    "Adam": Adam,
    "AdamW": AdamW,
    "Muon": Muon,
}
EVERY = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
FUSED = pytest.mark.parametrize("fused", [False, True], ids=["lines", "kernel"])
SHAPE = (3, 4)


def parameter(value=None, shape=SHAPE):
    return nn.Parameter(torch.randn(shape) if value is None else torch.full(shape, value))


def clocks(optimizer, p):
    """The clock of a parameter, in a list; SGD has none, since its equation has no time."""
    state = optimizer.state.get(p, {})
    return [state["step"]] if "step" in state else []


def expected_clocks(optimizer, steps):
    return [] if isinstance(optimizer, SGD) else [steps]


def take_steps(optimizer, params, steps, seed=0):
    """Steps with gradients drawn from ``seed``."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        for p in params:
            p.grad = torch.randn(p.shape, generator=generator)
        optimizer.step()


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "Muon"])
def test_a_hundred_steps_are_the_same_by_lines_and_by_kernel(name):
    """Muon's kernel rounds to bfloat16: test_muon.py compares the two."""
    start, ends = torch.randn(SHAPE), []
    for fused in (False, True):
        p = nn.Parameter(start.clone())
        take_steps(MAKERS[name]([p], weight_decay=0.1, fused=fused), [p], 100)
        ends.append(p.detach())
    torch.testing.assert_close(*ends, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", [SGD, RMSProp, Adam, AdamW, Muon])
def test_parameters_move_at_once_unless_the_lines_are_asked_for(make, monkeypatch):
    moved = []
    monkeypatch.setattr(make, "fused_update", lambda *call: moved.append(call[1]))
    p = parameter()
    p.grad = torch.ones(SHAPE)
    for options in ({}, {"fused": True}, {"fused": False}):
        make([p], lr=0.1, **options).step()
    assert [params[0] is p for params in moved] == [True, True]


@EVERY
@FUSED
def test_memory_layout_changes_nothing(make, fused):
    """A transposed parameter with a gradient in row order, which kernels would mispair."""
    start, gradient = torch.randn(3, 4), torch.randn(4, 3)
    plain, turned = nn.Parameter(start.T.contiguous()), nn.Parameter(start.clone().T)
    for p in (plain, turned):
        optimizer = make([p], fused=fused)
        for _ in range(3):
            p.grad = gradient.clone()
            optimizer.step()
    assert not turned.is_contiguous()
    tolerance = 0.05 if make is Muon else 1e-12  # its kernel rounds to bfloat16
    torch.testing.assert_close(turned, plain, rtol=tolerance, atol=tolerance)


@EVERY
@FUSED
def test_groups_have_options_of_their_own(make, fused):
    a, b, c, d = (parameter(1.0) for _ in range(4))
    both = make([{"params": [a]}, {"params": [b], "lr": 0.5}], fused=fused)
    take_steps(both, [a, b], 3)
    for_a, for_b = make([c], fused=fused), make([d], lr=0.5, fused=fused)
    both_seeds = torch.Generator().manual_seed(0)
    for _ in range(3):
        c.grad, d.grad = (torch.randn(SHAPE, generator=both_seeds) for _ in range(2))
        for_a.step()
        for_b.step()
    assert torch.equal(a, c)
    assert torch.equal(b, d)
    assert not torch.allclose(a, b)


@EVERY
@FUSED
def test_a_parameter_without_gradient_stays_and_its_clock_stands(make, fused):
    used, idle = parameter(1.0), parameter(1.0)
    optimizer = make([used, idle], fused=fused)
    for _ in range(2):
        take_steps(optimizer, [used], 1)
    assert torch.equal(idle, torch.ones(SHAPE))
    assert idle not in optimizer.state
    assert clocks(optimizer, used) == expected_clocks(optimizer, 2)


@EVERY
@FUSED
def test_without_any_gradient_nothing_happens(make, fused):
    p = parameter(1.0)
    make([p], fused=fused).step()
    assert torch.equal(p, torch.ones(SHAPE))


@EVERY
@FUSED
def test_gradients_are_left_as_they_are(make, fused):
    p, g = parameter(), torch.randn(SHAPE)
    p.grad = g.clone()
    make([p], weight_decay=0.1, fused=fused).step()
    assert torch.equal(p.grad, g)


@EVERY
@FUSED
def test_a_copied_state_continues_bit_for_bit(make, fused):
    p = parameter()
    optimizer = make([p], fused=fused)
    take_steps(optimizer, [p], 5)
    q = nn.Parameter(p.detach().clone())
    other = make([q], fused=fused)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    take_steps(optimizer, [p], 5, seed=1)
    take_steps(other, [q], 5, seed=1)
    assert torch.equal(p, q)
    assert clocks(other, q) == expected_clocks(other, 10)


@EVERY
@FUSED
def test_float32_follows_float64(make, fused):
    start, ends = torch.randn(SHAPE), []
    for dtype in (torch.float32, torch.float64):
        p = nn.Parameter(start.to(dtype))
        optimizer = make([p], fused=fused)
        for i in range(20):
            p.grad = torch.sin(torch.arange(12.0) * (i + 1)).view(SHAPE).to(dtype)
            optimizer.step()
        ends.append(p.detach().double())
    torch.testing.assert_close(*ends, rtol=1e-4, atol=1e-4)


@EVERY
def test_a_group_that_is_refused_does_not_stay(make):
    optimizer = make([parameter()])
    with pytest.raises(ConfigError, match=r"lr=-1\.0 must be finite and not negative"):
        optimizer.add_param_group({"params": [parameter()], "lr": -1.0})
    assert len(optimizer.param_groups) == 1


@EVERY
@pytest.mark.parametrize("name", ["lr", "weight_decay"])
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_rates_outside_their_range_are_refused(make, name, value):
    with pytest.raises(ConfigError, match=f"{name}={value} must be finite and not negative"):
        make([parameter()], **{name: value})


@EVERY
def test_complex_parameters_are_refused(make):
    p = nn.Parameter(torch.ones(SHAPE, dtype=torch.complex64))
    with pytest.raises(InputTypeError, match=r"got torch\.complex64 of shape \(3, 4\)"):
        make([p])
    with pytest.raises(InputTypeError, match=r"^AdamW needs real"):
        AdamW([p])


@EVERY
def test_sparse_gradients_are_refused(make):
    table = nn.Embedding(5, 2, sparse=True)
    table(torch.tensor([1])).sum().backward()
    before = table.weight.detach().clone()
    optimizer = make(table.parameters())
    says = rf"^{type(optimizer).__name__} needs dense gradients, got a sparse one .* \(5, 2\)"
    with pytest.raises(InputTypeError, match=says):
        optimizer.step()
    assert torch.equal(table.weight, before)


@EVERY
@FUSED
def test_a_gradient_that_is_not_finite_is_refused_and_no_group_moves(make, fused):
    p, q = parameter(1.0), parameter(1.0)
    optimizer = make([{"params": [p]}, {"params": [q]}], fused=fused)
    p.grad, q.grad = torch.ones(SHAPE), torch.ones(SHAPE)
    q.grad[1, 2] = math.nan
    with pytest.raises(NonFiniteLossError, match=r"^1 of 12 entries of .* shape \(3, 4\)"):
        optimizer.step()
    assert torch.equal(p, torch.ones(SHAPE))
    assert p not in optimizer.state


@pytest.mark.parametrize(
    ("make", "option", "text"),
    [
        (SGD, {"lr": 0.1, "momentum": 1.0}, r"momentum=1.0 must lie in \[0, 1\)"),
        (SGD, {"lr": 0.1, "nesterov": True}, r"got momentum=0.0, averaged=False"),
        (
            SGD,
            {"lr": 0.1, "momentum": 0.9, "averaged": True, "nesterov": True},
            "needs momentum > 0 and averaged=False, got momentum=0.9, averaged=True",
        ),
        (RMSProp, {"decay": -0.1}, r"decay=-0.1 must lie in \[0, 1\)"),
        (RMSProp, {"eps": 0.0}, "eps=0.0 must be finite and positive"),
        (Adam, {"eps": 0.0}, "eps=0.0 must be finite and positive"),
        (Adam, {"eps": math.inf}, "eps=inf must be finite and positive"),
        (Adam, {"betas": (0.9, 1.0)}, r"betas=\(0.9, 1.0\) must lie in \[0, 1\)"),
        (AdamEpsilonHat, {"eps": -1.0}, "eps=-1.0 must be finite and positive"),
        (AdamEpsilonHat, {"betas": (math.nan, 0.9)}, r"betas=\(nan, 0.9\) must lie"),
        (Muon, {"momentum": 1.5}, r"momentum=1.5 must lie in \[0, 1\)"),
        (Muon, {"eps": 0.0}, "eps=0.0 must be finite and positive"),
    ],
)
def test_numbers_outside_their_range_are_refused(make, option, text):
    with pytest.raises(ConfigError, match=text):
        make([parameter()], **option)


@pytest.mark.parametrize("shape", [(7,), (), (2, 3, 4)])
def test_muon_sends_other_parameters_elsewhere(shape):
    with pytest.raises(InputError, match=r"orthogonalizes matrices, got .* give it to AdamW"):
        Muon([parameter(shape=shape)])


@pytest.mark.parametrize("name", ["lr", "weight_decay"])
@EVERY
def test_what_is_not_a_number_is_refused(make, name):
    group = {"params": [parameter()], name: "0.1"}
    with pytest.raises(InputTypeError, match=f"{name} must be a number, got '0.1'"):
        make([group])


def test_decay_rates_must_be_numbers():
    with pytest.raises(InputTypeError, match="betas must be a number, got None"):
        Adam([{"params": [parameter()], "betas": (0.9, None)}])


def test_decay_rates_of_a_file_of_settings_are_a_list():
    """JSON knows no tuple, and torch takes either."""
    steps = []
    for betas in ([0.5, 0.9], (0.5, 0.9)):
        p = nn.Parameter(torch.ones(3))
        p.grad = torch.tensor([1.0, -2.0, 3.0])
        Adam([{"params": [p], "betas": betas}]).step()
        steps.append(p.detach())
    assert torch.equal(*steps)
    with pytest.raises(ConfigError, match=r"betas=\[0.5, 1.0\] must lie in"):
        Adam([{"params": [parameter()], "betas": [0.5, 1.0]}])


def test_methods_of_torch_are_bare_until_the_compiler_is_loaded(monkeypatch):
    wrapped = torch.optim.Optimizer.zero_grad
    monkeypatch.delitem(sys.modules, "torch._dynamo", raising=False)
    assert of_torch("zero_grad") is wrapped.__wrapped__
    assert of_torch("__repr__") is torch.optim.Optimizer.__repr__  # has no wrapper
    monkeypatch.setitem(sys.modules, "torch._dynamo", torch)
    assert of_torch("zero_grad") is wrapped


def test_clocks_are_single_precision_and_lie_where_their_parameter_does():
    p = parameter()
    p.grad = torch.ones(SHAPE)
    optimizer = AdamW([p])
    with torch.device("meta"):  # where nothing is computed
        optimizer.step()
    clock = optimizer.state[p]["step"]
    assert (clock.device, clock.dtype) == (p.device, torch.float32)


def test_clocks_that_are_not_on_a_cpu_are_told_a_number(monkeypatch):
    """A tensor of the CPU would be copied to them in each step."""
    told = []
    monkeypatch.setattr(torch, "_foreach_add_", lambda clocks, one: told.append(one))
    monkeypatch.setattr(Muon, "tensors", lambda *call: [torch.zeros((), device="meta")])
    Muon([parameter()]).advance([])
    assert isinstance(told[0], int)
    assert told == [1]


@pytest.mark.slow
def test_no_step_loads_the_compiler():
    """Torch's own optimizers do, to except themselves from it: 1.3 s."""
    code = """
import sys, torch
from mathlm.interpret.probes import Search
from mathlm.optim import Adam
p = torch.nn.Parameter(torch.ones(2))
for make in (Adam, Search):
    optimizer = make([p], lr=0.1)
    optimizer.zero_grad()
    p.square().sum().backward()
    optimizer.step(*[lambda: p.detach().sum()] * (make is Search))
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@EVERY
def test_gradients_are_forgotten_or_set_to_zero(make):
    p = parameter()
    p.grad = torch.ones_like(p)
    make([p]).zero_grad(set_to_none=False)
    assert not p.grad.any()
    make([p]).zero_grad()
    assert p.grad is None


@EVERY
@FUSED
def test_gradients_said_to_be_finite_are_not_read_again(make, fused, monkeypatch):
    """The step is the same, and the look at every entry is left out."""
    ends = []
    for finite in (False, True):
        p = nn.Parameter(torch.ones(SHAPE))
        optimizer = make([p], fused=fused)
        p.grad = torch.linspace(-1, 1, 12).view(SHAPE)
        with monkeypatch.context() as patched:
            if finite:
                patched.setattr("mathlm.optim.update.check_finite", pytest.fail)
            optimizer.step(finite=finite)
        ends.append(p.detach())
    assert torch.equal(*ends)


@pytest.mark.parametrize("make", [SGD, torch.optim.SGD], ids=["ours", "torch"])
def test_a_step_on_finite_gradients_is_a_step_of_ours_or_of_torch(make, monkeypatch):
    monkeypatch.setattr("mathlm.optim.update.check_finite", pytest.fail)
    p = parameter(1.0)
    p.grad = torch.ones(SHAPE)
    step_finite(make([p], lr=0.5))
    assert (p == 0.5).all()


def test_a_sparse_gradient_is_refused_although_it_is_said_to_be_finite():
    embedding = nn.Embedding(3, 2, sparse=True)
    embedding(torch.tensor([1])).sum().backward()
    with pytest.raises(InputTypeError, match="dense gradients"):
        SGD(embedding.parameters(), lr=0.1).step(finite=True)


def test_without_weight_decay_a_weight_does_not_enter_its_gradient():
    """0 times an infinite weight would be NaN."""
    p = nn.Parameter(torch.tensor([float("inf"), 1.0]))
    p.grad = torch.ones(2)
    SGD([p], lr=0.5, fused=False).step()
    assert p.tolist() == [float("inf"), 0.5]
