"""Pages and tests as if on other processors: margins are recorded, thin ones come first."""

import ast
import datetime
import json

import machines as tool
import margins
import numpy as np
import pytest


@pytest.fixture
def ran(tmp_path):
    """Run code as a kernel would, and give back the margins that it left."""

    def run(code):
        recorder = margins.Recorder(tmp_path / "found.jsonl")
        names = {"__order__": recorder.order, "__close__": recorder.close, "np": np}
        names |= {"__check__": recorder.check, "check": lambda *args, **kwargs: None}
        tree = margins.Margins().visit(ast.parse(code))
        exec(compile(tree, "cell", "exec"), names)
        text = recorder.path.read_text() if recorder.path.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    return run


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("assert 0.5 < 2", [1.5]),
        ("assert 3 >= 1 and 1 < 4", [2, 3]),
        ("assert 0 < 0.25 < 1", [0.25, 0.75]),
        ("assert (np.array([1, 4]) < 5).all()", [1]),
        ("assert all(x < 5 for x in (1, 4))", [4, 1]),
        ("assert 'a' < 'b'; assert 1 == 1", []),
        ("np.testing.assert_allclose(1.0, 1.1, rtol=0, atol=0.2)", [0.5]),
        ("check('A-1-1', 2.0, printed=2.3, tol=0.4)", [0.25]),
        ("check('A-1-1', 2.0, printed=1.0, corrected=2.1, tol=0.2)", [0.5]),
    ],
)
def test_the_distance_to_the_bound_is_recorded(ran, code, expected):
    assert [row["margin"] for row in ran(code)] == pytest.approx(expected)


@pytest.mark.parametrize(
    "code",
    ["assert 2 < 1", "assert 0 < 2 < 1", "np.testing.assert_allclose(1, 2, rtol=1e-3)"],
)
def test_what_fails_still_fails(ran, code):
    with pytest.raises(AssertionError):
        ran(code)


def test_what_stands_behind_an_and_is_asked_only_if_the_first_holds(ran):
    assert len(ran("x = []; assert not x or x[0] < 1")) == 0


def left(folder, machine, **margin):
    """A record in which each assertion has the left side given, against a bound of 1."""
    (folder / machine).mkdir()
    rows = [
        {"where": "t", "text": text, "left": x, "right": 1.0, "sign": "<", "margin": 1 - x}
        for text, x in margin.items()
    ]
    text = "\n".join(json.dumps(row) for row in rows)
    (folder / machine / "1.jsonl").write_text(text)


def test_the_thinnest_margin_comes_first_and_a_fixed_value_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "OUT", tmp_path)
    left(tmp_path, "avx2", wide=0.1, thin=0.7, fixed=0.5)
    left(tmp_path, "generic", wide=0.2, thin=0.9, fixed=0.5 + 1e-12)
    found = tool.moved(["avx2", "generic"])
    assert [(text, round(slack, 6)) for slack, _, text, _ in found] == [
        ("thin", 0.5),
        ("wide", 8.0),
    ]
    assert "thin  [avx2 0.7 < 1, generic 0.9 < 1]" in next(tool.table(["avx2", "generic"]))


def test_four_days_have_four_machines(monkeypatch):
    class Day(datetime.date):
        now = 0

        @classmethod
        def today(cls):
            return cls.fromordinal(739_000 + cls.now)

    monkeypatch.setattr(tool.datetime, "date", Day)
    seen = [setattr(Day, "now", n) or tool.today() for n in range(8)]
    assert set(seen[:4]) == set(tool.MACHINES)
    assert seen[:4] == seen[4:]


@pytest.mark.slow
def test_a_test_that_fails_is_listed_and_leaves_its_margin(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "OUT", tmp_path / "out")
    file = tmp_path / "test_x.py"
    file.write_text(
        "def test_a():\n    x = 0.75\n    assert x < 0.5\n\n\n"
        "def test_b():\n    y = 2.5\n    assert y < 4\n"
    )
    options = [
        "-o",
        "enable_assertion_pass_hook=true",
        "-p",
        "margins",
        "-p",
        "no:cacheprovider",
    ]
    failed = list(tool.run("avx2", [str(file)], options, 1))
    assert len(failed) == 1
    assert "test_a" in failed[0]
    assert "assert 0.75 < 0.5" in failed[0]
    assert [row["margin"] for row in tool.margins("avx2").values()] == [1.5]


def test_pages_are_named_by_their_beginning_or_their_path():
    whole = tool.pages_of([], pytest.fail)
    assert [p for p in whole if "/07-" in p] == tool.pages_of(["07"], pytest.fail)
    (one,) = tool.pages_of(["book/07-sequences.ipynb", "07-seq"], pytest.fail)
    assert one.endswith("book/07-sequences.ipynb")


def test_a_name_of_no_page_does_not_run_something_else(capsys):
    with pytest.raises(SystemExit):
        tool.main(["--machine", "avx2", "tests/recipes"])
    assert "no page of book/ begins with 'tests/recipes'" in capsys.readouterr().err
