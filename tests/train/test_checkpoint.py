import hashlib
import json
import math
import random
import shutil

import numpy as np
import pytest
import torch
from torch import nn
from train.tiny_runs import IDS, tiny_data, tiny_model, tiny_trainer, weights

from mathlm.errors import (
    CheckpointCorruptError,
    CheckpointError,
    CheckpointMismatchError,
    ConfigError,
    InputError,
    NonFiniteLossError,
)
from mathlm.optim import SGD, Adam, AdamW, RMSProp, warmup_cosine
from mathlm.train import (
    checkpoints,
    load_checkpoint,
    newest_checkpoint,
    next_token,
    save_checkpoint,
)
from mathlm.train.checkpoint import refuse_changes
from mathlm.train.folders import MANIFEST, seal

FILES = ["model.safetensors", "optimizer.safetensors", "state.json", MANIFEST]


def saved(folder, steps=2, model=None, **config):
    """A checkpoint of a short run."""
    tiny_trainer(model, steps=steps, folder=folder, **config).fit()
    return newest_checkpoint(folder)


def resumed(folder, **options):
    trainer = tiny_trainer(folder=folder, **options)
    trainer.resume()
    return trainer


def test_a_loaded_checkpoint_is_what_was_saved(tmp_path):
    trainer = tiny_trainer(steps=3, folder=tmp_path)
    trainer.fit()
    model = tiny_model(seed=9)
    optimizer = AdamW(model.parameters(), lr=7.0)
    state = load_checkpoint(tmp_path, model, optimizer)
    assert torch.equal(weights(model), weights(trainer.model))
    for own, other in zip(
        optimizer.state.values(), trainer.optimizer.state.values(), strict=True
    ):
        assert all(torch.equal(own[name], other[name]) for name in ("step", "m", "v"))
    assert optimizer.param_groups[0]["lr"] == trainer.optimizer.param_groups[0]["lr"]
    assert optimizer.param_groups[0]["betas"] == (0.9, 0.95)
    assert state["history"] == trainer.history


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_weights_of_every_dtype_survive(tmp_path, dtype):
    model, other = tiny_model(1).to(dtype), tiny_model(2).to(dtype)
    load_checkpoint(save_checkpoint(tmp_path, 1, model), other)
    assert torch.equal(weights(model), weights(other))


def test_buffers_and_views_survive(tmp_path):
    model, other = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    model(torch.randn(5, 3))
    whole = torch.randn(4, 3)
    model.weight, model.bias = nn.Parameter(whole[1]), nn.Parameter(whole[:3, 0])
    load_checkpoint(save_checkpoint(tmp_path, 1, model), other)
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor)


@pytest.mark.parametrize("at", range(1, 12))
def test_a_run_resumed_at_any_step_equals_the_unbroken_run(tmp_path, at):
    straight = tiny_trainer(steps=12, held_out=tiny_data(), eval_every=2)
    straight.fit()
    first = {"save_every": 1, "eval_every": 2, "keep": None}
    tiny_trainer(steps=12, folder=tmp_path, held_out=tiny_data(), **first).fit()
    again = tiny_trainer(steps=12, held_out=tiny_data(), eval_every=2)
    again.resume(tmp_path / f"step_{at:06d}")
    again.fit()
    assert torch.equal(weights(again.model), weights(straight.model))
    assert again.history == straight.history
    moments = (run.optimizer.state.values() for run in (again, straight))
    for own, other in zip(*moments, strict=True):
        assert all(torch.equal(own[name], other[name]) for name in ("step", "m", "v"))


def test_the_learning_rates_after_a_resume_are_those_of_the_unbroken_run(tmp_path):
    straight = [record["lr"] for record in tiny_trainer(steps=10).fit()]
    for at in range(1, 10):
        saved(tmp_path / str(at), steps=at)
        assert [r["lr"] for r in resumed(tmp_path / str(at), steps=10).fit()] == straight


@pytest.mark.parametrize("at", [2, 5, 7], ids=["mid-epoch", "at the boundary", "in epoch 1"])
def test_the_tokens_after_a_resume_are_those_of_the_unbroken_run(tmp_path, at):
    def seen(trainer):
        tokens, data = [], trainer.data
        trainer.data = lambda step: tokens.append(data(step)["ids"]) or data(step)
        trainer.describe = lambda: {}
        return tokens

    straight, again = tiny_trainer(steps=12), tiny_trainer(steps=12)
    assert tiny_data().steps_per_epoch == 5
    saved(tmp_path, steps=at)
    again.resume(tmp_path, allow_change=True)
    every, rest = seen(straight), seen(again)
    straight.fit()
    again.fit()
    assert len(rest) == 12 - at
    assert all(torch.equal(a, b) for a, b in zip(every[at:], rest, strict=True))


def test_the_states_of_all_generators_are_restored(tmp_path):
    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002

    model = tiny_model()
    optimizer = AdamW(model.parameters())
    save_checkpoint(tmp_path, 1, model, optimizer)
    following = draw()
    draws = [load_checkpoint(tmp_path, model, optimizer) and draw() for _ in range(2)]
    assert draws[0] == draws[1]
    assert draws[0][1:] == following[1:]  # the type checks of the tests draw from the first


def test_loading_weights_alone_leaves_the_generators_alone(tmp_path):
    path, model = saved(tmp_path), tiny_model()
    before = torch.get_rng_state()
    load_checkpoint(path, model)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("tied", [True, False])
def test_a_tied_weight_is_saved_once_and_stays_tied(tmp_path, tied):
    def make(seed):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Embedding(11, 6), nn.Linear(6, 11, bias=False))
        if tied:
            model[1].weight = model[0].weight
        return model

    model, other = make(1), make(2)
    path = save_checkpoint(tmp_path, 1, model)
    load_checkpoint(path, other)
    assert torch.equal(other[0].weight, model[0].weight)
    assert torch.equal(other[1].weight, model[1].weight)
    assert (other[0].weight.data_ptr() == other[1].weight.data_ptr()) == tied
    size = (path / "model.safetensors").stat().st_size
    assert (size < 2 * 66 * 8) == tied


def test_a_tied_checkpoint_does_not_load_into_an_untied_model(tmp_path):
    tied = nn.Sequential(nn.Embedding(11, 6), nn.Linear(6, 11, bias=False))
    tied[1].weight = tied[0].weight
    path = save_checkpoint(tmp_path, 1, tied)
    untied = nn.Sequential(nn.Embedding(11, 6), nn.Linear(6, 11, bias=False))
    with pytest.raises(CheckpointMismatchError, match=r"missing 1 \(1.weight \(11,6\)\)"):
        load_checkpoint(path, untied)


@pytest.mark.parametrize("name", FILES)
def test_any_flipped_byte_is_found(tmp_path, name):
    path, model = saved(tmp_path), tiny_model()
    raw = (path / name).read_bytes()
    before = weights(model)
    for place in np.linspace(0, len(raw) - 1, 40).astype(int):
        for bit in (0, 3, 6):
            flipped = bytearray(raw)
            flipped[place] ^= 1 << bit
            (path / name).write_bytes(flipped)
            with pytest.raises(CheckpointCorruptError, match=f"(?s)is corrupt: .*{name}"):
                load_checkpoint(path, model)
    assert torch.equal(weights(model), before)


@pytest.mark.parametrize("name", FILES[:3])
def test_a_flipped_byte_names_the_file_and_both_hashes(tmp_path, name):
    path = saved(tmp_path)
    raw = (path / name).read_bytes()
    other = raw[:-1] + bytes([raw[-1] ^ 1])
    (path / name).write_bytes(other)
    found, expected = (hashlib.sha256(content).hexdigest() for content in (other, raw))
    text = rf"is corrupt: sha256 of {name} is {found}, expected {expected}"
    with pytest.raises(CheckpointCorruptError, match=text):
        load_checkpoint(path, tiny_model())


@pytest.mark.parametrize("name", FILES[:3])
def test_a_truncated_file_is_named_with_both_sizes(tmp_path, name):
    path = saved(tmp_path)
    raw = (path / name).read_bytes()
    (path / name).write_bytes(raw[:100])
    text = rf"{name} is truncated: 100 of {len(raw):,} bytes"
    with pytest.raises(CheckpointCorruptError, match=text):
        load_checkpoint(path, tiny_model())


def test_a_missing_or_longer_file_is_named(tmp_path):
    path = saved(tmp_path)
    with open(path / "state.json", "ab") as file:
        file.write(b" ")
    with pytest.raises(CheckpointCorruptError, match=r"state.json is corrupt: [\d,]+ bytes"):
        load_checkpoint(path, tiny_model())
    (path / "state.json").unlink()
    with pytest.raises(CheckpointCorruptError, match=r"state.json is missing"):
        load_checkpoint(path, tiny_model())


def test_missing_extra_and_misshaped_tensors_are_listed_and_nothing_is_loaded(tmp_path):
    path = save_checkpoint(
        tmp_path, 1, nn.ModuleDict({"a": nn.Linear(2, 3), "b": nn.Linear(2, 2)})
    )
    model = nn.ModuleDict({"a": nn.Linear(2, 4), "c": nn.Linear(2, 2)})
    before = weights(model)
    text = (
        r"state does not fit the model: missing 2 \(c.weight \(2,2\), c.bias \(2\)\); "
        r"unexpected 2 \(b.bias \(2\), b.weight \(2,2\)\); "
        r"shape a.weight \(3,2\) ≠ \(4,2\), a.bias \(3\) ≠ \(4\)"
    )
    with pytest.raises(CheckpointMismatchError, match=text):
        load_checkpoint(path, model)
    assert torch.equal(weights(model), before)


def test_a_long_list_of_missing_tensors_ends_in_a_count(tmp_path):
    path = save_checkpoint(tmp_path, 1, nn.Linear(2, 2))
    model = nn.Sequential(*(nn.Linear(2, 2, bias=False) for _ in range(13)))
    text = r"missing 13 \(0.weight \(2,2\), .*9.weight \(2,2\) and 3 more\)"
    with pytest.raises(CheckpointMismatchError, match=text):
        load_checkpoint(path, model)


def test_another_dtype_is_refused(tmp_path):
    path = save_checkpoint(tmp_path, 1, nn.Linear(2, 2).float())
    with pytest.raises(CheckpointMismatchError, match="dtype weight float32 ≠ float64"):
        load_checkpoint(path, nn.Linear(2, 2))


def test_the_state_of_another_optimizer_is_refused_and_nothing_is_loaded(tmp_path):
    path, model = saved(tmp_path), tiny_model(seed=9)
    before = weights(model)
    groups = [{"params": [p]} for p in model.parameters()]
    with pytest.raises(CheckpointMismatchError, match=r"groups of \[5\] parameters, expected"):
        load_checkpoint(path, model, AdamW(groups))
    reverse = AdamW(list(model.parameters())[::-1])
    with pytest.raises(CheckpointMismatchError, match=r"shape 0.m \(11,6\) ≠ \(11\)"):
        load_checkpoint(path, model, reverse)
    assert torch.equal(weights(model), before)


@pytest.mark.parametrize("other", [Adam, SGD, RMSProp])
def test_the_state_of_another_kind_of_optimizer_is_refused(tmp_path, other):
    trainer = tiny_trainer(steps=1)
    trainer.fit()
    path = save_checkpoint(tmp_path, 1, trainer.model, trainer.optimizer)
    optimizer = other(trainer.model.parameters(), lr=0.3)
    with pytest.raises(
        CheckpointMismatchError, match=f"made by AdamW, and this is {other.__name__}"
    ):
        load_checkpoint(path, trainer.model, optimizer, allow_change=True)
    assert optimizer.param_groups[0]["lr"] == 0.3
    assert not optimizer.state


def test_the_state_of_an_optimizer_of_the_same_name_is_refused(tmp_path):
    """torch's AdamW keeps exp_avg, the one of this package m: neither knows the other's."""
    layer = nn.Linear(2, 2)
    kinds = {"torch": torch.optim.AdamW, "mathlm": AdamW}
    for own, other in (("torch", "mathlm"), ("mathlm", "torch")):
        path = save_checkpoint(tmp_path, 1, layer, kinds[own](layer.parameters()))
        load_checkpoint(path, layer, kinds[own](layer.parameters()))
        with pytest.raises(
            CheckpointMismatchError, match=f"made by {own}'s AdamW, and this is {other}'s"
        ):
            load_checkpoint(path, layer, kinds[other](layer.parameters()))


def test_a_checkpoint_of_a_model_alone_does_not_continue_a_run(tmp_path):
    model = tiny_model()
    path = save_checkpoint(tmp_path, 1, model)
    with pytest.raises(CheckpointMismatchError, match="holds no optimizer, only a model"):
        load_checkpoint(path, model, AdamW(model.parameters()))


@pytest.mark.parametrize(("number", "relation"), [(3, "newer"), (0, "older")])
def test_another_format_is_refused(tmp_path, number, relation):
    path = saved(tmp_path)
    rewrite(path, "state.json", json.dumps({"format": number}).encode())
    text = rf"checkpoint format {number} is {relation} than this mathlm \(2\)"
    with pytest.raises(CheckpointMismatchError, match=text):
        load_checkpoint(path, tiny_model())


def test_a_checkpoint_of_format_1_is_read_as_it_is_written_today(tmp_path):
    """It knew full precision alone, kept no parts, and was tied to its number of ranks."""
    straight = tiny_trainer(steps=5)
    straight.fit()
    path = saved(tmp_path, steps=2)
    state = json.loads((path / "state.json").read_text())
    assert state["format"] == 2
    del state["parts"], state["config"]["precision"]
    state |= {"format": 1, "config": state["config"] | {"ranks": 3}}
    rewrite(path, "state.json", json.dumps(state).encode())
    again = resumed(tmp_path, steps=5)
    again.fit()
    assert torch.equal(weights(again.model), weights(straight.model))
    assert again.history == straight.history


def rewrite(path, name, content):
    """Change a file and its entry in the manifest, as somebody with bad intentions would."""
    (path / name).write_bytes(content)
    files = json.loads((path / MANIFEST).read_text())["files"]
    files[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (path / MANIFEST).write_bytes(seal({"files": files}))


def test_a_resume_with_other_settings_lists_every_difference(tmp_path):
    saved(tmp_path)
    other = tiny_trainer(
        folder=tmp_path, schedule=warmup_cosine(0.1, 2, 20), clip=2.0, data=tiny_data(seed=4)
    )
    with pytest.raises(CheckpointMismatchError) as error:
        other.resume()
    for part in (
        "clip was 1.0, is 2.0",
        "schedule.peak was 0.05, is 0.1",
        "data.seed was 3, is 4",
    ):
        assert part in str(error.value)
    assert str(error.value).count(" was ") == 3
    assert other.step == 0


def test_a_run_goes_on_where_a_file_of_the_package_has_another_place():
    own = {"objective": "mathlm.train.next_token"}
    refuse_changes({"objective": "mathlm.train.objectives.next_token"}, own)
    for other in ("mathlm.train.objectives.all_tokens", "mathlm.align.objectives.next_token"):
        with pytest.raises(CheckpointMismatchError, match=f"{other}, is mathlm.train.next_tok"):
            refuse_changes({"objective": other}, own)


def test_the_optimizer_options_are_compared_and_those_of_the_resumed_run_hold(tmp_path):
    saved(tmp_path)
    other = tiny_trainer(folder=tmp_path, weight_decay=0.5)
    text = "optimizer.group 0.weight_decay was 0.01, is 0.5"
    with pytest.raises(CheckpointMismatchError, match=text):
        other.resume()
    other.resume(allow_change=True)
    assert other.optimizer.param_groups[0]["weight_decay"] == 0.5


def test_a_run_can_be_resumed_twice(tmp_path):
    saved(tmp_path, steps=2)
    resumed(tmp_path, steps=4).fit()
    assert len(resumed(tmp_path, steps=6).fit()) == 6


def test_a_resume_with_other_settings_can_be_allowed(tmp_path):
    saved(tmp_path)
    other = tiny_trainer(folder=tmp_path, clip=2.0)
    assert other.resume(allow_change=True) == 2


def test_a_number_that_differs_is_short_where_that_tells_it_apart():
    """3 × 0.0015 is 0.0045000000000000005 in binary."""
    with pytest.raises(CheckpointMismatchError, match=r"peak was 0\.0045, is 0\.1\. Use"):
        refuse_changes({"peak": 3 * 0.0015}, {"peak": 0.1})
    with pytest.raises(
        CheckpointMismatchError, match=r"was 0\.0045000000000000005, is 0\.0045\."
    ):
        refuse_changes({"peak": 3 * 0.0015}, {"peak": 0.0045})


def test_a_run_may_be_made_longer(tmp_path):
    saved(tmp_path, steps=2)
    assert len(resumed(tmp_path, steps=9).fit()) == 9


def test_a_corpus_that_changed_is_refused_and_the_shard_named(tmp_path, monkeypatch):
    monkeypatch.setattr("mathlm.train.windows.SHARD", 50)
    saved(tmp_path)
    ids = list(IDS)
    ids[170] += 1
    other = tiny_trainer(folder=tmp_path, data=tiny_data(ids=ids))
    text = r"resume config differs: data_sha256 \(shard 3 changed since the run began"
    with pytest.raises(CheckpointMismatchError, match=text):
        other.resume()
    longer = tiny_trainer(folder=tmp_path, data=tiny_data(ids=[*IDS, *IDS]))
    with pytest.raises(CheckpointMismatchError, match="data_sha256 had 4 shards, has 8"):
        longer.resume()


def test_only_the_newest_checkpoints_are_kept(tmp_path):
    tiny_trainer(steps=7, folder=tmp_path, save_every=2, keep=2).fit()
    assert [path.name for path in checkpoints(tmp_path)] == ["step_000006", "step_000007"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step_000006", "step_000007"]


def test_what_was_just_written_stays_beside_later_checkpoints(tmp_path):
    """Back to step 2 of 4 with other options: the new run ends at 3, and 3 is there."""
    tiny_trainer(steps=4, folder=tmp_path, save_every=2).fit()
    again = tiny_trainer(steps=3, folder=tmp_path, keep=1, seed=5)
    again.resume(tmp_path / "step_000002", allow_change=True)
    again.fit()
    assert [path.name for path in checkpoints(tmp_path)] == ["step_000003", "step_000004"]


def test_a_history_with_losses_that_are_not_finite_is_saved(tmp_path):
    losses = [math.nan, math.inf, -math.inf, 2.0]
    history = [{"step": i, "loss": loss} for i, loss in enumerate(losses)]
    path = save_checkpoint(tmp_path, 4, tiny_model(), history=history)
    found = [record["loss"] for record in load_checkpoint(path, tiny_model())["history"]]
    assert found == pytest.approx(losses, nan_ok=True)


def test_a_run_goes_on_after_a_loss_that_was_not_finite(tmp_path):
    def poisoned(model, batch):
        loss, count = next_token(model, batch)
        return (loss * math.nan if factor and trainer.step == 3 else loss), count

    factor, straight = [True], tiny_trainer()
    trainer = tiny_trainer(objective=poisoned, folder=tmp_path)
    with pytest.raises(NonFiniteLossError):
        trainer.fit()
    factor.clear()
    trainer.fit()
    straight.fit()
    assert torch.equal(weights(trainer.model), weights(straight.model))
    assert [path.name for path in checkpoints(tmp_path)] == ["step_000006"]


def test_a_checkpoint_written_twice_is_the_second(tmp_path):
    save_checkpoint(tmp_path, 1, tiny_model(1))
    path, model = save_checkpoint(tmp_path, 1, tiny_model(2)), tiny_model(3)
    load_checkpoint(path, model)
    assert torch.equal(weights(model), weights(tiny_model(2)))
    assert [p.name for p in tmp_path.iterdir()] == ["step_000001"]


def test_a_folder_without_manifest_is_no_checkpoint(tmp_path):
    path = saved(tmp_path, steps=3)
    shutil.copytree(path, tmp_path / "step_000009")
    (tmp_path / "step_000009" / MANIFEST).unlink()
    assert newest_checkpoint(tmp_path) == path


def test_a_run_does_not_start_in_the_folder_of_another(tmp_path):
    saved(tmp_path)
    with pytest.raises(ConfigError, match="holds step_000002 of an earlier run: call resume"):
        tiny_trainer(folder=tmp_path).fit()


def test_a_resume_without_checkpoints_starts_at_step_zero(tmp_path):
    assert tiny_trainer(folder=tmp_path).resume() == 0
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        load_checkpoint(tmp_path / "nowhere", tiny_model())


def test_a_read_only_checkpoint_loads(tmp_path):
    path = saved(tmp_path)
    for file in path.iterdir():
        file.chmod(0o444)
    path.chmod(0o555)
    listing = {p: p.stat().st_mtime_ns for p in path.iterdir()}
    load_checkpoint(path, tiny_model())
    path.chmod(0o755)
    assert {p: p.stat().st_mtime_ns for p in path.iterdir()} == listing


def test_no_part_of_a_checkpoint_is_a_pickle(tmp_path):
    path = saved(tmp_path)
    assert sorted(p.name for p in path.iterdir()) == sorted(FILES)
    for name in ("state.json", MANIFEST):
        assert isinstance(json.loads((path / name).read_text()), dict)
    for name in FILES[:2]:
        assert (path / name).read_bytes()[8:9] == b"{"


def test_a_step_below_zero_is_refused(tmp_path):
    with pytest.raises(InputError, match="step=-1 must be an integer of at least 0"):
        save_checkpoint(tmp_path, -1, tiny_model())
