"""The records of a run for other programs."""

import csv
import json
import os
import sys
from types import ModuleType, SimpleNamespace

import pytest
from train.tiny_runs import tiny_data, tiny_trainer

from mathlm.errors import CheckpointError, ConfigError, DataError
from mathlm.train import CSVLogger, JSONLLogger, TensorBoardLogger, WandbLogger, run_loggers

FILES = [(JSONLLogger, "log.jsonl"), (CSVLogger, "log.csv")]


def rows(path):
    """Rows of a log by the standard library: numbers by name, without empty cells."""
    text = path.read_text()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    found = csv.DictReader(text.splitlines())
    return [{k: float(v) for k, v in row.items() if v != ""} for row in found]


def record(step, **more):
    return {"step": step, "loss": 1 / (step + 1), "lr": 1e-3} | more


@pytest.mark.parametrize(("make", "name"), FILES)
def test_each_record_is_on_the_disk_at_once(make, name, tmp_path):
    own = make(tmp_path / "new" / name)
    for step in (1, 2, 3):
        own(record(step))
        assert rows(tmp_path / "new" / name) == [record(n) for n in range(1, step + 1)]


@pytest.mark.parametrize(("make", "name"), FILES)
def test_a_number_that_comes_later_keeps_its_name(make, name, tmp_path):
    own, given = make(tmp_path / name), [record(1), record(2, held_out_loss=0.5), record(3)]
    for one in given:
        own(one)
    assert rows(tmp_path / name) == given


@pytest.mark.parametrize(("make", "name"), FILES)
def test_a_run_that_goes_on_repeats_no_step(make, name, tmp_path):
    """Killed after step 4, resumed from the checkpoint of step 2, with one column more."""
    first, second = make(tmp_path / name), make(tmp_path / name)
    for step in (1, 2, 3, 4):
        first(record(step))
    for step in (3, 4, 5):
        second(record(step, margin=0.25))
    expected = [record(1), record(2), *(record(n, margin=0.25) for n in (3, 4, 5))]
    assert rows(tmp_path / name) == expected


@pytest.mark.parametrize(("make", "name"), FILES)
def test_a_run_that_starts_anew_begins_the_file_anew(make, name, tmp_path):
    for loss in (1.0, 2.0):
        own = make(tmp_path / name)
        own(record(1, loss=loss))
        own(record(2, loss=loss))
    assert rows(tmp_path / name) == [record(n, loss=2.0) for n in (1, 2)]


@pytest.mark.parametrize(("make", "name"), FILES)
def test_a_second_run_of_the_same_logger_begins_the_file_anew(make, name, tmp_path):
    own = make(tmp_path / name)
    for loss in (1.0, 2.0):
        for step in (1, 2, 3):
            own(record(step, loss=loss))
    assert rows(tmp_path / name) == [record(n, loss=2.0) for n in (1, 2, 3)]


@pytest.mark.parametrize(("make", "name"), FILES)
def test_a_last_line_that_was_cut_off_is_left_out(make, name, tmp_path):
    own = make(tmp_path / name)
    own(record(1))
    own(record(2))
    path = tmp_path / name
    path.write_text(path.read_text()[:-4])
    make(path)(record(3))
    assert rows(path) == [record(1), record(3)]


@pytest.mark.parametrize(
    ("make", "text"),
    [(JSONLLogger, "hello\n"), (JSONLLogger, "{}\n"), (CSVLogger, "a,b\n1,2\n")],
)
def test_a_file_of_something_else_is_not_written_over(make, text, tmp_path):
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(DataError, match=r"file is no log of a run: .*move the file"):
        make(path)(record(1))
    assert path.read_text() == text


@pytest.mark.parametrize(("make", "name"), FILES)
def test_a_disk_that_refuses_is_named(make, name, tmp_path, monkeypatch):
    own = make(tmp_path / name)
    own(record(1))
    monkeypatch.setattr(
        type(tmp_path),
        "open",
        lambda *_, **__: os.fdopen(os.open("/dev/full", os.O_WRONLY), "w"),
    )
    with pytest.raises(CheckpointError, match=rf"cannot write the log .*{name}: no space left"):
        own(record(2))


def test_a_trainer_tells_its_loggers_what_it_logs_and_how_fast(tmp_path):
    """The first step, each that is due, and the speed, which the history has not."""
    heard = []
    trainer = tiny_trainer(
        steps=4, log_every=3, held_out=tiny_data(), loggers=(heard.append, heard.append)
    )
    history = trainer.fit()
    assert [one["step"] for one in heard] == [1, 1, 3, 3, 4, 4]
    assert all(one.pop("targets_per_second") > 0 for one in heard)
    assert [one for one in heard[::2] if one["step"] > 1] == history


def test_only_the_first_process_has_loggers(monkeypatch):
    heard = []
    monkeypatch.setattr("mathlm.train.trainer.rank", lambda: 1)
    tiny_trainer(steps=2, loggers=(heard.append,)).fit()
    assert heard == []


class Recorder:
    """In place of a writer of TensorBoard, and of a run of wandb."""

    def __init__(self, **options):
        self.options, self.got, self.flushed = options, [], 0

    def add_scalar(self, name, value, step):
        self.got.append((name, value, step))

    def log(self, numbers, step):
        self.got.append((numbers, step))

    def flush(self):
        self.flushed += 1


def test_tensorboard_gets_a_scalar_for_each_number(monkeypatch, tmp_path):
    """Events of a step that is done again are purged by TensorBoard itself."""
    made = []
    fake = ModuleType("torch.utils.tensorboard")
    fake.SummaryWriter = lambda folder, purge_step: (
        made.append(Recorder(folder=folder, purge_step=purge_step)) or made[0]
    )
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    own = TensorBoardLogger(tmp_path / "tensorboard")
    own({"step": 3, "loss": 0.5, "lr": 0.1})
    own({"step": 4, "loss": 0.25})
    assert len(made) == 1
    assert made[0].options == {"folder": str(tmp_path / "tensorboard"), "purge_step": 3}
    assert made[0].got == [("loss", 0.5, 3), ("lr", 0.1, 3), ("loss", 0.25, 4)]
    assert made[0].flushed == 2


def test_wandb_continues_the_run_of_the_folder(monkeypatch, tmp_path):
    runs = []
    init = lambda **options: runs.append(Recorder(**options)) or runs[-1]  # noqa: E731
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    for step in (1, 4, 1):  # begun, resumed, and begun anew
        WandbLogger(tmp_path / "mine")({"step": step, "loss": 0.5})
    names = [run.options["id"] for run in runs]
    assert names[0] == names[1] != names[2]
    assert all(run.options["name"] == "mine" for run in runs)
    assert all(run.options["project"] == "mathlm" for run in runs)
    assert runs[1].got == [({"loss": 0.5}, 4)]


def test_wandb_is_told_what_the_run_was_asked_for_and_whose_it_is(monkeypatch, tmp_path):
    runs = []
    init = lambda **options: runs.append(Recorder(**options)) or runs[-1]  # noqa: E731
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    monkeypatch.setattr("mathlm.train.loggers.find_spec", lambda name: name)
    for name in ("PROJECT", "ENTITY", "NAME"):
        monkeypatch.setenv(f"WANDB_{name}", f"my-{name.lower()}")
    options = {"lr": 0.003, "data": tmp_path / "text.txt", "size": "nano", "log": ("wandb",)}
    (logger,) = run_loggers(["wandb"], tmp_path / "mine", options)
    logger({"step": 1, "loss": 0.5})
    got = runs[0].options
    assert [got[name] for name in ("project", "entity", "name")] == [
        "my-project", "my-entity", "my-name",
    ]  # fmt: skip
    said = {"lr": 0.003, "data": "text.txt", "size": "nano", "log": ["wandb"]}
    assert got["config"] == said


def test_a_package_that_is_missing_is_named_with_its_command(monkeypatch, tmp_path):
    monkeypatch.setattr("mathlm.train.loggers.find_spec", lambda name: None)
    for name in ("tensorboard", "wandb"):
        with pytest.raises(ConfigError, match=f"not installed: pip install {name}"):
            run_loggers(["csv", name], tmp_path)
    assert [type(x) for x in run_loggers(["csv", "jsonl", "csv"], tmp_path)] == [
        CSVLogger,
        JSONLLogger,
    ]


def test_a_log_needs_a_folder_and_a_known_name(tmp_path):
    assert run_loggers((), None) == ()
    with pytest.raises(ConfigError, match=r"--log csv writes into the folder .* give --out"):
        run_loggers(["csv"], None)
    with pytest.raises(ConfigError, match="--log xml must be one of jsonl, csv, tensorboard"):
        run_loggers(["xml"], tmp_path)
