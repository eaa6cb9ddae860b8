"""Published runs, from their plans and utilization, against what their papers print."""

import pytest

from lab.training_at_scale import plans
from mathlm.errors import InputError
from mathlm.scaling import (
    PUBLISHED,
    Cluster,
    ParallelPlan,
    count_parameters,
    flop_utilization,
    flops_per_token,
    training_time,
)

RECOMPUTED, PLANNED = plans.recomputed(), plans.planned()


def label(run):
    return f"{run.run}: {run.what}"


def plan_label(run):
    return f"{run.source}: {run.run}, {run.given}"


@pytest.mark.parametrize("run", RECOMPUTED, ids=label)
def test_hours_and_rates_follow_from_the_printed_utilization(run):
    assert abs(run.deviation) < 0.15


def hidden_in_full(run):
    """The smallest ZeRO 3 run of a model, in which sending takes as long as computing."""
    return "ZeRO 3" in run.source and ("384" in run.run or " 640 " in run.run)


@pytest.mark.parametrize("run", [r for r in PLANNED if not hidden_in_full(r)], ids=plan_label)
def test_rates_and_times_follow_from_the_plan(run):
    """Ten of them were fitted, by two numbers; the others are predicted."""
    assert abs(run.deviation) < 0.15


def test_sending_is_not_hidden_as_well_as_the_plan_has_it():
    """Two runs with ZeRO 3 are a quarter slower than max(computing, sending)."""
    runs = [run for run in PLANNED if hidden_in_full(run)]
    assert len(runs) == 2
    assert all(0.2 < run.deviation < 0.3 for run in runs)


def test_papers_print_so_many_parameters():
    """Narayanan et al. (2021), table 1; Chowdhery et al. (2022), table 1; Grattafiori et al.
    (2024), section 3.2."""
    printed = [1.7, 3.6, 7.5, 18.4, 39.1, 76.1, 145.6, 310.1, 529.6, 1008.0]
    counted = [count_parameters(plans.megatron(*row[:3])) / 1e9 for row in plans.WEAK_SCALING]
    assert counted == pytest.approx(printed, abs=0.051)
    assert count_parameters(plans.PALM) / 1e9 == pytest.approx(540.35, abs=0.02)
    assert count_parameters(plans.LLAMA_405B) / 1e9 == pytest.approx(405, abs=1)


def test_llama_65b_took_21_days():
    """Touvron et al. (2023), section 2.4: 380 tokens/s on each of 2,048 devices."""
    run = next(run for run in RECOMPUTED if run.run.startswith("LLaMA 65B"))
    assert run.ours / 2048 / 24 == pytest.approx(21, rel=0.02)


def test_deepseek_v3_took_3_7_days_for_a_trillion_tokens():
    """DeepSeek-AI (2024), section 1: 180,000 hours on 2,048 devices."""
    assert pytest.approx(3.7, abs=0.05) == 180e3 / 2048 / 24


def test_llama_3_is_within_its_printed_range_of_utilization():
    """Grattafiori et al. (2024), table 4: 43 % and 41 % of 989 TFLOP/s."""
    for run, printed in zip(PLANNED[-2:], (0.43, 0.41), strict=True):
        assert run.ours / 989 == pytest.approx(printed, rel=0.15)


def test_llama_65b_used_half_of_the_peak():
    """Half by its own numbers; a paper on LLaMA prints none."""
    flops = 380 * flops_per_token(PUBLISHED["llama-65b"], 2048, training=True)
    assert flop_utilization(flops, 1, 312e12) == pytest.approx(0.5, abs=0.01)


def test_a_plan_without_room_says_so_and_prints_what_it_would_take():
    config, cluster = PUBLISHED["llama-7b"], Cluster(count=64)
    plan = ParallelPlan(data=64)
    table = plans.compared(config, cluster, {"copies": plan}, 1e12)
    assert "copies" in table
    assert "does not fit" in table
    with pytest.raises(InputError, match="has 80 GB"):
        training_time(config, cluster, plan, 1e12)


def test_a_table_shows_what_the_run_says():
    config, cluster = PUBLISHED["llama-7b"], Cluster(count=64)
    plan = ParallelPlan(data=64, shard="all", micro_batch=2)
    run = training_time(config, cluster, plan, 1e12)
    last = plans.compared(config, cluster, {"ZeRO 3": plan}, 1e12).splitlines()[-1]
    for shown in (
        f"{run.sent['data'] / 1e9:.1f} GB",
        f"{run.utilization:.0%}",
        f"{run.days:.0f}",
    ):
        assert f"| {shown} |" in last


def test_deviations_are_summed_up_by_source():
    one, two = PLANNED[0], PLANNED[1]
    runs = [one._replace(printed=1.0, ours=1.1), two._replace(printed=1.0, ours=0.7)]
    last = plans.by_source(runs).splitlines()[-1]
    assert last == "| Narayanan et al. (2021), table 1 | 2 | 20.0% | -30.0% | +10.0% |"
