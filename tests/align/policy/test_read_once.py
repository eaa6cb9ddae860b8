"""One pass of the policy for the rollouts and for the first step that reads them."""

import pytest
import torch
from align.toy_policies import PROMPTS, batches, policy, trainer, weights

from mathlm.align import (
    GRPO,
    CorrectedGRPO,
    GroupCredit,
    ReadOnce,
    Reinforce,
    target_log_probabilities,
)
from mathlm.align.policy import rollouts
from mathlm.train.record import describe


class Counted:
    """A reader that counts the times it went through a model, and those for a gradient."""

    def __init__(self):
        self.passes = self.for_gradients = 0

    def __call__(self, model, batch, *, temperature=1.0):
        self.passes += 1
        self.for_gradients += torch.is_grad_enabled()
        return target_log_probabilities(model, batch, temperature=temperature)


def trained(once, objective=Reinforce, steps=4, **options):
    """Weights and data of a run, and how often its policy was read."""
    read = Counted()
    reader = ReadOnce(read) if once else read
    model = policy()
    data = batches(model, logp=reader, **options)
    trainer(model, data, objective(read=reader), steps=steps).fit()
    return weights(model), data, read.passes


def read_batch(model, **options):
    """A reader that has read rollouts ahead, and their batch."""
    reader = ReadOnce(Counted())
    return reader, batches(model, logp=reader, **options)(0)


@pytest.mark.parametrize("objective", [Reinforce, CorrectedGRPO, GRPO])
def test_a_step_takes_what_its_iteration_has_read_and_learns_the_same(objective):
    once, data, passes = trained(True, objective)
    twice, same, all_passes = trained(False, objective)
    assert (passes, all_passes) == (4, 8)
    assert torch.equal(once, twice)
    assert data.history == same.history


def test_the_ratio_of_a_first_step_is_exactly_one():
    model = policy()
    reader, batch = read_batch(model)
    assert torch.equal(reader(model, batch), batch["logp_old"])


@pytest.mark.parametrize(
    ("options", "passes"),
    [({"epochs": 2}, 4), ({"minibatches": 2}, 6), ({"at_once": 2}, 8)],
    ids=["second epoch", "parts of the rollouts", "a few rows at once"],
)
def test_what_is_not_the_same_reading_is_read_anew(options, passes):
    """Passes: two iterations of two steps, or of one; three parts of six rows."""
    steps = 2 if "at_once" in options else 4
    once, data, found = trained(True, CorrectedGRPO, steps, **options)
    twice, same, _ = trained(False, CorrectedGRPO, steps, **options)
    look_backs = 0 if "at_once" in options else 1  # at the start of the second iteration
    assert found == passes + look_backs
    torch.testing.assert_close(once, twice, rtol=0, atol=1e-14)
    assert data.history[0]["reward"] == same.history[0]["reward"]


def change_a_weight(model, batch):
    with torch.no_grad():
        model.head.weight[0, 0] += 1.0


def change_a_weight_past_autograd(model, batch):
    model.head.weight.data[0, 0] += 1.0


def change_a_text(model, batch):
    batch["ids"] = batch["ids"].clone()
    batch["ids"][0, 0] += 1


def ask_less(model, batch):
    batch["targets"] = batch["targets"].clone()
    batch["targets"][0] = -100


def change_a_text_in_place(model, batch):
    batch["ids"][0, 0] += 1


def ask_less_in_place(model, batch):
    batch["targets"][0] = -100


def leave_rows_out(model, batch):
    for name, column in batch.items():
        batch[name] = column[:2]


def train(model, batch):
    model.train(not model.training)


CHANGES = change_a_weight, change_a_weight_past_autograd, change_a_text, ask_less


IN_PLACE = change_a_text_in_place, ask_less_in_place


@pytest.mark.parametrize("change", [*CHANGES, *IN_PLACE, leave_rows_out, train])
def test_a_change_of_weights_or_texts_is_seen(change):
    model = policy()
    reader, batch = read_batch(model)
    change(model, batch)
    assert reader.read.passes == 1
    found = reader(model, batch)
    assert reader.read.passes == 2
    assert torch.equal(found, target_log_probabilities(model, batch))


def test_another_model_temperature_or_precision_is_read():
    model, other = policy(), policy(1)
    for read in (
        lambda reader, batch: reader(other, batch),
        lambda reader, batch: reader(torch.nn.Sequential(model), batch),  # as DDP wraps it
        lambda reader, batch: reader(model, batch, temperature=0.5),
    ):
        reader, batch = read_batch(model)
        read(reader, batch)
        assert reader.read.passes == 2
    reader, batch = read_batch(model)
    with torch.autocast("cpu", torch.bfloat16):
        reader(model, batch)
    assert reader.read.passes == 2


def test_a_reading_is_given_away_once_and_only_to_one_who_takes_the_gradient():
    model = policy()
    reader, batch = read_batch(model)
    with torch.no_grad():
        assert not reader(model, batch).requires_grad
    reader(model, batch).sum().backward()
    assert reader.read.passes == 2  # ahead, and without a gradient
    reader(model, batch).sum().backward()
    assert reader.read.passes == 3


def test_a_policy_that_learns_nothing_keeps_no_reading():
    model = policy().requires_grad_(False)
    reader, batch = read_batch(model, credit=GroupCredit(), reference=None)
    reader(model, batch)
    assert reader.read.passes == 2


def test_rows_that_are_read_a_few_at_once_are_not_kept():
    reader, _ = read_batch(policy(), at_once=2)
    assert (reader.read.passes, reader.read.for_gradients) == (3, 0)


def test_one_of_several_processes_reads_as_always(monkeypatch):
    monkeypatch.setattr(rollouts, "is_distributed", lambda: True)
    model, reader = policy(), ReadOnce(Counted())
    batch = batches(model, logp=reader).writer.write(PROMPTS, seed=0)
    reader(model, batch)
    assert reader.read.passes == 2


def test_a_run_is_described_by_what_reads():
    assert describe(Reinforce(read=ReadOnce())) == describe(Reinforce())
