"""Training with products of 16 bits."""

import math

import pytest
import torch
from train.tiny_runs import tiny_data, tiny_model, tiny_trainer, weights

from mathlm.errors import ConfigError, InputTypeError, NonFiniteLossError
from mathlm.functional import float_spacing, round_to
from mathlm.train import LossScale, TrainerConfig, load_checkpoint, next_token
from mathlm.train.precision import Scaling, computing_in

CPU = torch.device("cpu")
HALVES = pytest.mark.parametrize("precision", ["bfloat16", "float16"])


def float32_model(**options):
    return tiny_model(**options).float()


def updated(scale, model=tiny_model, **config):
    """Weights after two steps whose gradients are clipped, with a constant loss scale."""
    rule = LossScale(initial=scale)
    options = {"precision": "float16", "loss_scale": rule, "clip": 0.1} | config
    trainer = tiny_trainer(model(dropout=0.0), steps=2, **options)
    history = trainer.fit()
    assert all(record["loss_scale"] == scale for record in history)
    assert all(record["grad_norm"] > 0.1 for record in history)
    return weights(trainer.model)


@pytest.mark.parametrize("power", [0, 1, 8, 16])
def test_the_update_does_not_depend_on_the_loss_scale(power):
    """Autocast leaves float64 alone, and powers of two are exact: no digit changes."""
    plain = tiny_trainer(tiny_model(dropout=0.0), steps=2, clip=0.1)
    plain.fit()
    assert torch.equal(updated(2.0**power), weights(plain.model))


def each_token_once(step):
    """Eleven targets, so few that a scale of 2¹² does not overflow."""
    ids = torch.arange(11)[:, None]
    return {"ids": ids, "targets": (ids + 1) % 11}


@pytest.mark.parametrize("power", [-4, 4, 12])
def test_the_update_of_float16_does_not_depend_on_the_loss_scale(power):
    one, scaled = (updated(s, float32_model, data=each_token_once) for s in (1.0, 2.0**power))
    assert (scaled - one).abs().max() <= 1e-6


@HALVES
def test_a_product_is_that_of_rounded_factors(precision):
    x, layer = torch.randn(50, 30).float(), torch.nn.Linear(30, 20, bias=False).float()
    dtype = getattr(torch, precision)
    with computing_in(precision, CPU):
        y = layer(x)
    exact = round_to(x, dtype).double() @ round_to(layer.weight, dtype).double().mT
    assert y.dtype == dtype
    error = (y.double() - exact).abs()
    assert (error <= 0.5 * float_spacing(exact, dtype) + 1e-6).all()  # sums are in float32


def test_full_precision_leaves_products_alone():
    x = torch.randn(50, 30)
    with computing_in("full", CPU):
        assert torch.equal(x @ x.mT, (x @ x.mT).double())
        assert not torch.is_autocast_enabled("cpu")


@HALVES
def test_weights_and_losses_stay_in_float32(precision):
    trainer = tiny_trainer(float32_model(), precision=precision)
    loss, _ = trainer.loss_of(tiny_data()(0))
    trainer.fit()
    assert loss.dtype == torch.float32
    assert {p.dtype for p in trainer.model.parameters()} == {torch.float32}
    assert {v.dtype for s in trainer.optimizer.state.values() for v in s.values()} == {
        torch.float32
    }


def test_micro_gradients_of_16_bit_weights_are_summed_in_float32():
    """Each of 256 micro-batches adds 1 to a gradient that bfloat16 would leave at 256."""

    def ones(model, batch):
        return (model.weight.float() * batch["x"]).sum(), len(batch["x"])

    def data(step):
        return {"x": torch.cat((torch.full((1, 1), 256.0), torch.ones(256, 1))).float()}

    model = torch.nn.Linear(1, 1, bias=False).bfloat16()
    options = {"objective": ones, "data": data, "micro_batches": 257}
    trainer = tiny_trainer(model, **options, clip=None)
    trainer.accumulate_gradient(trainer.micro_batches())
    assert model.weight.grad.dtype == torch.bfloat16
    assert model.weight.grad.item() == pytest.approx(512 / 257, rel=2**-8)


@HALVES
def test_a_run_in_16_bits_stays_near_that_in_32(precision):
    full, half = (
        tiny_trainer(float32_model(dropout=0.0), steps=20, precision=p).fit()
        for p in ("full", precision)
    )
    losses = [[record["loss"] for record in history] for history in (full, half)]
    assert losses[1] == pytest.approx(losses[0], rel=2e-2)
    assert losses[1] != losses[0]


def overflowing(**config):
    """A run whose first scaled loss is beyond float64, and whose second is not."""
    rule = LossScale(initial=1e308, backoff=1e-300)
    options = {"precision": "float16", "loss_scale": rule, "steps": 3, "log_every": 2}
    return tiny_trainer(tiny_model(dropout=0.0), **(options | config))


def test_a_step_that_overflows_is_skipped_and_recorded():
    trainer = overflowing(steps=1)
    before = weights(trainer.model)
    record = trainer.fit()[0]
    assert torch.equal(weights(trainer.model), before)
    assert len(trainer.optimizer.state) == 0
    assert record["skipped"] == 1
    assert "grad_norm" not in record
    assert record["loss_scale"] == pytest.approx(1e8)


def test_after_a_skipped_step_the_run_goes_on_with_the_next_batch():
    trainer = overflowing()
    history = trainer.fit()
    plain = tiny_trainer(tiny_model(dropout=0.0), steps=3)
    plain.step = plain.skipped = 1
    plain.fit()
    assert [record["step"] for record in history] == [1, 2, 3]  # 1 though it was not due
    torch.testing.assert_close(weights(trainer.model), weights(plain.model), rtol=1e-9, atol=0)


def test_the_schedule_does_not_count_skipped_steps(tmp_path):
    """Warm-up begins with the first update, also after a checkpoint between."""
    lrs = [0.05, 0.04, 0.03]
    shared = {"schedule": lambda done: lrs[done], "save_every": 1, "keep": None, "log_every": 1}
    history = overflowing(folder=tmp_path, **shared).fit()
    assert [record["lr"] for record in history] == [0.05, 0.05, 0.04]
    again = overflowing(**shared)
    again.resume(tmp_path / "step_000002", allow_change=True)
    assert again.fit()[-1]["lr"] == 0.04


@pytest.mark.parametrize("lr", [-1e-3, math.nan, math.inf])
def test_a_step_size_below_zero_is_refused(lr):
    trainer = tiny_trainer(schedule=lambda done: 0.01 if done < 2 else lr)
    with pytest.raises(ConfigError, match=f"gave the step size {lr} after 2 updates"):
        trainer.fit()


def test_a_gradient_that_no_scale_helps_stops_the_run():
    def poisoned(model, batch):
        loss, count = next_token(model, batch)
        return loss + 0 * (model[4].bias * 0).sum().sqrt(), count  # the slope of √ at 0

    trainer = tiny_trainer(objective=poisoned, precision="float16", steps=50)
    before = weights(trainer.model)
    text = "gradient scale fell below .* at step 20: 20 steps in a row"
    with pytest.raises(NonFiniteLossError, match=text):
        trainer.fit()
    assert torch.equal(weights(trainer.model), before)


def test_a_loss_that_is_not_finite_is_not_skipped():
    def broken(model, batch):
        return next_token(model, batch)[0] * math.inf, 1

    with pytest.raises(NonFiniteLossError, match="non-finite loss at step 1"):
        tiny_trainer(objective=broken, precision="float16").fit()


def test_the_scale_stops_at_its_least():
    scaling = Scaling(LossScale(initial=3e-8))
    scaling.adapt(False, 1)
    with pytest.raises(
        NonFiniteLossError, match="fell below 1e-08 at step 2: 2 steps in a row"
    ):
        scaling.adapt(False, 2)


def test_the_scale_grows_after_an_interval_and_falls_after_an_overflow():
    scaling, scales = Scaling(LossScale(initial=8.0, interval=3)), []
    for step, finite in enumerate([1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1]):
        scaling.adapt(bool(finite), step)
        scales.append(scaling.scale)
    assert scales == [8, 8, 16, 16, 16, 8, 8, 8, 4, 2, 2, 2, 4]


def test_only_overflows_in_a_row_stop_a_run():
    scaling = Scaling(LossScale(initial=2.0**60))
    for step in range(60):
        scaling.adapt(step % 20 == 19, step)
    assert scaling.scale == 2.0**3
    assert scaling.skipped == 0


@pytest.mark.parametrize("at", [1, 2, 5])
def test_a_resumed_run_in_float16_equals_the_unbroken_one(tmp_path, at):
    rule = LossScale(initial=1e40, backoff=2.0**-124, interval=2)  # the first step overflows
    shared = {"precision": "float16", "loss_scale": rule, "steps": 7}
    straight = tiny_trainer(float32_model(), **shared)
    straight.fit()
    tiny_trainer(float32_model(), folder=tmp_path, save_every=1, keep=None, **shared).fit()
    again = tiny_trainer(float32_model(), **shared)
    again.resume(tmp_path / f"step_{at:06d}")
    again.fit()
    assert again.history == straight.history
    assert torch.equal(weights(again.model), weights(straight.model))
    assert straight.history[0]["skipped"] == 1


def test_another_precision_is_another_run(tmp_path):
    tiny_trainer(folder=tmp_path, steps=1, precision="bfloat16").fit()
    with pytest.raises(ValueError, match="precision was bfloat16, is full"):
        tiny_trainer(folder=tmp_path).resume()
    assert load_checkpoint(tmp_path, tiny_model())["step"] == 1


def test_a_loss_of_16_bits_is_refused():
    def narrow(model, batch):
        loss, count = next_token(model, batch)
        return loss.bfloat16(), count

    with pytest.raises(InputTypeError, match=r"in float32 or float64, got torch.bfloat16"):
        tiny_trainer(objective=narrow).fit()


@pytest.mark.parametrize(
    ("field", "value"), [("initial", 1e-9), ("growth", 1.0), ("backoff", 1.0), ("interval", 0)]
)
def test_a_scale_that_cannot_adapt_is_refused(field, value):
    with pytest.raises(ConfigError, match=f"{field}={value}: a loss scale needs initial"):
        LossScale(**{field: value})


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_precision_is_refused():
    with pytest.raises(ConfigError, match="precision='int8' must be one of 'full', 'bf"):
        TrainerConfig(steps=1, precision="int8")
    with pytest.raises(ConfigError, match="parallel='zero' must be one of 'sum', 'ddp"):
        TrainerConfig(steps=1, parallel="zero")


class OfOneLayer(torch.nn.Module):
    """A module of a user's own."""

    def __init__(self):
        super().__init__()
        self.inside = tiny_model(dropout=0.0)

    def forward(self, ids):
        return self.inside(ids)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # inside torch's compiler
def test_a_compiled_model_trains_as_it_would_have():
    """Its names and its identity stay as well."""
    counters = pytest.importorskip("torch._dynamo").utils.counters["stats"]
    before = counters["unique_graphs"]
    compiled, plain = (tiny_trainer(OfOneLayer(), steps=3, compile=c) for c in (True, False))
    compiled.fit()
    assert counters["unique_graphs"] > before
    plain.fit()
    assert plain.history == [pytest.approx(record, rel=1e-9) for record in compiled.history]
    assert compiled.model.state_dict().keys() == plain.model.state_dict().keys()
    assert compiled.describe() == plain.describe()


def test_a_model_that_torch_would_not_compile_is_refused():
    text = r"compile=True does nothing for a bare torch.nn.modules.container.Sequential"
    with pytest.raises(ConfigError, match=text):
        tiny_trainer(compile=True)
