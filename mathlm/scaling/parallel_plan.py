"""What a parallel plan stores and sends on each device, and how long a training run takes.

The formulas are those of Narayanan et al. (2021), arXiv:2104.04473, Rajbhandari et al. (2020),
arXiv:1910.02054, and Korthikanti et al. (2022), arXiv:2205.05198.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ..checks import require_counts, require_positive
from ..errors import ConfigError, InputError, InputTypeError
from ..models import GPTConfig
from .budget import ASSUMED, DEVICES, Device
from .flops import flop_utilization, flops_per_token, forward_flops
from .memory import normalized, saved_numbers, sharded_memory
from .parameters import Parts, count_parameters

Shard = Literal["none", "optimizer", "gradients", "all"]
Checkpointing = Literal["none", "selective", "full"]
SHARDS: tuple[Shard, ...] = ("none", "optimizer", "gradients", "all")  # stages 0 to 3 of ZeRO
CHECKPOINTING: tuple[Checkpointing, ...] = ("none", "selective", "full")
BYTES = 2  # of a weight, a gradient and an activation in 16 bits
WIDEST_EFFICIENCY = 0.64  # of the peak that products reach; see kernel_efficiency
HALVING_WIDTH = 1200


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Equal devices in equal nodes.

    Args:
        device: Name in ``DEVICES``, or a :class:`~mathlm.scaling.budget.Device`.
        count: Devices in all.
        per_node: Devices in a node.
        link_within: What a device sends to others of its node, one direction [bytes/s].
        link_between: What a device sends to other nodes, one direction [bytes/s]; as it is
            reached, not as the data sheet has it, if weights go this way.

    Raises:
        ConfigError: If the device is unknown.
        InputError: If a number is out of range.

    Example:
        >>> cluster = Cluster(device="H100", count=16, per_node=8)
        >>> cluster.link(8) / cluster.link(16)  # inside a node, and beyond it
        9.0
    """

    device: str | Device = "H100"
    count: int = 8
    per_node: int = 8
    link_within: float | int = 450e9
    link_between: float | int = 50e9

    def __post_init__(self) -> None:
        require_counts(1, count=self.count, per_node=self.per_node)
        require_positive(link_within=self.link_within, link_between=self.link_between)
        if isinstance(self.device, str) and self.device not in DEVICES:
            known = ", ".join(DEVICES)
            raise ConfigError(f"device={self.device!r} is unknown; there are {known}")

    @property
    def machine(self) -> Device:
        """The data sheet of the device."""
        return DEVICES[self.device] if isinstance(self.device, str) else self.device

    def link(self, span: int) -> float:
        """Bytes per second of a device in a ring through ``span`` devices in a row."""
        return float(self.link_within if span <= self.per_node else self.link_between)


@dataclass(frozen=True, kw_only=True)
class ParallelPlan:
    """How a training step is divided over devices.

    Neighbors share a matrix, groups of them a stage, and stages follow one another: tensor
    parallelism is innermost, then data parallelism, then the pipeline.

    Args:
        data: Replicas d, each with its own rows.
        tensor: Devices t that share each matrix.
        pipeline: Stages p.
        shard: What replicas divide instead of copying: ``none``, ``optimizer`` (ZeRO 1),
            ``gradients`` too (ZeRO 2), or ``all``, weights too (ZeRO 3, FSDP).
        micro_batch: Sequences B that pass at once.
        accumulate: Micro-batches m of each replica in a step.
        interleave: Pieces v of its stage that a device holds, of consecutive blocks each.
        activation_checkpointing: ``none`` keeps also the scores of attention, ``selective``
            all but those, as fused attention does, and ``full`` the input of each block only.
        sequence_parallel: Whether norms and residual stream are divided by ``tensor`` too.

    Raises:
        ConfigError: If a choice is not known, or pieces are interleaved without a pipeline.
        InputError: If a number is less than 1.

    Example:
        >>> plan = ParallelPlan(data=4, tensor=2, pipeline=2, micro_batch=3, accumulate=5)
        >>> plan.devices, plan.rows  # 4 · 2 · 2, and 4 · 3 · 5 sequences a step
        (16, 60)
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    shard: Shard = "none"
    micro_batch: int = 1
    accumulate: int = 1
    interleave: int = 1
    activation_checkpointing: Checkpointing = "selective"
    sequence_parallel: bool = True

    def __post_init__(self) -> None:
        require_counts(1, data=self.data, tensor=self.tensor, pipeline=self.pipeline)
        require_counts(1, micro_batch=self.micro_batch, accumulate=self.accumulate)
        require_counts(1, interleave=self.interleave)
        choices = {"shard": SHARDS, "activation_checkpointing": CHECKPOINTING}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                listed = ", ".join(known)
                raise ConfigError(f"{name}={getattr(self, name)!r} is not one of {listed}")
        if self.interleave > 1 and self.pipeline == 1:
            raise ConfigError(f"interleave={self.interleave} needs a pipeline of 2 or more")

    @property
    def devices(self) -> int:
        """How many the plan needs: d · t · p."""
        return self.data * self.tensor * self.pipeline

    @property
    def rows(self) -> int:
        """Sequences of a step: d · B · m."""
        return self.data * self.micro_batch * self.accumulate

    @property
    def bubble(self) -> float:
        """Time that a stage waits, over the time that it works: (p − 1) / (v m)."""
        return (self.pipeline - 1) / (self.interleave * self.accumulate)

    @property
    def in_flight(self) -> float:
        """Micro-batches whose activations the first stage holds, in units of a whole stage."""
        p, v, m = self.pipeline, self.interleave, self.accumulate
        return float(min(p if v == 1 else p + (p - 1) / v, m))


def memory_per_device(config: GPTConfig, plan: ParallelPlan) -> Parts:
    """Bytes that the fullest device of a plan holds in a training step, by part.

    Implements eq-scale-plan-memory::

        weights, gradients, optimizer   2, 2 and 12 bytes for each of N / (t p) parameters,
                                        divided by d as plan.shard says (eq-scale-zero)
        activations                     B T (L / p) · min(p, m) · a

    with, for each token and block, a the bytes that :func:`saved_numbers` counts, 32 D with
    GELU; they are divided by t, but for the 8 D around the norms where there is no sequence
    parallelism. ``none`` adds the softmax of the scores and its dropout, 5 H T bytes; ``full``
    keeps 2 D, and one block's inside while that block is computed again.

    The device is one of the first stage, which holds most micro-batches, and the larger of the
    table of tokens and the head; without a pipeline, both, and the logits and their gradient.
    Gathered layers, buffers and what the allocator wastes are not counted.

    Args:
        config: Of the model, trained on sequences of ``config.context`` tokens.
        plan: How it is divided.

    Returns:
        Bytes of weights, gradients, optimizer, activations and logits.

    Raises:
        InputTypeError: If it is no ``GPTConfig``.
        InputError: If heads or blocks cannot be divided so.

    Example:
        >>> from mathlm.models import PRESETS
        >>> held = memory_per_device(PRESETS["gpt2"], ParallelPlan())
        >>> held["weights"] == 2 * 124439808, held["optimizer"] == 12 * 124439808
        (True, True)

    References:
        Korthikanti et al. (2022), table 2 and section 4.2.3; with dropout, whose masks they
        count too, 34 stands for 32.
    """
    require_fit(config, plan)
    state = sharded_memory(parameters_held(config, plan), plan.data, SHARDS.index(plan.shard))
    rows, T, V = plan.micro_batch, config.context, config.vocab_size
    ends = 0 if plan.pipeline > 1 else 2 * rows * T * V * BYTES // plan.tensor
    return state | {"activations": math.ceil(kept_activations(config, plan)), "logits": ends}


def parameters_held(config: GPTConfig, plan: ParallelPlan) -> int:
    """Parameters of the fullest device: its blocks and the larger table, divided by t."""
    parts = count_parameters(config, by_part=True)
    tables = parts["token_embedding"] + parts["position"], parts["head"]
    blocks = sum(parts.values()) - sum(tables)
    ends = sum(tables) if plan.pipeline == 1 else max(tables)
    held = -(-config.n_layers // plan.pipeline) * blocks / config.n_layers
    return math.ceil((held + ends) / plan.tensor)


def kept_activations(config: GPTConfig, plan: ParallelPlan) -> float:
    """Bytes that the passes of the first stage keep for their backward passes."""
    T, t, stream = config.context, plan.tensor, config.d_model
    once = saved_numbers(replace(config, n_layers=1), T)
    block = (saved_numbers(replace(config, n_layers=2), T) - once) / T  # numbers for each token
    undivided = t if plan.sequence_parallel else 1
    norms = 2 * normalized(config.d_model, config.norm)
    inside = BYTES * (norms / undivided + (block - norms) / t)
    if plan.activation_checkpointing == "none":
        inside += 5 * config.n_heads * T / t
    blocks = -(-config.n_layers // plan.pipeline)
    tokens = plan.micro_batch * T
    if plan.activation_checkpointing != "full":
        return tokens * blocks * plan.in_flight * inside
    return tokens * (blocks * plan.in_flight * BYTES * stream / undivided + inside)


def traffic_per_device(config: GPTConfig, plan: ParallelPlan) -> dict[str, float]:
    """Bytes that a device sends in one step, by the way of dividing that makes it send.

    Implements eq-scale-plan-traffic, with rings as in eq-scale-ring, m micro-batches of
    B sequences of T tokens, and weights and gradients of 16 bits::

        tensor     m (L / p) · 4 · 2 (t - 1) / t · 2 B T D    6 with full recomputation
        pipeline   m v · 2 · 2 B T D / t                      half of it with two stages
        data       s (d - 1) / d · 2 N / (t p)

    where s is 2 for data parallelism and ZeRO 1, a reduce-scatter and an all-gather a step;
    m + 1 for ZeRO 2, which scatters the gradients of each micro-batch; and 3 m for ZeRO 3,
    which also gathers the weights for each forward and each backward pass. Sequence
    parallelism sends as much as the sums whose place it takes.

    Args:
        config: Of the model, trained on sequences of ``config.context`` tokens.
        plan: How it is divided.

    Returns:
        Bytes for tensor, pipeline and data parallelism.

    Raises:
        InputTypeError: If it is no ``GPTConfig``.
        InputError: If heads or blocks cannot be divided so.

    Example:
        >>> from mathlm.models import PRESETS
        >>> sent = traffic_per_device(PRESETS["gpt2"], ParallelPlan(data=2))
        >>> sent["data"] == 2 * 124439808, sent["tensor"], sent["pipeline"]  # 2 · 1/2 · 2 N
        (True, 0.0, 0.0)

    References:
        Narayanan et al. (2021), sections 2.3, 3.2 and 4.1; Rajbhandari et al. (2020),
        section 7.
    """
    require_fit(config, plan)
    d, t, p, m = plan.data, plan.tensor, plan.pipeline, plan.accumulate
    stream = BYTES * plan.micro_batch * config.context * config.d_model  # of one micro-batch
    sums = 6 if plan.activation_checkpointing == "full" else 4
    neighbors = 0 if p == 1 else 1 if p == 2 and plan.interleave == 1 else 2
    turns = {"none": 2, "optimizer": 2, "gradients": m + 1, "all": 3 * m}[plan.shard]
    return {
        "tensor": m * -(-config.n_layers // p) * sums * 2 * (t - 1) / t * stream,
        "pipeline": m * plan.interleave * neighbors * stream / t,
        "data": turns * (d - 1) / d * BYTES * parameters_held(config, plan),
    }


class TrainingRun(NamedTuple):
    """A training run by plan.

    Attributes:
        seconds: Of one step: computing, waiting for the sums of tensor parallelism, sending
            between stages, waiting in the bubble, and what is left of sending weights and
            gradients when computing hides the rest [s].
        tokens_per_step: Of all replicas.
        tokens_per_second: Of all devices.
        utilization: Model FLOP over the peak of all devices, MFU.
        hardware_utilization: What is computed, recomputation included, over the same, HFU.
        days: Of the whole run.
        hours: Of all devices together [device hours].
        dollars: Rent of the devices.
        memory: Of the fullest device, by part [bytes].
        sent: By one device in a step, by part [bytes].
    """

    seconds: dict[str, float]
    tokens_per_step: int
    tokens_per_second: float
    utilization: float
    hardware_utilization: float
    days: float
    hours: float
    dollars: float
    memory: Parts
    sent: dict[str, float]


def kernel_efficiency(width: int) -> float:
    """Share of the peak that the products of one device reach in a model of some width.

    Implements eq-scale-plan-efficiency::

        0.64 D / (D + 1200)

    which has no derivation. Its two numbers were set by hand to the rates of ten models with
    widths of 2,304 to 25,600 on A100 GPUs, in Narayanan et al. (2021), table 1, so that
    :func:`training_time` gives them; whatever happens between products on a device is in them.

    Args:
        width: D of the model.

    Returns:
        The share, below 0.64.

    Raises:
        InputError: If the width is less than 1.

    Example:
        >>> kernel_efficiency(3600)
        0.48
    """
    require_counts(1, width=width)
    return WIDEST_EFFICIENCY * width / (width + HALVING_WIDTH)


def training_time(
    config: GPTConfig,
    cluster: Cluster,
    plan: ParallelPlan,
    tokens: float | int,
    *,
    efficiency: float | int | None = None,
    price: float | int = ASSUMED["price"].span.middle,
) -> TrainingRun:
    """Time, utilization and cost of a training run, by the seconds of one of its steps.

    Implements eq-scale-plan-time::

        step = (1 + (p - 1) / (v m)) (F / (n · efficiency · peak) + S_t / W_t + S_p / W_p)
               + max(0, S_d / W_d - hidden)

    with the FLOP F of a step, recomputation included; the bytes S that a device sends; and the
    link W that its ring needs, inside a node or between nodes. Sums of tensor parallelism are
    waited for. Of the gradients, what is sent during the backward pass is hidden: that of the
    last micro-batch, and with ZeRO 2 of each; with ZeRO 3, all computing hides it.

    Latency, stragglers, evaluation, checkpoints and restarts are left out.

    Args:
        config: Of the model, trained on sequences of ``config.context`` tokens.
        cluster: Its devices; as many as the plan needs.
        plan: How the step is divided.
        tokens: Of the whole run.
        efficiency: Share of the peak that the products of one device reach, at most 1. None =
            as :func:`kernel_efficiency` has it.
        price: Of a device hour [$].

    Returns:
        The run.

    Raises:
        InputTypeError: If it is no ``GPTConfig``.
        InputError: If numbers are out of range, the plan needs another number of devices, or a
            device has no room for its part.

    Example:
        >>> from mathlm.scaling import PUBLISHED
        >>> plan = ParallelPlan(data=64, shard="optimizer", micro_batch=4)
        >>> run = training_time(PUBLISHED["llama-7b"], Cluster(count=64), plan, tokens=1e12)
        >>> 15 < run.days < 25
        True

    References:
        Narayanan et al. (2021), section 5.1.
    """
    memory = memory_per_device(config, plan)
    share = kernel_efficiency(config.d_model) if efficiency is None else efficiency
    require_positive(tokens=tokens, efficiency=share, price=price)
    if share > 1:
        raise InputError(f"efficiency={share} is a share: at most 1")
    require_room(cluster, plan, memory)
    sent = traffic_per_device(config, plan)
    per_step = plan.rows * config.context
    peak = cluster.machine.peak * cluster.count
    computed = per_step * computed_flops(config, plan)
    seconds = step_seconds(cluster, plan, computed / (peak * share), sent)
    step = sum(seconds.values())
    needed = per_step * flops_per_token(config, config.context, training=True)
    hours = tokens / per_step * step / 3600 * cluster.count
    return TrainingRun(
        seconds=seconds,
        tokens_per_step=per_step,
        tokens_per_second=per_step / step,
        utilization=flop_utilization(needed, step, peak),
        hardware_utilization=flop_utilization(computed, step, peak),
        days=hours / cluster.count / 24,
        hours=hours,
        dollars=hours * price,
        memory=memory,
        sent=sent,
    )


def computed_flops(config: GPTConfig, plan: ParallelPlan) -> float:
    """FLOP of a token in training, with what is computed again; of the blocks, not the head."""
    T = config.context
    whole = flops_per_token(config, T, training=True)
    scores = 4 * config.n_layers * T * config.n_heads * config.head_width
    blocks = forward_flops(config, T) / T - 2 * config.d_model * config.vocab_size
    again = {"none": 0, "selective": scores, "full": blocks}
    return whole + again[plan.activation_checkpointing]


def step_seconds(
    cluster: Cluster, plan: ParallelPlan, compute: float, sent: dict[str, float]
) -> dict[str, float]:
    """Seconds of a step: computing, sending, waiting."""
    t, d = plan.tensor, plan.data
    tensor = sent["tensor"] / cluster.link(t)
    pipeline = sent["pipeline"] / cluster.link(cluster.count)
    backward = compute * 2 / 3
    last = backward / plan.accumulate
    hidden = {"none": last, "optimizer": last, "gradients": backward, "all": compute}
    gradients = sent["data"] / cluster.link(t * d) - hidden[plan.shard]
    return {
        "compute": compute,
        "tensor": tensor,
        "pipeline": pipeline,
        "bubble": plan.bubble * (compute + tensor + pipeline),
        "data": max(0.0, gradients),
    }


def require_fit(config: GPTConfig, plan: ParallelPlan) -> None:
    """Refuse a model that cannot be cut as the plan says."""
    if not isinstance(config, GPTConfig):
        raise InputTypeError(f"config is a {type(config).__name__}, not a GPTConfig")
    if config.n_heads % plan.tensor:
        raise InputError(f"tensor={plan.tensor} must divide n_heads={config.n_heads}")
    if plan.pipeline * plan.interleave > config.n_layers + 2:
        raise InputError(
            f"pipeline={plan.pipeline} times interleave={plan.interleave} are more pieces than "
            f"n_layers={config.n_layers} and the two ends"
        )


def require_room(cluster: Cluster, plan: ParallelPlan, memory: Parts) -> None:
    """Refuse a plan for another number of devices, or for larger ones."""
    if plan.devices != cluster.count:
        raise InputError(
            f"data={plan.data} times tensor={plan.tensor} times pipeline={plan.pipeline} are "
            f"{plan.devices} devices, and the cluster has {cluster.count}"
        )
    total, room = sum(memory.values()), cluster.machine.memory
    if total > room:
        parts = ", ".join(f"{name} {size / 1e9:.1f}" for name, size in memory.items())
        raise InputError(
            f"a device needs {total / 1e9:.1f} GB and has {room / 1e9:.0f} GB ({parts}): "
            "divide more by tensor, pipeline or shard, take a smaller micro_batch, or "
            "activation_checkpointing='full'"
        )
