"""The command that fits a scaling law."""

import json
import re

import numpy as np
import pytest

from mathlm.errors import ConfigError, DataError
from mathlm.recipes import scaling_fit

TRUTH = {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28}  # Hoffmann et al.


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Runs of the law of the Chinchilla paper, with 0.2 % of noise."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("runs") / "runs.csv"
    lines = ["D,loss,N"]
    for n in np.geomspace(1e6, 1e9, 6):
        for d in np.geomspace(1e8, 1e11, 6):
            loss = 1.69 + 406.4 / n**0.34 + 410.7 / d**0.28
            lines.append(f"{d!s},{loss * np.exp(0.002 * rng.standard_normal())!s},{n!s}")
    path.write_text("\n".join(lines))
    return path


def test_the_constants_of_the_truth_lie_in_the_intervals_of_the_table(file, tmp_path, capsys):
    """Level 0.999: all five are to lie inside at once, in one draw of the noise."""
    words = [str(file), "--resamples", "100", "--level", "0.999", "--compute", "1e20"]
    found = scaling_fit.main([*words, "--record", str(tmp_path / "r.json")])
    out, _ = capsys.readouterr()
    cells = {line.split("   ")[0].strip(): re.split(r" {3,}", line) for line in out.split("\n")}
    for name, true in TRUTH.items():
        value, low, high = map(float, cells[scaling_fit.WORDS[name]][1:])
        assert low < true < high
        assert value == pytest.approx(found[name], rel=1e-3)
    assert cells["runs"][1] == "36"
    assert 6 * found["n"] * found["d"] == pytest.approx(1e20)
    assert cells["best parameters"][1] == f"{found['n']:.3g} for 1e+20 FLOP"
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["results"]["alpha"] == found["alpha"]
    assert record["options"]["compute"] == 1e20


def test_the_loss_on_a_plan_is_the_least_of_its_budget(file):
    """Other splits of the same compute cost more by the law that was found."""
    found = scaling_fit.main([str(file), "--resamples", "20", "--compute", "1e20"])
    cost = [
        found["A"] / n ** found["alpha"] + found["B"] / (1e20 / 6 / n) ** found["beta"]
        for n in (found["n"] * 0.9, found["n"], found["n"] * 1.1)
    ]
    assert cost[1] < min(cost[0], cost[2])


def test_what_cannot_be_fitted_is_refused(file, tmp_path):
    (tmp_path / "bad.csv").write_text("N,D,loss\n1e6,1e8,x\n")
    with pytest.raises(DataError, match="line 2: loss is 'x', expected a positive number"):
        scaling_fit.main([str(tmp_path / "bad.csv")])
    with pytest.raises(DataError, match="has no column 'params'"):
        scaling_fit.main([str(file), "--columns", "params", "D", "loss"])
    with pytest.raises(ConfigError, match="--compute -1 must be positive"):
        scaling_fit.main([str(file), "--compute", "-1"])
