"""Small runs: every arm trains, and the record finds the best step size of each."""

import json
from pathlib import Path

import pytest

from lab.mixture_of_experts import plot, record
from lab.mixture_of_experts.expert_runs import ARMS, ExpertRunConfig, build, train
from mathlm.scaling import active_parameters, count_parameters

RESULTS = Path(__file__).parents[3] / "book/results"
SMALL = {"steps": 3, "d_model": 8, "d_ff": 4, "context": 8, "batch": 2}


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_trains_and_is_measured(arm):
    run = train(ExpertRunConfig(arm=arm, **SMALL))
    assert 3 < run.test < 6
    assert len(run.loss) == 3
    assert all(abs(sum(row) - 1) < 1e-5 for row in run.load)
    assert bool(run.load) == (not arm.startswith("dense"))


def test_the_dense_models_have_the_active_and_the_total_parameters_but_for_the_routers():
    sizes = [sum(p.numel() for p in build(ExpertRunConfig(arm=a)).parameters()) for a in ARMS]
    config = build(ExpertRunConfig(arm="no balance")).config
    routers = count_parameters(config, by_part=True)["router"]
    assert sizes[0] == active_parameters(config) - routers
    assert sizes[1] == count_parameters(config) - routers
    assert sizes[2] == sizes[3] == sizes[4] == count_parameters(config)


def test_the_best_step_size_has_the_least_mean_over_seeds():
    rows = [
        {"config": {"arm": arm, "lr": lr}, "test": abs(lr - 2) + 0.1 * seed}
        for arm in ARMS
        for lr in (1, 2, 3)
        for seed in (0, 1)
    ]
    assert {arm: lr for arm, (lr, _) in record.best(rows).items()} == dict.fromkeys(ARMS, 2)


def test_figures_show_what_they_are_given():
    assert len(plot.sorted_loads({"a": [[0.5, 0.5]], "b": [[0.9, 0.1]]}).axes) == 2
    ax = plot.losses_of_arms({"a": [1.0, 2.0], "b": [3.0, 4.0]}).axes[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    lines = plot.experts_read([1, 2], {"a": [0.1, 0.2]}).axes[0].lines
    assert lines[0].get_ydata().tolist() == [0.1, 0.2]


def test_the_best_step_size_of_every_arm_lies_inside_its_grid():
    results = json.loads((RESULTS / "mixture-of-experts.json").read_text())["results"]
    for arm, (lr, runs) in record.best(results).items():
        assert min(record.STEP_SIZES[arm]) < lr < max(record.STEP_SIZES[arm]), arm
        assert [run["config"]["seed"] for run in runs] == [0, 1, 2]
