"""Parallel plans: memory, traffic and time by hand and against the papers' formulas."""

from dataclasses import replace

import pytest

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.models import BertConfig, GPTConfig
from mathlm.scaling import (
    PUBLISHED,
    Cluster,
    ParallelPlan,
    flops_per_token,
    forward_flops,
    kernel_efficiency,
    memory_per_device,
    saved_numbers,
    traffic_per_device,
    training_time,
)
from mathlm.scaling.budget import Device

GPT3 = PUBLISHED["gpt3-175b"]
# 4 blocks of 4 D² + 3 D F = 4,096 + 6,144 weights and 2 norms of 32; tables of 128 · 32 each
SMALL = GPTConfig(vocab_size=128, context=16, d_model=32, n_layers=4, n_heads=4, d_ff=64,
                  norm="rms", activation="swiglu", position="rope", bias=False,
                  tie_embeddings=False)  # fmt: skip
BLOCKS, TABLE, NORM = 4 * (4096 + 6144 + 64), 4096, 32
UNIT = Device(peak=1e9, watts=1.0, memory=1e9)


def state(plan, config=SMALL):
    parts = memory_per_device(config, plan)
    return [parts[name] for name in ("weights", "gradients", "optimizer")]


@pytest.mark.parametrize(
    ("shard", "gigabytes"),
    [("none", 120), ("optimizer", 31.4), ("gradients", 16.6), ("all", 1.9)],
)
def test_the_states_are_those_of_the_figure_on_zero(shard, gigabytes):
    """Rajbhandari et al. (2020), figure 1: 7.5 billion parameters on 64 devices. The model is
    that of Narayanan et al. (2021), table 1, with 7.47 billion."""
    config = GPTConfig(vocab_size=51_200, context=2048, d_model=4096, n_layers=36, n_heads=32)
    found = sum(state(ParallelPlan(data=64, shard=shard), config)) / 1e9
    assert found == pytest.approx(gigabytes, rel=0.02)


def test_one_device_holds_16_bytes_for_each_parameter():
    held = BLOCKS + NORM + 2 * TABLE
    assert state(ParallelPlan()) == [2 * held, 2 * held, 12 * held]


def test_a_stage_holds_its_blocks_and_one_table_divided_by_the_tensor_group():
    """Half of the blocks, the final norm's half and the head, over 4 devices."""
    held = (BLOCKS // 2 + NORM // 2 + TABLE) // 4
    assert state(ParallelPlan(tensor=4, pipeline=2)) == [2 * held, 2 * held, 12 * held]


def test_uneven_stages_are_as_large_as_the_largest():
    """Four blocks in three stages: two, with two quarters of the final norm."""
    uneven, even = (ParallelPlan(pipeline=p, tensor=2) for p in (3, 2))
    assert state(uneven)[0] == BLOCKS // 2 + NORM // 2 + TABLE  # of two devices
    assert memory_per_device(SMALL, uneven) == memory_per_device(SMALL, even)
    sent = [traffic_per_device(SMALL, plan)["tensor"] for plan in (uneven, even)]
    assert sent[0] == sent[1] > 0


def test_positions_are_in_the_stage_of_the_table_of_tokens():
    held = BLOCKS // 4 + NORM // 4 + TABLE + 16 * 32
    config = replace(SMALL, position="learned")
    assert state(ParallelPlan(pipeline=4), config)[0] == 2 * held


@pytest.mark.parametrize("tensor", [1, 8])
def test_activations_of_gpt3_are_those_of_korthikanti(tensor):
    """Korthikanti et al. (2022), table 2: 34 s b h / t bytes in each of L blocks with sequence
    parallelism and selective recomputation; 2 of the 34 are masks of dropout, which this model
    has not. They leave out the statistics of the norms and of attention."""
    T, D, L = GPT3.context, GPT3.d_model, GPT3.n_layers
    plan = ParallelPlan(tensor=tensor, micro_batch=3)
    by_paper = 3 * T * D * L * 32 / tensor
    assert memory_per_device(GPT3, plan)["activations"] == pytest.approx(by_paper, rel=1e-3)


def test_scores_that_are_kept_are_divided_with_the_heads():
    """Korthikanti et al. (2022), table 2: s b h (34 / t + 5 a s / (h t)), without the masks."""
    T, D, L, H = GPT3.context, GPT3.d_model, GPT3.n_layers, GPT3.n_heads
    plan = ParallelPlan(tensor=8, activation_checkpointing="none")
    by_paper = T * D * L * (32 / 8 + 5 * H * T / (D * 8))
    assert memory_per_device(GPT3, plan)["activations"] == pytest.approx(by_paper, rel=1e-3)


def test_without_sequence_parallelism_a_quarter_is_not_divided():
    """Korthikanti et al. (2022), table 2: s b h (10 + 24 / t), without the two masks."""
    plan = ParallelPlan(tensor=8, sequence_parallel=False)
    by_paper = GPT3.context * GPT3.d_model * GPT3.n_layers * (8 + 24 / 8)
    assert memory_per_device(GPT3, plan)["activations"] == pytest.approx(by_paper, rel=1e-3)


@pytest.mark.parametrize(("config", "saved"), [
    (GPT3, 0.70),
    (GPTConfig(context=2048, d_model=20_480, n_layers=105, n_heads=128), 0.65),
])  # fmt: skip
def test_selective_recomputation_saves_the_share_that_the_paper_prints(config, saved):
    """Korthikanti et al. (2022), section 5: 70 % and 65 % of GPT-3 and of MT-NLG 530B."""
    kept = [memory_per_device(config, ParallelPlan(activation_checkpointing=how))["activations"]
            for how in ("selective", "none")]  # fmt: skip
    assert 1 - kept[0] / kept[1] == pytest.approx(saved, abs=0.02)


@pytest.mark.parametrize(("changes", "inputs"), [
    ({}, 4), ({"tensor": 2}, 4), ({"pipeline": 2, "tensor": 4, "accumulate": 8}, 2 * 2),
])  # fmt: skip
def test_full_recomputation_keeps_inputs_and_one_block(changes, inputs):
    """Inputs of the blocks of a device for each micro-batch in flight; a share of each."""
    T, D = SMALL.context, SMALL.d_model
    one, two = (saved_numbers(replace(SMALL, n_layers=n), T) for n in (1, 2))
    plan = ParallelPlan(micro_batch=2, activation_checkpointing="full", **changes)
    by_hand = 2 * 2 * (inputs * T * D + two - one) / plan.tensor
    assert memory_per_device(SMALL, plan)["activations"] == by_hand


@pytest.mark.parametrize(("changes", "in_flight"), [
    ({"pipeline": 4, "accumulate": 16}, 4),  # 1F1B: as many as stages
    ({"pipeline": 4, "accumulate": 2}, 2),
    ({"pipeline": 4, "accumulate": 16, "interleave": 3}, 5),  # p (1 + (p - 1) / (p v))
    ({"accumulate": 16}, 1),
])  # fmt: skip
def test_the_first_stage_holds_as_many_micro_batches_as_there_are_stages(changes, in_flight):
    """Korthikanti et al. (2022), section 4.2.3, for the interleaved order."""
    plan, deep = ParallelPlan(**changes), replace(SMALL, n_layers=12)
    alone = ParallelPlan(pipeline=plan.pipeline)
    assert plan.in_flight == pytest.approx(in_flight)
    found = [memory_per_device(deep, p)["activations"] for p in (plan, alone)]
    assert found[0] == pytest.approx(in_flight * found[1])


def test_logits_and_their_gradient_count_where_the_only_stage_has_them():
    plan = ParallelPlan(micro_batch=3, tensor=2)
    assert memory_per_device(SMALL, plan)["logits"] == 2 * 3 * 16 * 128 * 2 // 2
    assert memory_per_device(SMALL, replace(plan, pipeline=2))["logits"] == 0


def test_all_parts_are_whole_bytes():
    parts = memory_per_device(SMALL, ParallelPlan(data=3, tensor=4, shard="all"))
    assert {type(size) for size in parts.values()} == {int}


@pytest.mark.parametrize(("shard", "turns"), [
    ("none", 2), ("optimizer", 2), ("gradients", 3 + 1), ("all", 3 * 3),
])  # fmt: skip
def test_replicas_send_their_gradients_as_zero_says(shard, turns):
    """Three micro-batches on four replicas; (4 - 1) / 4 of 2 bytes for each parameter."""
    plan = ParallelPlan(data=4, shard=shard, accumulate=3)
    held = BLOCKS + NORM + 2 * TABLE
    expected = {"tensor": 0, "pipeline": 0, "data": turns * 0.75 * 2 * held}
    assert traffic_per_device(SMALL, plan) == pytest.approx(expected)


@pytest.mark.parametrize(("how", "sums"), [("selective", 4), ("full", 6)])
def test_each_block_has_four_sums_and_six_when_it_runs_again(how, sums):
    """Narayanan et al. (2021), section 3.2: 8 b s h (t - 1) / t numbers in a block."""
    plan = ParallelPlan(tensor=4, micro_batch=5, accumulate=3, activation_checkpointing=how)
    by_hand = 3 * 4 * sums * 2 * 0.75 * (2 * 5 * 16 * 32)
    assert traffic_per_device(SMALL, plan)["tensor"] == pytest.approx(by_hand)


@pytest.mark.parametrize(("pipeline", "interleave", "messages"), [
    (1, 1, 0), (2, 1, 1), (4, 1, 2), (2, 2, 4),
])  # fmt: skip
def test_stages_send_one_stream_forward_and_one_back(pipeline, interleave, messages):
    plan = ParallelPlan(pipeline=pipeline, interleave=interleave, tensor=2, accumulate=3)
    stream = 2 * 16 * 32
    assert traffic_per_device(SMALL, plan)["pipeline"] == 3 * messages * stream / 2


def test_the_bubble_shrinks_with_micro_batches_and_pieces():
    """Narayanan et al. (2021), section 2.2: (p - 1) / m, and a v-th with v pieces."""
    plan = ParallelPlan(pipeline=5, accumulate=8)
    assert (plan.bubble, replace(plan, interleave=4).bubble) == (4 / 8, 4 / 32)


def test_a_step_by_hand():
    """Two replicas of two stages of two devices; links of 1e6 and 1e5 bytes/s, nodes of 2."""
    plan = ParallelPlan(data=2, tensor=2, pipeline=2, accumulate=4)
    links = {"link_within": 1e6, "link_between": 1e5}
    cluster = Cluster(device=UNIT, count=8, per_node=2, **links)
    run = training_time(SMALL, cluster, plan, tokens=1280, efficiency=0.5, price=3.0)
    flops = 8 * 16 * (flops_per_token(SMALL, 16, training=True) + 4 * 4 * 16 * 32)
    compute = flops / (8 * 0.5e9)
    sent = traffic_per_device(SMALL, plan)
    tensor, pipeline, data = sent["tensor"] / 1e6, sent["pipeline"] / 1e5, sent["data"] / 1e5
    step = (1 + 1 / 4) * (compute + tensor + pipeline) + data - compute * 2 / 3 / 4
    assert sum(run.seconds.values()) == pytest.approx(step)
    waits = {"tensor": tensor, "pipeline": pipeline, "data": data - compute * 2 / 3 / 4,
             "compute": compute, "bubble": (compute + tensor + pipeline) / 4}  # fmt: skip
    assert run.seconds == pytest.approx(waits)
    assert run.memory == memory_per_device(SMALL, plan)
    assert (run.tokens_per_step, run.tokens_per_second) == (128, pytest.approx(128 / step))
    assert run.hours == pytest.approx(8 * 10 * step / 3600)
    assert run.days == pytest.approx(10 * step / 86_400)
    assert run.dollars == pytest.approx(3 * run.hours)


@pytest.mark.parametrize("efficiency", [0.4, 1])
def test_alone_a_device_reaches_its_efficiency(efficiency):
    """Nothing is sent and nothing waits: HFU is the efficiency, MFU its share of the model."""
    plan, alone = ParallelPlan(activation_checkpointing="full"), Cluster(device=UNIT, count=1)
    run = training_time(SMALL, alone, plan, 1e6, efficiency=efficiency)
    assert run.hardware_utilization == pytest.approx(efficiency)
    again = forward_flops(SMALL, 16) / 16 - 2 * 128 * 32
    needed = flops_per_token(SMALL, 16, training=True)
    assert run.utilization == pytest.approx(efficiency * needed / (needed + again))


def test_a_device_may_be_full_and_not_fuller():
    plan = ParallelPlan()
    needed = sum(memory_per_device(SMALL, plan).values())
    full, fuller = (
        Cluster(device=UNIT._replace(memory=room), count=1) for room in (needed, needed - 1)
    )
    assert training_time(SMALL, full, plan, 1e6).tokens_per_step == 16
    with pytest.raises(InputError, match="a device needs"):
        training_time(SMALL, fuller, plan, 1e6)


def test_products_reach_more_in_wide_models_and_half_of_the_most_at_1200():
    assert [kernel_efficiency(D) for D in (1200, 6800)] == pytest.approx([0.32, 0.544])
    plan = ParallelPlan(activation_checkpointing="none")
    run = training_time(SMALL, Cluster(device=UNIT, count=1), plan, 1e6)
    assert run.utilization == pytest.approx(0.64 * 32 / 1232)


@pytest.mark.parametrize(("shard", "hides"), [
    ("optimizer", 2 / 3 / 4), ("gradients", 2 / 3), ("all", 1),
])  # fmt: skip
def test_what_computing_hides_is_not_waited_for(shard, hides):
    plan = ParallelPlan(data=2, shard=shard, accumulate=4)
    cluster = Cluster(device=UNIT, count=2, per_node=1, link_between=1e5)
    run = training_time(SMALL, cluster, plan, 1e6, efficiency=0.5)
    wait = run.sent["data"] / 1e5 - hides * run.seconds["compute"]
    assert run.seconds["data"] == pytest.approx(wait)
    fast = replace(cluster, link_between=1e15)
    assert training_time(SMALL, fast, plan, 1e6).seconds["data"] == 0


def test_a_device_goes_by_its_name_or_its_data_sheet():
    """NVIDIA's data sheet of the A100: 312 TFLOP/s in bfloat16, 400 W, 80 GB."""
    sheet = Device(peak=312e12, watts=400.0, memory=80e9)
    assert Cluster(device="A100").machine == Cluster(device=sheet).machine == sheet


def test_a_node_has_the_fast_link():
    cluster = Cluster(per_node=8, link_within=9.0, link_between=1.0)
    assert [cluster.link(span) for span in (1, 8, 9)] == [9.0, 9.0, 1.0]


BAD_PLANS = {
    "pieces": ({"interleave": 2}, "interleave=2 needs a pipeline of 2 or more"),
    "a stage of ZeRO": ({"shard": "zero3"}, "shard='zero3' is not one of none, optimizer"),
    "recomputation": ({"activation_checkpointing": "half"}, "'half' is not one of none"),
}


@pytest.mark.parametrize(("changes", "message"), BAD_PLANS.values(), ids=BAD_PLANS.keys())
@pytest.mark.usefixtures("unchecked")
def test_plans_that_cannot_be_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        ParallelPlan(**changes)


@pytest.mark.parametrize(
    "name", ["data", "tensor", "pipeline", "micro_batch", "accumulate", "interleave"]
)
def test_a_plan_with_nothing_of_a_kind_is_refused(name):
    with pytest.raises(InputError, match=f"{name}=0 must be an integer of at least 1"):
        ParallelPlan(**{name: 0})


@pytest.mark.parametrize("name", ["count", "per_node", "link_within", "link_between"])
def test_a_cluster_with_nothing_of_a_kind_is_refused(name):
    with pytest.raises(InputError, match=f"{name}=0 must be"):
        Cluster(**{name: 0})


BAD_RUNS = {
    "heads": ({"tensor": 3}, 3, {}, "tensor=3 must divide n_heads=4"),
    "blocks": ({"pipeline": 4, "interleave": 2}, 4, {}, "more pieces than n_layers=4"),
    "stages": ({"pipeline": 7}, 7, {}, "pipeline=7 times interleave=1 are more pieces"),
    "devices": ({"data": 2}, 8, {}, "are 2 devices, and the cluster has 8"),
    "room": ({"micro_batch": 20_000}, 1, {}, r"has 1 GB \(weights .*, logits 0\.2\)"),
    "efficiency": ({}, 1, {"efficiency": 1.5}, "efficiency=1.5 is a share: at most 1"),
    "no efficiency": ({}, 1, {"efficiency": 0}, "efficiency=0 must be a positive"),
    "tokens": ({}, 1, {"tokens": 0}, "tokens=0 must be a positive, finite number"),
    "price": ({}, 1, {"price": 0}, "price=0 must be a positive, finite number"),
}


@pytest.mark.parametrize(
    ("plan", "count", "changes", "message"), BAD_RUNS.values(), ids=BAD_RUNS.keys()
)
def test_runs_that_do_not_fit_are_refused(plan, count, changes, message):
    cluster = Cluster(device=UNIT, count=count)
    with pytest.raises(InputError, match=message):
        training_time(SMALL, cluster, ParallelPlan(**plan), **{"tokens": 1e6} | changes)


def test_the_ends_may_be_stages_of_their_own():
    """Four blocks, the table of tokens and the head."""
    parts = memory_per_device(SMALL, ParallelPlan(pipeline=6))
    assert parts["weights"] == 2 * ((BLOCKS + NORM) // 4 + TABLE)


def test_unknown_devices_and_other_models_are_refused():
    with pytest.raises(ConfigError, match="device='B1' is unknown; there are V100, A100"):
        Cluster(device="B1")


def test_a_width_of_nothing_is_refused():
    with pytest.raises(InputError, match="width=0 must be an integer of at least 1"):
        kernel_efficiency(0)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("count", [memory_per_device, traffic_per_device])
def test_other_models_are_refused(count):
    with pytest.raises(InputTypeError, match="config is a BertConfig, not a GPTConfig"):
        count(BertConfig(), ParallelPlan())
