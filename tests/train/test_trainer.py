import logging
import math
from contextlib import contextmanager
from itertools import accumulate

import numpy as np
import pytest
import torch
from torch import nn
from train.tiny_runs import gradient, tiny_data, tiny_model, tiny_trainer, weights

from mathlm.errors import ConfigError, InputError, InputTypeError, NonFiniteLossError
from mathlm.optim import AdamW, warmup_cosine
from mathlm.train import Trainer, TrainerConfig, load_checkpoint, next_token
from mathlm.train.state import kept_rng

LENGTHS = (32, 1, 32, 2, 32, 3, 32, 4)  # targets of each sequence


def ragged_batch(step=0):
    generator = torch.Generator().manual_seed(step)
    ids = torch.randint(11, (8, 32), generator=generator)
    targets = torch.randint(11, (8, 32), generator=generator)
    for row, n in zip(targets, LENGTHS, strict=True):
        row[n:] = -100
    return {"ids": ids, "targets": targets}


def squares(model, batch):
    """An objective of the user's own: it knows nothing of micro-batches."""
    keep = batch["targets"] != -100
    return model(batch["ids"])[keep].square().sum(), keep.sum()


def gradient_of_step(objective, micro_batches, data=ragged_batch):
    trainer = tiny_trainer(
        tiny_model(dropout=0.0), data, objective, micro_batches=micro_batches, clip=None
    )
    loss = trainer.accumulate_gradient(trainer.micro_batches())
    return loss, gradient(trainer.model)


@pytest.mark.parametrize("objective", [next_token, squares])
@pytest.mark.parametrize("micro_batches", [2, 4, 8])
def test_loss_and_gradient_do_not_depend_on_the_split(objective, micro_batches):
    whole_loss, whole = gradient_of_step(objective, 1)
    loss, split = gradient_of_step(objective, micro_batches)
    assert loss == pytest.approx(whole_loss, rel=1e-12)
    assert torch.linalg.vector_norm(split - whole) <= 1e-12 * torch.linalg.vector_norm(whole)


def test_gradient_of_batches_made_by_hand_needs_no_index():
    model, batch = tiny_model(dropout=0.0), ragged_batch()
    trainer = tiny_trainer(model, ragged_batch)
    halves = [{name: t.tensor_split(2)[i] for name, t in batch.items()} for i in range(2)]
    trainer.accumulate_gradient(halves)
    whole = gradient_of_step(next_token, 1)[1]
    torch.testing.assert_close(gradient(model), whole, rtol=1e-12, atol=1e-15)


def test_nan_in_batches_made_by_hand_names_their_rows():
    trainer = tiny_trainer(
        tiny_model(), ragged_batch, lambda m, b: (squares(m, b)[0] * math.nan, 1)
    )
    with pytest.raises(NonFiniteLossError, match=r"samples 0, 1, 2, 3, 4, 5, 6, 7"):
        trainer.accumulate_gradient([ragged_batch()])


@pytest.mark.parametrize("objective", [next_token, squares])
@pytest.mark.parametrize("micro_batches", [1, 2, 4])
def test_gradient_norm_is_that_of_the_mean_over_targets(objective, micro_batches):
    model = tiny_model(dropout=0.0)
    loss, count = objective(model, ragged_batch())
    (loss / count).backward()
    norm = gradient_of_step(objective, micro_batches)[1].norm()
    assert norm / gradient(model).norm() == pytest.approx(1, abs=1e-12)


def test_last_incomplete_batch_of_an_epoch_is_a_step_of_its_own():
    data = tiny_data(ids=[i % 11 for i in range(7 * 8 + 1)], batch_size=4)  # 7 windows
    trainer = tiny_trainer(tiny_model(dropout=0.0), data, micro_batches=4, steps=2)
    assert data.steps_per_epoch == 2
    trainer.train_step()
    model, batch = tiny_model(dropout=0.0), data(1)
    model.load_state_dict(trainer.model.state_dict())
    loss, count = next_token(model, batch)
    (loss / count).backward()
    trainer.accumulate_gradient(trainer.micro_batches())
    assert batch["ids"].shape == (3, 8)
    torch.testing.assert_close(gradient(trainer.model), gradient(model), rtol=1e-12, atol=1e-15)


def test_no_gradient_is_left_after_an_epoch():
    trainer = tiny_trainer(micro_batches=4, steps=tiny_data().steps_per_epoch)
    history = trainer.fit()
    assert len(history) == tiny_data().steps_per_epoch
    assert all(p.grad is None for p in trainer.model.parameters())


def test_a_last_window_that_is_cut_short_keeps_its_weight():
    whole = tiny_data(context=8, batch_size=1000)(0)
    assert (whole["targets"] != -100).sum() == 199
    loss, count = next_token(tiny_model(dropout=0.0), whole)
    parts = [
        next_token(tiny_model(dropout=0.0), batch)
        for batch in tiny_data(context=7, batch_size=2)
    ]
    sums, counts = zip(*parts, strict=True)
    assert sum(counts) == count
    assert sum(sums).item() == pytest.approx(loss.item(), rel=1e-12)


def test_loss_falls_by_half():
    data = tiny_data(ids=[i % 11 for i in range(200)])  # each token decides the next
    history = tiny_trainer(data=data, steps=40, schedule=warmup_cosine(0.1, 2, 40)).fit()
    assert history[-1]["loss"] < history[0]["loss"] / 2


def test_fit_equals_a_plain_loop_of_torch():
    trainer = tiny_trainer(tiny_model(dropout=0.0), steps=5)
    model = tiny_model(dropout=0.0)
    plain = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95))
    for step in range(5):
        plain.param_groups[0]["lr"] = trainer.config.schedule(step)
        loss, count = next_token(model, tiny_data()(step))
        (loss / count).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        plain.step()
        plain.zero_grad()
    trainer.fit()
    torch.testing.assert_close(weights(trainer.model), weights(model), rtol=1e-6, atol=1e-9)


def test_a_gradient_from_before_the_run_is_not_part_of_its_first_step():
    fresh, trainer = tiny_trainer(steps=1), tiny_trainer(steps=1)
    next_token(trainer.model, tiny_data()(0))[0].backward()
    assert trainer.fit() == fresh.fit()
    assert torch.equal(weights(trainer.model), weights(fresh.model))


def test_history_holds_the_logged_steps_and_the_last():
    history = tiny_trainer(steps=7, log_every=3).fit()
    assert [record["step"] for record in history] == [3, 6, 7]


def test_evaluation_is_the_mean_over_all_held_out_targets():
    trainer = tiny_trainer(held_out=tiny_data(batch_size=3), steps=2, eval_every=1)
    trainer.fit()
    trainer.model.eval()
    loss, count = next_token(trainer.model, tiny_data(batch_size=1000)(0))
    assert trainer.history[-1]["held_out_loss"] == pytest.approx(loss.item() / count, rel=1e-12)


def test_evaluation_changes_nothing():
    quiet, asked = tiny_trainer(), tiny_trainer(held_out=tiny_data(), eval_every=1)
    quiet.fit()
    asked.fit()
    assert torch.equal(weights(quiet.model), weights(asked.model))
    assert asked.model.training


def test_an_evaluation_that_fails_leaves_the_model_in_training():
    trainer = tiny_trainer(held_out=[{"ids": tiny_data()(0)["ids"]}])
    with pytest.raises(KeyError, match="targets"):
        trainer.evaluate()
    assert trainer.model.training


def test_training_leaves_the_generator_of_the_caller_alone():
    trainer = tiny_trainer()
    before = torch.get_rng_state()
    trainer.fit()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(("used", "given_back"), [(True, [0, 1]), (False, [])])
def test_training_on_the_cpu_gives_back_the_generators_of_gpus_in_use(
    monkeypatch, used, given_back
):
    found = []

    @contextmanager
    def forked(devices):
        found.extend(devices)
        yield

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: used)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.random, "fork_rng", forked)
    with kept_rng(torch.device("cpu")):
        assert found == given_back


def test_dropout_differs_between_steps():
    def ones_kept(model, batch):
        return model(torch.ones(50)).sum() * 1.0, 1

    model = nn.Sequential(nn.Linear(50, 50, bias=False), nn.Dropout(0.5))
    nn.init.ones_(model[0].weight)
    trainer = Trainer(
        model,
        ones_kept,
        lambda step: {"index": torch.zeros(1)},
        torch.optim.SGD(model.parameters(), lr=0.0),
        TrainerConfig(steps=8),
    )
    assert len({record["loss"] for record in trainer.fit()}) > 3


def test_dropout_is_a_function_of_the_seed_alone():
    def trained(state, seed):
        trainer = tiny_trainer(tiny_model(dropout=0.5), steps=3, seed=seed)
        torch.manual_seed(state)
        trainer.fit()
        return weights(trainer.model)

    assert torch.equal(trained(5, seed=0), trained(6, seed=0))
    assert not torch.equal(trained(5, seed=0), trained(5, seed=1))


@pytest.mark.parametrize("at", [0, 3])
def test_nan_loss_stops_before_the_weights_change(at, caplog):
    def poisoned(model, batch):
        loss, count = next_token(model, batch)
        bad = trainer.step == at and 7 in batch["index"]
        return (loss * math.nan if bad else loss), count

    data = tiny_data(batch_size=25)
    clean, trainer = tiny_trainer(steps=at or 1, data=data), tiny_trainer(data=data)
    before = weights(clean.model)
    if at:
        clean.fit()
        before = weights(clean.model)
    trainer.objective = poisoned
    with pytest.raises(NonFiniteLossError, match=rf"non-finite loss at step {at + 1}, rank 0"):
        trainer.fit()
    assert torch.equal(weights(trainer.model), before)
    assert math.isnan(trainer.history[-1]["loss"])
    assert "loss nan" in caplog.text


def test_nan_loss_names_the_micro_batch_and_its_samples():
    def poisoned(model, batch):
        loss, count = next_token(model, batch)
        return (loss * math.inf if 7 in batch["index"] else loss), count

    trainer = tiny_trainer(data=tiny_data(batch_size=25), objective=poisoned, micro_batches=5)
    parts = [part["index"].tolist() for part in trainer.micro_batches()]
    m = next(i for i, part in enumerate(parts) if 7 in part)
    samples = ", ".join(map(str, parts[m]))
    with pytest.raises(NonFiniteLossError, match=rf"micro-batch {m} \(samples {samples}\)"):
        trainer.fit()


def test_nan_gradient_of_a_finite_loss_stops_before_the_weights_change():
    def poisoned(model, batch):
        loss, count = next_token(model, batch)
        return loss + 0 * (model[4].bias * 0).sum().sqrt(), count  # the slope of √ at 0

    trainer = tiny_trainer(objective=poisoned)
    before = weights(trainer.model)
    with pytest.raises(NonFiniteLossError, match="non-finite gradient at step 1, rank 0"):
        trainer.fit()
    assert torch.equal(weights(trainer.model), before)
    assert all(p.grad is None for p in trainer.model.parameters())


def test_a_step_without_targets_is_an_error():
    def empty(step):
        batch = tiny_data()(step)
        return batch | {"targets": torch.full_like(batch["targets"], -100)}

    with pytest.raises(InputError, match="no target token contributes to the loss at step 1"):
        tiny_trainer(data=empty).fit()


def test_a_micro_batch_without_targets_adds_nothing():
    batch = ragged_batch()
    batch["targets"][:4] = -100
    whole = gradient_of_step(next_token, 1, lambda step: batch)
    split = gradient_of_step(next_token, 2, lambda step: batch)
    assert split[0] == pytest.approx(whole[0], rel=1e-12)
    torch.testing.assert_close(split[1], whole[1], rtol=1e-12, atol=1e-15)


def test_an_objective_that_returns_a_mean_is_refused():
    with pytest.raises(InputTypeError, match="an objective returns"):
        tiny_trainer(objective=lambda model, batch: next_token(model, batch)[0]).fit()
    with pytest.raises(InputError, match=r"one number, got shape \(5,\)"):
        tiny_trainer(objective=lambda model, batch: (torch.ones(5), 5)).fit()


def test_a_batch_of_unequal_or_no_rows_is_refused():
    with pytest.raises(InputError, match="equally many rows, at least one; at step 1"):
        tiny_trainer(data=lambda step: {"ids": torch.ones(2), "targets": torch.ones(3)}).fit()
    with pytest.raises(InputError, match="at least one"):
        tiny_trainer(data=lambda step: {"ids": torch.ones(0)}).fit()


@pytest.mark.parametrize(
    "field", ["steps", "clip", "micro_batches", "log_every", "eval_every", "save_every", "keep"]
)
def test_config_refuses_zero(field, unchecked):
    zero = 0.0 if field == "clip" else 0
    with pytest.raises(ConfigError, match=f"{field}={zero} must be positive"):
        TrainerConfig(**({"steps": 1} | {field: zero}))
    if field != "clip":
        with pytest.raises(ConfigError, match=rf"{field}=1\.5 must be a whole number"):
            TrainerConfig(**({"steps": 1} | {field: 1.5}))


def test_clipping_bounds_the_step():
    trainer = tiny_trainer(tiny_model(), clip=1e-3)
    trainer.accumulate_gradient(trainer.micro_batches())
    trainer.clip([])
    assert gradient(trainer.model).norm() == pytest.approx(1e-3, rel=1e-12)


def test_step_size_follows_the_schedule():
    history = tiny_trainer(steps=6).fit()
    eta = warmup_cosine(0.05, 2, 20)
    assert [record["lr"] for record in history] == [eta(step) for step in range(6)]


@pytest.mark.parametrize("number", [np.float32, np.int64, torch.tensor])
def test_a_step_size_may_be_any_kind_of_number(number, tmp_path):
    trainer = tiny_trainer(steps=2, schedule=lambda done: number(1), folder=tmp_path)
    history = trainer.fit()
    assert [type(record["lr"]) for record in history] == [float, float]
    assert load_checkpoint(tmp_path, tiny_model())["history"] == history


def test_the_scale_of_a_group_multiplies_the_schedule():
    trainer = tiny_trainer(steps=2)
    trainer.optimizer.param_groups[0]["lr_scale"] = 0.25
    trainer.fit()
    assert trainer.optimizer.param_groups[0]["lr"] == warmup_cosine(0.05, 2, 20)(1) / 4


def test_every_logged_step_is_in_the_log(caplog):
    with caplog.at_level(logging.INFO, logger="mathlm"):
        tiny_trainer(steps=3).fit()
    assert [m.split(" of ")[0] for m in caplog.messages] == ["step 1", "step 2", "step 3"]


def test_a_tied_weight_is_updated_once():
    model = nn.Sequential(nn.Embedding(11, 6), nn.Linear(6, 11, bias=False))
    model[1].weight = model[0].weight
    optimizer = AdamW(model.parameters())
    Trainer(model, next_token, tiny_data(), optimizer, TrainerConfig(steps=1)).fit()
    assert [state["step"].item() for state in optimizer.state.values()] == [1]


def test_micro_batches_are_nearly_equal_and_keep_the_order():
    trainer = tiny_trainer(data=ragged_batch, micro_batches=3)
    sizes = [len(part["ids"]) for part in trainer.micro_batches()]
    assert list(accumulate(sizes)) == [3, 6, 8]
    rows = torch.cat([part["index"] for part in trainer.micro_batches()])
    assert rows.tolist() == list(range(8))
