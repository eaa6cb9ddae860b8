"""What a run tells of itself while it goes on."""

import io
import logging
import re
from contextlib import redirect_stderr

import pytest
from train.tiny_runs import tiny_data, tiny_trainer

from mathlm.progress import SWITCH
from mathlm.train import diagnostics


@pytest.fixture
def clock(monkeypatch):
    """A clock that is a quarter of a second on each time it is read."""
    ticks = iter(range(1000))
    monkeypatch.setattr(diagnostics.time, "perf_counter", lambda: next(ticks) / 4)


@pytest.fixture
def other_rank(monkeypatch):
    """A process that is not the first."""
    monkeypatch.setattr("mathlm.train.trainer.rank", lambda: 1)


def lines_of(caplog, **config):
    with caplog.at_level(logging.INFO, logger="mathlm"):
        history = tiny_trainer(**config).fit()
    return caplog.messages, history


@pytest.mark.usefixtures("clock")
def test_speed_is_targets_over_seconds_since_it_was_read():
    """10 targets in a quarter of a second, then 30 in half a second."""
    own = diagnostics.Speed()
    for targets in ([10], [20, 10]):
        for n in targets:
            with own.timing():
                own.targets += n
        assert own.read() == {10: 40.0, 20: 60.0}[targets[0]]
    assert own.read() == 0.0


@pytest.mark.usefixtures("clock")
def test_a_line_of_the_log_says_where_how_good_how_fast_and_how_long(caplog):
    """Five rows of eight targets in a quarter of a second are 160 a second."""
    lines, history = lines_of(caplog, steps=1, held_out=tiny_data(), ema=0.5)
    parts = lines[0].split("  ")
    assert (parts[0], parts[-1]) == ("step 1 of 1", "160 targets/s")
    words = ["loss", "held-out loss", "held-out loss of the mean weights", "lr", "grad norm"]
    names = ["loss", "held_out_loss", "held_out_loss_ema", "lr", "grad_norm"]
    for said, word, name in zip(parts[1:-1], words, names, strict=True):
        assert said.rsplit(" ", 1)[0] == word
        assert float(said.split()[-1]) == pytest.approx(history[0][name], rel=0.03)


@pytest.mark.usefixtures("clock")
def test_the_time_left_is_that_of_the_steps_so_far():
    """Two steps, each read at its begin and end, and a look: a quarter of a second each."""
    own = diagnostics.Speed()
    assert own.left(7) == 0
    for _ in range(2):
        with own.timing():
            pass
    assert own.left(6) == 6 * (4 / 4) / 2


def test_the_first_step_is_said_whether_it_is_due_or_not(caplog):
    lines, history = lines_of(caplog, steps=4, log_every=4)
    assert [line.split("  ")[0] for line in lines] == ["step 1 of 4", "step 4 of 4"]
    assert [record["step"] for record in history] == [4]


def test_the_speed_counts_all_steps_since_the_last_line(caplog, monkeypatch):
    steps = []
    monkeypatch.setattr(
        diagnostics.Speed, "read", lambda self: steps.append(self.targets) or 1.0
    )
    lines_of(caplog, steps=4, log_every=3)
    assert steps == [40.0, 120.0, 160.0]  # 40 targets in each step; this read keeps them


def test_the_history_holds_no_time():
    first, second = tiny_trainer().fit(), tiny_trainer().fit()
    assert first == second
    assert not any("/s" in name or "second" in name for name in first[0])


def test_a_log_is_lines_of_plain_text(caplog):
    lines, _ = lines_of(caplog, steps=3)
    assert len(lines) == 3
    assert all(re.fullmatch(r"[ -~]+", line) for line in lines)


@pytest.mark.usefixtures("other_rank")
def test_only_the_first_process_writes_lines(caplog):
    assert lines_of(caplog, steps=2)[0] == []


class Terminal(io.StringIO):
    """A screen with a person before it."""

    def isatty(self):
        return True


def screen_of(**config):
    """What a person sees of a run."""
    screen = Terminal()
    with redirect_stderr(screen):
        tiny_trainer(**config).fit()
    return screen.getvalue()


def test_a_person_sees_a_bar_with_the_loss(monkeypatch):
    monkeypatch.setenv(SWITCH, "on")
    assert re.search(r"train: 100%.*3/3.*loss=2\.\d+", screen_of(steps=3))


@pytest.mark.usefixtures("other_rank")
def test_one_bar_is_enough_for_all_processes(monkeypatch):
    monkeypatch.setenv(SWITCH, "on")
    assert screen_of(steps=3) == ""


def test_lines_appear_above_the_bar_and_do_not_cut_it(monkeypatch, caplog):
    monkeypatch.setenv(SWITCH, "on")
    screen, root = Terminal(), logging.getLogger()
    monkeypatch.setattr("sys.stderr", screen)
    handler = logging.StreamHandler(screen)
    monkeypatch.setattr(root, "handlers", [handler])
    with caplog.at_level(logging.INFO, logger="mathlm"):
        tiny_trainer(steps=2).fit()
    lines = re.findall(r"^.*step 1 of 2  loss.*$", screen.getvalue(), re.MULTILINE)
    assert lines
    assert not any("%" in line.split("\r")[-1] for line in lines)
    assert root.handlers == [handler]
