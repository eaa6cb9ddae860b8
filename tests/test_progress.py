import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace

import pytest

from mathlm import progress
from mathlm.errors import ConfigError


class Terminal(io.StringIO):
    """A screen with a person before it."""

    def isatty(self):
        return True


@pytest.fixture
def environment(monkeypatch):
    """The environment of a program that no test runs."""
    monkeypatch.setattr(progress, "os", SimpleNamespace(environ={}))
    return progress.os.environ


def show(screen, steps=3, start=0):
    """What appears on ``screen`` while a bar runs."""
    out = io.StringIO()
    with (
        redirect_stderr(screen),
        redirect_stdout(out),
        progress.Progress(steps, "train", start) as bar,
    ):
        for _ in range(start, steps):
            bar.update(loss=0.123456)
    assert out.getvalue() == ""
    return screen.getvalue()


def test_nothing_is_written_under_a_test(environment):
    environment["PYTEST_CURRENT_TEST"] = "this one"
    assert show(Terminal()) == ""


def test_a_person_at_a_terminal_sees_a_bar(environment):
    screen = show(Terminal())
    assert "train: 100%" in screen
    assert "3/3" in screen
    assert "loss=0.123" in screen


def test_a_pipe_sees_nothing(environment):
    assert show(io.StringIO()) == ""


def test_the_switch_silences_the_bar(environment):
    environment[progress.SWITCH] = "off"
    assert show(Terminal()) == ""


def test_the_switch_shows_the_bar_even_in_a_pipe(environment):
    environment[progress.SWITCH] = "on"
    assert "3/3" in show(io.StringIO())


def test_another_value_of_the_switch_is_an_error(environment):
    environment[progress.SWITCH] = "quiet"
    with pytest.raises(
        ConfigError, match="MATHLM_PROGRESS='quiet' must be 'on', 'off' or unset"
    ):
        progress.Progress(1)


def test_a_notebook_sees_a_bar(environment, monkeypatch):
    class ZMQInteractiveShell:
        pass

    shell = SimpleNamespace(get_ipython=ZMQInteractiveShell)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    assert "3/3" in show(io.StringIO())


def test_a_resumed_bar_starts_where_the_run_stood(environment):
    assert "9/10" in show(Terminal(), steps=10, start=9)


def test_track_yields_its_items_in_order(environment):
    screen = Terminal()
    with redirect_stderr(screen):
        assert list(progress.track(iter("abc"), "letters")) == ["a", "b", "c"]
    assert "letters: 100%" in screen.getvalue()


def test_the_reporter_does_not_load_torch():
    code = "import sys, mathlm.progress; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_module_is_loaded_that_warns_in_a_notebook():
    code = "import sys, mathlm.progress; assert 'tqdm.auto' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
