"""Rollouts as the data of a trainer."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from align.policy_run import result
from align.toy_policies import (
    END,
    PROMPTS,
    actor_and_critic,
    batches,
    policy,
    threes,
    trainer,
    weights,
)

from mathlm.align import (
    CorrectedGRPO,
    GroupCredit,
    PolicyBatches,
    RolloutSchedule,
    TextSampler,
    group_advantages,
    no_baseline,
    target_log_probabilities,
)
from mathlm.align.reference_model import Reference
from mathlm.errors import (
    CheckpointMismatchError,
    ConfigError,
    InputError,
    NonFiniteLossError,
)
from mathlm.train.record import describe

TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_the_policy_that_wrote_has_the_ratio_one_at_its_own_temperature(temperature):
    """With dropout in a training policy."""
    model = policy().train()
    batch = batches(model, temperature=temperature)(0)
    logp = target_log_probabilities(model, batch, temperature=temperature)
    torch.testing.assert_close(logp.exp(), batch["logp_old"].exp(), rtol=0, atol=1e-12)
    other = target_log_probabilities(model, batch, temperature=1.5)
    assert not torch.allclose(other, batch["logp_old"])


def test_scaled_log_probabilities_are_not_those_of_a_temperature():
    model = policy()
    batch = batches(model, temperature=0.5)(0)
    assert not torch.allclose(target_log_probabilities(model, batch) / 0.5, batch["logp_old"])


def test_completions_are_drawn_with_the_probabilities_that_are_read():
    """Frequencies of the first token in 4,000 draws, within four standard errors."""
    model = policy()
    data = batches(
        model, group_size=4000, prompts_per_iteration=1, temperature=0.7, reference=None,
        credit=GroupCredit(),
    )  # fmt: skip
    batch = data(0)
    number = int(batch["prompt_index"][0])
    first = batch["targets"][:, len(PROMPTS[number]) - 1]
    logits = model.eval()(PROMPTS[number][None])[0, -1] / 0.7
    p = logits.softmax(-1)
    error = first.bincount(minlength=len(p)) / 4000 - p
    assert (error.abs() <= 4 * (p * (1 - p) / 4000).sqrt() + 1e-12).all()


def test_rollouts_do_not_depend_on_how_many_are_written_at_once():
    whole, parts = (batches(policy(), at_once=n)(0) for n in (None, 2))
    for name, column in whole.items():
        torch.testing.assert_close(parts[name], column, rtol=0, atol=1e-12)


def test_each_epoch_reads_every_rollout_once_in_an_order_of_its_own():
    data = batches(policy(), epochs=2, minibatches=3)
    steps = [data(step)["index"].tolist() for step in range(6)]
    epochs = [[i for step in part for i in step] for part in (steps[:3], steps[3:])]
    assert [sorted(epoch) for epoch in epochs] == [list(range(6))] * 2
    assert epochs[0] != epochs[1]


def test_an_iteration_draws_anew_and_numbers_its_samples_on():
    data = batches(policy(), credit=GroupCredit())
    first, second = data(0), data(1)
    assert second["index"].tolist() == list(range(6, 12))
    assert not torch.equal(first["rewards"], second["rewards"])


def test_all_prompts_come_once_before_any_comes_again():
    data = batches(policy(), prompts_per_iteration=1)
    seen = [int(data(step)["prompt_index"][0]) for step in range(9)]
    assert all(sorted(seen[i : i + 3]) == [0, 1, 2] for i in (0, 3, 6))


@pytest.mark.parametrize("stop", [4, 5, 6])
def test_a_resumed_run_is_the_unbroken_one_bit_for_bit(tmp_path, stop):
    """Iterations have four steps: two of the checkpoints lie within one."""
    kinds = {"epochs": 2, "minibatches": 2}
    model, data = actor_and_critic(**kinds)
    trainer(model, data, steps=10).fit()
    for steps in (stop, 10):
        again, same = actor_and_critic(**kinds)
        run = trainer(again, same, steps=steps, folder=tmp_path)
        run.resume()
        run.fit()
    assert torch.equal(weights(again), weights(model))
    assert same.history == data.history


def test_a_batch_within_an_iteration_that_is_not_at_hand_is_refused():
    with pytest.raises(
        InputError, match="step 1 is within iteration 0, whose rollouts are not"
    ):
        batches(policy(), epochs=2)(1)


def test_a_state_with_other_rows_is_refused(tmp_path):
    trainer(*actor_and_critic(), steps=1, folder=tmp_path).fit()
    other = trainer(*actor_and_critic(group_size=3), steps=2, folder=tmp_path)
    with pytest.raises(CheckpointMismatchError, match=r"has \[6\] rows, expected 9"):
        other.resume(allow_change=True)


def test_a_run_with_another_credit_is_not_resumed(tmp_path):
    model = policy()
    trainer(model, batches(model), steps=1, folder=tmp_path).fit()
    other = trainer(model, batches(model, GroupCredit(beta=0.2)), steps=2, folder=tmp_path)
    with pytest.raises(CheckpointMismatchError, match=r"credit.beta was 0.1, is 0.2"):
        other.resume()


def test_the_description_says_the_same_in_every_process():
    said = json.dumps(describe(batches(policy()).describe()))
    assert "0x" not in said
    assert said == json.dumps(describe(batches(policy()).describe()))


class Reward:
    """Fails from the second iteration on, until it is mended."""

    def __init__(self, value):
        self.value, self.calls = value, 0

    def __call__(self, prompts, completions):
        self.calls += 1
        rewards = threes(prompts, completions)
        return [self.value, *rewards[1:]] if self.calls > 1 and self.value else rewards


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "good"])
def test_a_reward_that_is_no_number_stops_the_run_and_nothing_is_lost(value):
    """The run goes on where it was once the reward is mended, as if nothing had happened."""
    model, other = policy(), policy()
    reward = Reward(value)
    run = trainer(model, batches(model, reward=reward), steps=2)
    with pytest.raises(
        InputError, match=r"reward Reward gave .*, not a finite number; sample 6"
    ):
        run.fit()
    assert run.step == 1
    reward.value = None
    run.fit()
    trainer(other, batches(other), steps=2).fit()
    assert torch.equal(weights(model), weights(other))


def test_a_loss_that_is_nan_names_step_and_samples_and_leaves_the_weights():
    """NaN advantages in two rows of the second step; the error names both."""
    model = policy()

    def credit(batch, group_size):
        found = GroupCredit(baseline=no_baseline)(batch, group_size)
        bad = torch.isin(batch["index"], torch.tensor([6, 9]))
        return {"advantages": found["advantages"].masked_fill(bad, torch.nan)}

    run = trainer(model, batches(model, credit), steps=3, micro_batches=6)
    steps = []
    run.update = lambda norm, update=run.update: (update(norm), steps.append(weights(model)))
    with pytest.raises(NonFiniteLossError, match=r"at step 2, .*micro-batch 0 \(samples 6\)"):
        run.fit()
    assert torch.equal(weights(model), steps[0])
    assert len(steps) == 1


@pytest.mark.parametrize("micro_batches", [2, 4])
def test_the_gradient_does_not_depend_on_the_micro_batches(micro_batches):
    """Whitened advantages and returns are made of the whole iteration, before it is cut."""
    results = []
    for parts in (1, micro_batches):
        model, data = actor_and_critic()
        run = trainer(model, data, micro_batches=parts)
        run.accumulate_gradient(run.micro_batches())
        results.append(torch.cat([p.grad.flatten() for p in model.parameters()
                                  if p.grad is not None]))  # fmt: skip
    torch.testing.assert_close(*results, rtol=0, atol=1e-12)


def test_prompts_that_fill_the_context_are_dropped_counted_and_logged(caplog):
    model, long = policy(), torch.arange(8) % 7
    sampler = TextSampler(5, stop=(END,))
    caplog.set_level(logging.INFO)
    data = PolicyBatches(model, [*PROMPTS, long], threes, GroupCredit(), sampler=sampler,
                         schedule=RolloutSchedule(group_size=2))  # fmt: skip
    assert (data.dropped, data.rows) == (1, 6)
    assert 3 not in data(0)["prompt_index"]
    assert data.history[0]["dropped"] == 1
    assert "1 of 4 prompts leave no room for 5 new tokens in the context of 12" in caplog.text


@pytest.mark.parametrize(("prompts", "says"), [
    ([], "there are no prompts"),
    ([torch.arange(8) % 7], "1 of 1 prompts leave no room for 5 new tokens.*: shorten them"),
])  # fmt: skip
def test_no_prompt_that_fits_is_an_error(prompts, says):
    with pytest.raises(InputError, match=says):
        PolicyBatches(policy(), prompts, threes, GroupCredit(), sampler=TextSampler(5))


@pytest.mark.parametrize("credit", [GroupCredit(), GroupCredit(baseline=group_advantages)])
def test_groups_of_one_are_refused_before_anything_is_written(credit):
    with pytest.raises(InputError, match="groups have 1 sample"):
        batches(policy(), credit, group_size=1)


def test_a_policy_is_not_its_own_reference():
    model = policy()
    with pytest.raises(InputError, match="policy passed as its own reference"):
        batches(model, reference=model)
    with pytest.raises(InputError, match="policy passed as its own reference"):
        batches(model, reference=Reference(model))


def test_the_reference_does_not_change():
    model, reference = policy(), Reference(policy())
    before = reference.sha256
    trainer(model, batches(model, GroupCredit(), reference=reference), CorrectedGRPO()).fit()
    assert reference.sha256 == before
    assert not torch.equal(weights(model), weights(reference.model))


@pytest.mark.parametrize(("options", "says"), [
    ({"group_size": 0}, "group_size=0 must be positive"),
    ({"minibatches": 7}, "6 rollouts cannot be cut into 7 minibatches"),
    ({"prompts_per_iteration": 0}, "prompts_per_iteration=0 must be positive"),
    ({"epochs": 0}, "epochs=0 must be positive"),
    ({"at_once": 0}, "at_once=0 must be positive"),
    ({"seed": -1}, "seed=-1 must not be negative"),
])  # fmt: skip
def test_sizes_that_make_no_sense_are_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        batches(policy(), **options)


def test_history_holds_what_happened():
    """Numbers made again from the first batch; how far a step moves is told at the next."""
    model, data = actor_and_critic(epochs=3)
    batch = data(0)
    record = data.history[0]
    mask = batch["targets"] != -100
    assert record["reward"] == pytest.approx(float(batch["rewards"].mean()))
    assert record["length"] == pytest.approx(float(mask.sum(1).double().mean()))
    assert record["entropy"] == pytest.approx(-float(batch["logp_old"][mask].mean()))
    assert (record["kl"], record["kl_k3"]) == (0.0, 0.0)
    first = record["samples"][0]
    assert first["prompt"] == PROMPTS[int(batch["prompt_index"][0])].tolist()
    assert first["completion"] == batch["targets"][0][mask[0]].tolist()
    trainer(model, data, steps=6).fit()
    assert data.history[0]["moved"] > 0
    assert "moved" not in data.history[1]


def test_text_goes_to_the_reward_without_its_end():
    seen = []

    def reward(prompts, completions):
        seen.extend(zip(prompts, completions, strict=True))
        return [0.0] * len(prompts)

    data = batches(policy(), reward=reward, decode=lambda ids: "".join(map(str, ids.tolist())))
    batch = data(0)
    ends = batch["finished"].tolist()
    assert True in ends
    for (_, text), length, end in zip(seen, batch["lengths"].tolist(), ends, strict=True):
        assert len(text) == length - end
        assert "0" not in text


def test_a_prompt_that_ends_like_a_completion_is_read_whole():
    """The end of a completion, 6, is the last token of a prompt, such as a line break."""
    seen = []

    def reward(prompts, completions):
        seen.extend(prompts)
        return [0.0] * len(prompts)

    reading = {"decode": lambda ids: "".join(map(str, ids.tolist()))}
    data = batches(policy(), reward=reward, sampler=TextSampler(5, stop=(6,)), **reading)
    chosen = data(0)["prompt_index"].tolist()
    assert seen == [["1", "23", "456"][i] for i in chosen]
    assert 2 in chosen
    assert [s["prompt"] for s in data.history[0]["samples"]] == seen[: data.record.shown]


@pytest.mark.slow
def test_two_processes_do_what_one_does_and_both_learn_of_an_error(tmp_path):
    command = [sys.executable, "-m", "align.policy_run", str(tmp_path)]
    paths = os.pathsep.join((str(TESTS), str(TESTS.parent), str(TESTS.parent / "book")))
    done = subprocess.run(command, capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
                          timeout=200, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    ranks = json.loads((tmp_path / "found.json").read_text())
    assert ranks["codes"] == [0, 0], ranks["errors"]
    one, said = result(), ranks["results"]
    for rank in said:
        assert rank["found"]["weights"] == pytest.approx(one["weights"], rel=1e-9, abs=1e-10)
    assert said[0]["found"]["rollouts"][0]["samples"] == one["rollouts"][0]["samples"]
    assert said[0]["failed"].startswith("rank 1 could not write its rollouts in iteration 0")
    assert "gave nan, not a finite number; sample 3" in said[1]["failed"]


def test_after_the_last_iteration_one_look_back_completes_the_record():
    """One share of cut tokens and one divergence, made again from the batch and the weights."""
    model, data = actor_and_critic(epochs=3)
    data.look_back()  # nothing was written
    trainer(model, data, steps=6, lr=0.1).fit()
    data.look_back()
    batch = data.rollouts
    mask = batch["targets"] != -100
    with torch.no_grad():
        log_rho = (target_log_probabilities(model.policy, batch) - batch["logp_old"])[mask]
    A = batch["advantages"][mask]
    cut = ((A > 0) & (log_rho.exp() > 1.2)) | ((A < 0) & (log_rho.exp() < 0.8))
    record = data.history[1]
    assert record["moved"] == pytest.approx(float((log_rho.expm1() - log_rho).mean()))
    assert record["clip_share"] == pytest.approx(float(cut.double().mean()))
    assert record["clip_share"] > 0


def test_with_one_step_an_iteration_there_is_nothing_to_look_back_on():
    model, data = actor_and_critic()
    trainer(model, data, steps=2).fit()
    data.look_back()
    assert all("moved" not in record for record in data.history)
