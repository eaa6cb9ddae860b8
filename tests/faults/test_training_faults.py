"""What a training run does when the world around it fails."""

import json
import logging
import os
import pickle
import resource
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save
from train.test_checkpoint import rewrite, saved
from train.tiny_runs import tiny_data, tiny_model, tiny_trainer, weights

from mathlm.errors import (
    CheckpointCorruptError,
    CheckpointError,
    CheckpointMismatchError,
    ConfigError,
    DataError,
    DeviceError,
    InputError,
    InputTypeError,
    NonFiniteLossError,
    OutOfMemoryError,
)
from mathlm.train import (
    TokenWindows,
    checkpoints,
    load_checkpoint,
    newest_checkpoint,
    next_token,
    resolve_device,
)

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@contextmanager
def limit(kind, value):
    """A soft limit of the process, for a moment."""
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))


def signalled(number, times=1):
    """An objective that is interrupted while it computes the third step."""

    def objective(model, batch):
        if objective.calls == 2:
            for _ in range(times):
                signal.raise_signal(number)  # to this thread, so that two do not become one
        objective.calls += 1
        return next_token(model, batch)

    objective.calls = 0
    return objective


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_lets_the_step_finish_saves_it_and_exits(tmp_path, caplog, number, code):
    trainer = tiny_trainer(objective=signalled(number), folder=tmp_path)
    with pytest.raises(SystemExit) as error:
        trainer.fit()
    assert error.value.code == code
    assert "interrupted at step 3; checkpoint saved" in caplog.text
    assert [path.name for path in checkpoints(tmp_path)] == ["step_000003"]


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_an_interrupted_run_continues_as_if_it_had_not_been(tmp_path, number, code):
    straight = tiny_trainer()
    straight.fit()
    first = tiny_trainer(objective=signalled(number), folder=tmp_path)
    with pytest.raises(SystemExit):
        first.fit()
    again = tiny_trainer(folder=tmp_path)
    again.resume(allow_change=True)
    again.fit()
    assert torch.equal(weights(again.model), weights(straight.model))
    assert again.history == straight.history


@pytest.fixture
def ctrl_c():
    """The handler of Python, which a process started in the background does not have."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_a_second_signal_acts_at_once(tmp_path):
    trainer = tiny_trainer(objective=signalled(signal.SIGINT, times=2), folder=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        trainer.fit()
    assert trainer.step == 2
    assert checkpoints(tmp_path) == []


def test_signal_handlers_are_given_back():
    before = [signal.getsignal(number) for number, _ in SIGNALS]
    tiny_trainer().fit()
    assert [signal.getsignal(number) for number, _ in SIGNALS] == before


def test_an_interrupted_run_without_folder_says_that_nothing_is_saved(caplog):
    with pytest.raises(SystemExit):
        tiny_trainer(objective=signalled(signal.SIGINT)).fit()
    assert "interrupted at step 3; no folder, so nothing saved" in caplog.text


def test_an_interrupted_run_can_go_on_in_the_same_process():
    straight = tiny_trainer()
    straight.fit()
    trainer = tiny_trainer(objective=signalled(signal.SIGINT))
    with pytest.raises(SystemExit):
        trainer.fit()
    assert trainer.fit() == straight.history
    assert torch.equal(weights(trainer.model), weights(straight.model))


def test_after_nan_the_last_good_checkpoint_loads(tmp_path):
    def poisoned(model, batch):
        loss, count = next_token(model, batch)
        return (loss * torch.nan if trainer.step == 4 else loss), count

    trainer = tiny_trainer(objective=poisoned, folder=tmp_path, save_every=2)
    with pytest.raises(NonFiniteLossError, match="at step 5"):
        trainer.fit()
    model = tiny_model()
    assert load_checkpoint(tmp_path, model)["step"] == 4
    assert torch.equal(weights(model), weights(trainer.model))


def test_a_full_disk_keeps_the_old_checkpoint(tmp_path):
    path = saved(tmp_path, steps=2)
    trainer = tiny_trainer(folder=tmp_path, steps=4)
    trainer.resume()
    text = (
        r"cannot write checkpoint .*step_000004: no space left "
        r"\(needed 0.0 MB, free [\d.]+ MB\); last good: step 2"
    )
    with limit(resource.RLIMIT_FSIZE, 1000), pytest.raises(CheckpointError, match=text):
        trainer.fit()
    assert list(tmp_path.iterdir()) == [path]
    load_checkpoint(path, tiny_model())


def test_a_folder_that_cannot_be_written_stops_the_run_before_the_first_step(tmp_path):
    (tmp_path / "taken").write_text("a file")
    trainer = tiny_trainer(folder=tmp_path / "taken")
    before = weights(trainer.model)
    with pytest.raises(CheckpointError, match=r"output directory .*taken is not writable"):
        trainer.fit()
    assert trainer.step == 0
    assert torch.equal(weights(trainer.model), before)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_stops_the_run_before_the_first_step(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(CheckpointError, match="is not writable"):
        tiny_trainer(folder=tmp_path).fit()


def test_a_missing_folder_is_made(tmp_path):
    tiny_trainer(folder=tmp_path / "a" / "b").fit()
    assert newest_checkpoint(tmp_path / "a" / "b").name == "step_000006"


MEMORY = [
    RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    torch.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
]


@pytest.mark.parametrize("error", MEMORY, ids=["text", "type", "cpu"])
def test_out_of_memory_gives_advice_and_does_no_step(error):
    def hungry(model, batch):
        if trainer.step == 1:
            raise error
        return next_token(model, batch)

    trainer, once = tiny_trainer(objective=hungry), tiny_trainer(steps=1)
    once.fit()
    with pytest.raises(
        OutOfMemoryError, match="out of memory at batch 5×8; try micro_batches=2"
    ):
        trainer.fit()
    assert torch.equal(weights(trainer.model), weights(once.model))
    assert all(p.grad is None for p in trainer.model.parameters())


def test_out_of_memory_with_single_rows_asks_for_a_shorter_context():
    def hungry(model, batch):
        raise RuntimeError("out of memory")

    with pytest.raises(
        OutOfMemoryError, match="out of memory at batch 5×8; each micro-batch is"
    ):
        tiny_trainer(objective=hungry, micro_batches=5).fit()


def test_another_error_of_the_objective_passes_unchanged():
    def broken(model, batch):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match=r"^shapes do not match$"):
        tiny_trainer(objective=broken).fit()


def test_cuda_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="CUDA was asked for but torch sees none"):
        tiny_trainer(device="cuda")


def test_auto_takes_the_cpu_and_says_so_once(monkeypatch, caplog):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with caplog.at_level(logging.INFO, logger="mathlm"):
        assert resolve_device("auto") == torch.device("cpu")
    assert len(caplog.messages) == 1
    assert "the run uses the CPU" in caplog.text


def test_an_unknown_device_is_refused():
    resolve = getattr(resolve_device, "__wrapped__", resolve_device)
    with pytest.raises(ConfigError, match="device='tpu' must be 'cpu', 'cuda' or 'auto'"):
        resolve("tpu")


def windows(ids, context=8):
    return TokenWindows(ids, context=context, batch_size=2, vocab_size=11)


def test_an_empty_corpus_is_refused():
    with pytest.raises(DataError, match=r"the corpus is empty \(0 tokens after encoding\)"):
        windows([])


def test_a_corpus_shorter_than_a_window_is_refused():
    with pytest.raises(DataError, match="corpus has 90 tokens; context 128 needs at least 129"):
        windows([1] * 90, context=128)


@pytest.mark.parametrize(("bad", "place"), [(11, 17), (-1, 3)])
def test_an_id_outside_the_vocabulary_is_refused(bad, place):
    ids = [1] * 30
    ids[place] = bad
    with pytest.raises(InputError, match=rf"token id {bad} at \[{place}\] is outside 0..10"):
        windows(ids)


def test_ids_that_are_not_integers_are_refused():
    with pytest.raises(InputTypeError, match="token ids must be int64, got float32"):
        windows(np.ones(30, np.float32))
    batch = tiny_data()(0)
    with pytest.raises(InputTypeError, match="token ids must be int64, got float64"):
        next_token(tiny_model(), batch | {"ids": batch["ids"].double()})
    with pytest.raises(InputTypeError, match="targets must be int64, got int32"):
        next_token(tiny_model(), batch | {"targets": batch["targets"].int()})


class Evil:
    """Unpickled, it makes a file."""

    def __init__(self, sentinel):
        self.sentinel = sentinel

    def __reduce__(self):
        return os.system, (f"touch {self.sentinel}",)


def write_pt(path, evil):
    torch.save(evil, path)


def write_old_pt(path, evil):
    torch.save(evil, path, _use_new_zipfile_serialization=False)


def write_bin(path, evil):
    path.write_bytes(pickle.dumps(evil))


def write_npy(path, evil):
    with open(path, "wb") as file:
        np.save(file, np.array([evil], dtype=object), allow_pickle=True)


WRITERS = pytest.mark.parametrize("write", [write_pt, write_old_pt, write_bin, write_npy])


@WRITERS
def test_a_pickle_is_refused_and_not_run(tmp_path, write):
    sentinel, path = tmp_path / "sentinel", tmp_path / "weights"
    write(path, Evil(sentinel))
    text = "weights contains objects that are not tensors; mathlm does not unpickle"
    with pytest.raises(CheckpointMismatchError, match=text):
        load_checkpoint(path, tiny_model())
    assert not sentinel.exists()


@WRITERS
def test_a_pickle_inside_a_checkpoint_is_refused_and_not_run(tmp_path, write):
    sentinel, path = tmp_path / "sentinel", saved(tmp_path / "run")
    write(tmp_path / "weights", Evil(sentinel))
    rewrite(path, "model.safetensors", (tmp_path / "weights").read_bytes())
    with pytest.raises(CheckpointMismatchError, match="mathlm does not unpickle"):
        load_checkpoint(path, tiny_model())
    assert not sentinel.exists()


def header(**tensors):
    """A safetensors file with this header and eight bytes of data."""
    text = json.dumps(tensors).encode()
    return len(text).to_bytes(8, "little") + text + bytes(8)


def entry(dtype, shape, start, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


HOSTILE = {
    "8 GB": (8 << 30).to_bytes(8, "little") + b"{" + bytes(100),
    "no header": b"{}",
    "not JSON": (20).to_bytes(8, "little") + b"{" + b"x" * 50,
    "beyond the end": header(a=entry("F32", [100], 0, 400)),
    "a lie about the dtype": header(a=entry("F64", [2], 0, 8)),
    "an unknown dtype": header(a=entry("F99", [2], 0, 8)),
    "overlap": header(a=entry("F32", [1], 0, 4), b=entry("F32", [2], 0, 8)),
    "a shape of 2^62": header(a=entry("F32", [1 << 31, 1 << 31], 0, 8)),
    "negative": header(a=entry("F32", [-1], 0, 8)),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_header_is_refused_in_bounded_memory(tmp_path, content):
    path = saved(tmp_path)
    rewrite(path, "model.safetensors", content)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    with (
        limit(resource.RLIMIT_AS, used + (256 << 20)),
        pytest.raises(CheckpointCorruptError, match=r"model.safetensors has an invalid header"),
    ):
        load_checkpoint(path, tiny_model())


def test_the_hostile_headers_differ_from_a_good_one_only_in_what_they_say(tmp_path):
    path = saved(tmp_path)
    model = torch.nn.Linear(1, 1, bias=False).float()
    rewrite(path, "model.safetensors", save({"weight": torch.ones(1, 1).float()}))
    load_checkpoint(path, model)
    assert model.weight.item() == 1
