import argparse
import json
import math
from pathlib import Path

import pytest
import torch

from lab.depth import depth_training
from mathlm.text import corpus

TINY = "--d-model 16 --context 16 --batch-size 2 --held-out 200 --depths 2"


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    path = tmp_path_factory.mktemp("record") / "record.json"
    torch.set_default_dtype(torch.float32)
    runs = "--kinds pre-norm post-norm no-norm no-residual --steps 24 --lr 1e-2 --warmup 0 0.25"
    depth_training.main(f"{TINY} {runs} --record {path}".split())
    return json.loads(path.read_text())


@pytest.mark.slow
def test_every_combination_is_run_once(record):
    cases = [(run["kind"], run["warmup"]) for run in record["runs"]]
    kinds = ("pre-norm", "post-norm", "no-norm", "no-residual")
    assert cases == [(kind, warmup) for kind in kinds for warmup in (0.0, 0.25)]
    assert record["options"]["steps"] == 24
    assert "CPU" in record["device"]


@pytest.mark.slow
def test_both_normalized_forms_learn(record):
    for run in record["runs"][:4]:
        assert run["losses"][-1][1] < run["losses"][0][1] - 1
        assert run["held_out"] < math.log(256) - 0.5


@pytest.mark.slow
def test_warmup_changes_the_course_and_not_the_start(record):
    without, with_it = record["runs"][:2]
    assert without["losses"][0] == with_it["losses"][0]
    assert without["losses"][-1] != with_it["losses"][-1]
    assert without["block_gradients"] == with_it["block_gradients"]


@pytest.mark.slow
@pytest.mark.weekly
@pytest.mark.parametrize("name", ["warmup-training", "depth-training", "depth-smaller-step"])
def test_a_record_is_what_its_options_give(name):
    book = Path(depth_training.__file__).parents[2]
    recorded = json.loads((book / "results" / f"{name}.json").read_text())
    args = argparse.Namespace(**recorded["options"])
    training, held_out = (text.encode() for text in corpus.split("shakespeare"))
    first = recorded["runs"][0]
    case = {key: first[key] for key in ("depth", "kind", "lr", "warmup", "seed")}
    again = depth_training.run(case, training, held_out[: args.held_out], args)
    assert again["held_out"] == pytest.approx(first["held_out"], abs=0.03)


def test_a_run_without_norms_that_overflows_is_recorded_as_such():
    """Step size 1e30: the second loss is not finite."""
    options = f"{TINY} --kinds no-norm --steps 5 --lr 1e30 --warmup 0"
    (run,) = depth_training.main(options.split())
    assert run["held_out"] == math.inf
    assert 1 <= len(run["losses"]) < 5


@pytest.mark.parametrize("option", ["--d-model=24", "--depths=0", "--steps=0"])
def test_sizes_that_no_model_has_are_refused(option, capsys):
    with pytest.raises(SystemExit):
        depth_training.parse([option])
    assert "must be a multiple of 16" in capsys.readouterr().err
