"""What else a checkpoint carries, and checkpoints of the first format."""

import json

import pytest
import torch
from torch import nn
from train.test_checkpoint import rewrite, saved
from train.tiny_runs import tiny_model, tiny_trainer, weights

from mathlm.errors import CheckpointCorruptError, CheckpointMismatchError, InputError
from mathlm.train import load_checkpoint, save_checkpoint


class Counter:
    """A part with a tensor and a number."""

    def __init__(self, size=3, value=0.0):
        self.mean, self.scale = torch.full((size,), value), value

    def state_dict(self):
        return {"mean": self.mean, "scale": self.scale}

    def load_state_dict(self, state):
        self.mean, self.scale = state["mean"], state["scale"]


def stored(folder, **parts):
    return save_checkpoint(folder, 1, tiny_model(), parts=parts)


def test_a_part_comes_back_as_it_was(tmp_path):
    path, other = stored(tmp_path, counter=Counter(value=2.5), nothing=None), Counter()
    load_checkpoint(path, tiny_model(), parts={"counter": other, "nothing": None})
    assert torch.equal(other.mean, torch.full((3,), 2.5))
    assert other.scale == 2.5
    assert sorted(p.name for p in path.iterdir()) == [
        "counter.safetensors",
        "manifest.json",
        "model.safetensors",
        "optimizer.safetensors",
        "state.json",
    ]


def test_a_part_that_the_checkpoint_lacks_stays(tmp_path):
    path, other = stored(tmp_path), Counter(value=1.0)
    load_checkpoint(path, tiny_model(), parts={"counter": other})
    assert other.scale == 1.0


def test_a_part_that_is_not_asked_for_does_not_matter(tmp_path):
    assert load_checkpoint(stored(tmp_path, counter=Counter()), tiny_model())["step"] == 1


def test_a_part_of_another_shape_is_refused_and_nothing_is_loaded(tmp_path):
    path, model, other = stored(tmp_path, counter=Counter()), tiny_model(seed=5), Counter(4)
    before = weights(model)
    with pytest.raises(
        CheckpointMismatchError, match=r"state does not fit counter: shape mean"
    ):
        load_checkpoint(path, model, parts={"counter": other})
    assert torch.equal(weights(model), before)


def test_a_part_with_other_numbers_is_refused(tmp_path):
    path, other = stored(tmp_path, counter=Counter()), Counter()
    other.state_dict = lambda: {"mean": other.mean, "rate": 1.0}
    text = "state does not fit counter: it has scale, expected rate"
    with pytest.raises(CheckpointMismatchError, match=text):
        load_checkpoint(path, tiny_model(), parts={"counter": other})


@pytest.mark.parametrize("name", ["model", "state", "../x", "a b", ""])
def test_a_part_needs_a_name_of_its_own(tmp_path, name):
    with pytest.raises(InputError, match="needs a name of small letters"):
        save_checkpoint(tmp_path, 1, tiny_model(), parts={name: Counter()})
    assert list(tmp_path.iterdir()) == []


def test_a_flipped_byte_in_a_part_is_found(tmp_path):
    path = stored(tmp_path, counter=Counter())
    content = bytearray((path / "counter.safetensors").read_bytes())
    content[-1] ^= 1
    (path / "counter.safetensors").write_bytes(content)
    with pytest.raises(CheckpointCorruptError, match=r"sha256 of counter\.safetensors is"):
        load_checkpoint(path, tiny_model())


def test_a_pickle_in_place_of_a_part_is_refused(tmp_path):
    path = stored(tmp_path, counter=Counter())
    rewrite(path, "counter.safetensors", b"\x80\x04evil")
    with pytest.raises(CheckpointMismatchError, match="mathlm does not unpickle"):
        load_checkpoint(path, tiny_model(), parts={"counter": Counter()})


def as_format_1(path, ranks=2):
    """Write the checkpoint as the first format had it, which knew its number of ranks."""
    state = json.loads((path / "state.json").read_text())
    new = {"precision", "loss_scale", "ema"}
    config = {k: v for k, v in state["config"].items() if k not in new} | {"ranks": ranks}
    state = {k: v for k, v in state.items() if k != "parts"} | {"format": 1, "config": config}
    rewrite(path, "state.json", json.dumps(state).encode())


def test_a_run_of_the_first_format_goes_on_as_it_would_have(tmp_path):
    straight = tiny_trainer(steps=4)
    straight.fit()
    as_format_1(saved(tmp_path))
    other = tiny_trainer(steps=4, folder=tmp_path)
    assert other.resume() == 2
    other.fit()
    assert torch.equal(weights(other.model), weights(straight.model))


def test_a_run_of_the_first_format_was_not_of_half_precision(tmp_path):
    as_format_1(saved(tmp_path))
    other = tiny_trainer(steps=4, folder=tmp_path, precision="bfloat16")
    with pytest.raises(CheckpointMismatchError, match="precision was full, is bfloat16"):
        other.resume()


def test_the_state_of_a_model_names_a_tied_tensor_once(tmp_path):
    model = nn.ModuleDict({"a": nn.Linear(2, 2, bias=False), "b": nn.Linear(2, 2, bias=False)})
    model["b"].weight = model["a"].weight
    path = save_checkpoint(tmp_path, 0, model)
    other = nn.Linear(2, 2, bias=False)
    with pytest.raises(CheckpointMismatchError, match=r"missing 1 .*unexpected 1 \(a\.weight"):
        load_checkpoint(path, other)


class Growing(Counter):
    """A part whose tensor grows, and which says itself what fits."""

    def require_state(self, state):
        if set(state) != {"mean", "scale"}:
            raise CheckpointMismatchError(f"state does not fit: it has {sorted(state)}")


def test_a_part_may_change_its_shape_if_it_says_what_fits(tmp_path):
    path, other = stored(tmp_path, counter=Growing(size=5, value=2.0)), Growing(size=0)
    load_checkpoint(path, tiny_model(), parts={"counter": other})
    assert other.mean.tolist() == [2.0] * 5


def test_what_a_part_itself_refuses_is_not_loaded(tmp_path):
    part = Growing()
    part.state_dict = lambda: {"mean": part.mean}
    other = Growing(size=1)
    with pytest.raises(CheckpointMismatchError, match=r"it has \['mean'\]"):
        load_checkpoint(stored(tmp_path, counter=part), tiny_model(), parts={"counter": other})
    assert len(other.mean) == 1


def test_data_with_a_state_is_part_of_a_checkpoint(tmp_path):
    """A trainer whose data counts what it gave; the resumed one counts on."""

    class Data(Counter):
        def __call__(self, step):
            self.scale += 1
            return tiny_data(step)

    tiny_data = tiny_trainer(tiny_model()).data
    tiny_trainer(tiny_model(), Data(), folder=tmp_path, steps=2).fit()
    run = tiny_trainer(tiny_model(), data := Data(), folder=tmp_path, steps=3)
    run.resume(allow_change=True)
    assert data.scale == 2
    run.fit()
    assert data.scale == 3
