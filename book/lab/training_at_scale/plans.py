"""Tables of the page on training at scale: what plans cost, and published runs again."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mathlm.models import GPTConfig
from mathlm.scaling import (
    DEVICES,
    Cluster,
    ParallelPlan,
    flops_per_token,
    memory_per_device,
    traffic_per_device,
    training_days,
    training_time,
)
from mathlm.scaling.budget import Device
from mathlm.scaling.parallel_plan import Checkpointing, Shard, computed_flops

A100, H100 = DEVICES["A100"].peak, DEVICES["H100"].peak  # [FLOP/s], 16 bits
TPU_V4 = 275e12  # [FLOP/s], 16 bits
AGAIN = ParallelPlan(activation_checkpointing="full")


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of text as a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def compared(
    config: GPTConfig, cluster: Cluster, plans: dict[str, ParallelPlan], tokens: float | int
) -> str:
    """What each plan stores and sends, and what the run of so many tokens takes, as a table."""
    head = ["plan", "state", "activations", "tensor", "pipeline", "data", "a step", "bubble",
            "MFU", "days", "$"]  # fmt: skip
    return markdown(head, [row(config, cluster, *named, tokens) for named in plans.items()])


def row(
    config: GPTConfig, cluster: Cluster, name: str, plan: ParallelPlan, tokens: float | int
) -> list[str]:
    """One plan: gigabytes kept, gigabytes sent, seconds, and the rest if it fits."""
    parts = memory_per_device(config, plan)
    state = sum(parts[name] for name in ("weights", "gradients", "optimizer"))
    kept = parts["activations"] + parts["logits"]
    sent = traffic_per_device(config, plan)
    cells = [name, *(f"{size / 1e9:.1f} GB" for size in (state, kept, *sent.values()))]
    if state + kept > cluster.machine.memory:
        return [*cells, "does not fit", "", "", "", ""]
    run = training_time(config, cluster, plan, tokens)
    return [
        *cells,
        f"{sum(run.seconds.values()):.1f} s",
        f"{run.seconds['bubble']:.1f} s",
        f"{run.utilization:.0%}",
        f"{run.days:.0f}",
        f"{run.dollars / 1e6:.2f} million",
    ]


class Published(NamedTuple):
    """A number that a paper prints, and the same number from its other numbers.

    Attributes:
        run: Model and devices.
        given: Printed, and taken from the paper.
        what: What is compared, with its unit.
        printed: By the paper.
        ours: By the formulas.
        source: Where both are printed.
    """

    run: str
    given: str
    what: str
    printed: float | int
    ours: float | int
    source: str

    @property
    def deviation(self) -> float:
        """Of ours from what is printed, as a share of it."""
        return self.ours / self.printed - 1


def megatron(d_model: int, n_layers: int, n_heads: int) -> GPTConfig:
    """A model of Narayanan et al. (2021), section 5: 51,200 tokens, sequences of 2,048."""
    return GPTConfig(
        vocab_size=51_200, context=2048, d_model=d_model, n_layers=n_layers, n_heads=n_heads
    )


PALM = GPTConfig(  # Chowdhery et al. (2022), table 1 and section 2
    vocab_size=256_000, context=2048, d_model=18_432, n_layers=118, n_heads=48, n_kv_heads=1,
    d_head=256, d_ff=73_728, activation="swiglu", position="rope", bias=False,
)  # fmt: skip
LLAMA_405B = GPTConfig(  # Grattafiori et al. (2024), table 3
    vocab_size=128_256, context=8192, d_model=16_384, n_layers=126, n_heads=128, n_kv_heads=8,
    d_ff=53_248, norm="rms", activation="swiglu", position="rope", bias=False,
    tie_embeddings=False,
)  # fmt: skip

# D, L, H, t, p, devices, batch, TFLOP/s of each device: Narayanan et al. (2021), table 1
WEAK_SCALING = (
    (2304, 24, 24, 1, 1, 32, 512, 137),
    (3072, 30, 32, 2, 1, 64, 512, 138),
    (4096, 36, 32, 4, 1, 128, 512, 142),
    (6144, 40, 48, 8, 1, 256, 1024, 135),
    (8192, 48, 64, 8, 2, 512, 1536, 138),
    (10_240, 60, 80, 8, 4, 1024, 1792, 140),
    (12_288, 80, 96, 8, 8, 1536, 2304, 148),
    (16_384, 96, 128, 8, 16, 1920, 2160, 155),
    (20_480, 105, 128, 8, 35, 2520, 2520, 163),
    (25_600, 128, 160, 8, 64, 3072, 3072, 163),
)
# D, L, H, t, p, devices, batch, B, TFLOP/s of each device: the same, table 2
MODEL_PARALLEL = (
    (12_288, 96, 96, 8, 12, 384, 1536, 1, 153),
    (12_288, 96, 96, 8, 12, 768, 1536, 1, 149),
    (12_288, 96, 96, 8, 12, 1536, 1536, 1, 141),
    (20_480, 105, 128, 8, 35, 560, 2240, 1, 171),
    (20_480, 105, 128, 8, 35, 1120, 2240, 1, 167),
    (20_480, 105, 128, 8, 35, 2240, 2240, 1, 159),
)
ZERO_3 = (
    (12_288, 96, 96, 1, 1, 384, 1536, 4, 144),
    (12_288, 96, 96, 1, 1, 768, 1536, 2, 88),
    (12_288, 96, 96, 1, 1, 1536, 1536, 1, 44),
    (20_480, 105, 128, 1, 1, 640, 2560, 4, 138),
    (20_480, 105, 128, 1, 1, 1120, 2240, 2, 98),
    (20_480, 105, 128, 1, 1, 2240, 2240, 1, 48),
)
# D, L, H, p, devices, batch, B, v, seconds with full and with selective recomputation:
# Korthikanti et al. (2022), tables 3 and 5
STEPS = (
    (6144, 48, 64, 1, 8, 4, 4, 1, 1.42, 1.10),
    (12_288, 96, 96, 8, 64, 64, 1, 3, 18.13, 13.75),
    (20_480, 105, 128, 35, 280, 280, 1, 3, 49.05, 37.83),
    (25_600, 128, 160, 64, 512, 512, 1, 1, 94.42, 71.49),
)
# devices, d, m, TFLOP/s of each device: Grattafiori et al. (2024), table 4, 8,192 tokens
LLAMA_ROWS = ((8192, 64, 32, 430), (16_384, 128, 16, 400))
ROOMY_A100 = Device(peak=A100, watts=DEVICES["A100"].watts, memory=200e9)


def recomputed() -> list[Published]:
    """Hours, days and rates that papers print, from the utilization that they print."""
    gpt3, largest = megatron(12_288, 96, 96), megatron(25_600, 128, 160)
    palm = flops_per_token(PALM, PALM.context, training=True)
    palm_twice = computed_flops(PALM, AGAIN)
    llama = flops_per_token(LLAMA_405B, LLAMA_405B.context, training=True)
    days: Callable[..., float] = training_days
    return [
        Published("Megatron-LM 175B, 1,024 A100", "140 TFLOP/s, 300B tokens", "days", 34,
                  days(computed_flops(gpt3, AGAIN) * 300e9, 140e12, 1, 1024),
                  "Narayanan et al. (2021), section 5.1"),
        Published("Megatron-LM 1T, 3,072 A100", "163 TFLOP/s, 450B tokens", "days", 84,
                  days(computed_flops(largest, AGAIN) * 450e9, 163e12, 1, 3072),
                  "Narayanan et al. (2021), section 5.1"),
        Published("OPT-175B, 992 A100", "147 TFLOP/s, 300B tokens", "device hours", 809_472,
                  24 * days(computed_flops(gpt3, AGAIN) * 300e9, 147e12, 1),
                  "Zhang et al. (2022); hours: Touvron et al. (2023), table 15"),
        Published("PaLM 540B, 6,144 TPU v4", "MFU 46.2 %", "tokens/s", 238_300,
                  0.462 * 6144 * TPU_V4 / palm,
                  "Chowdhery et al. (2022), section 4.1"),
        Published("PaLM 540B, 6,144 TPU v4", "MFU 46.2 %, all recomputed", "HFU [%]", 57.8,
                  46.2 * palm_twice / palm,
                  "Chowdhery et al. (2022), section 4.1"),
        Published("LLaMA 65B, 2,048 A100", "380 tokens/s, 1.4T tokens", "device hours",
                  1_022_362, 1.4e12 / 380 / 3600,
                  "Touvron et al. (2023), section 2.4 and table 15"),
        Published("Llama 3.1 405B, H100", "MFU 41 %, 15.6T tokens", "device hours", 30.84e6,
                  24 * days(llama * 15.6e12, H100, 0.41),
                  "Grattafiori et al. (2024), table 4; hours: model card"),
        Published("DeepSeek-V3, H800", "180,000 hours per 1T, 14.8T tokens", "device hours",
                  2.664e6, 180e3 * 14.8,
                  "DeepSeek-AI (2024), table 1"),
    ]  # fmt: skip


def planned() -> list[Published]:
    """Rates and times that papers print, from their plans.

    The first ten were fitted to (the two numbers of ``kernel_efficiency``), and of ZeRO 3 one
    (what InfiniBand reaches). The others follow.
    """
    runs = [megatron_run(*row[:-1], 1, row[-1], table=1) for row in WEAK_SCALING]
    runs += [megatron_run(*row, table=2) for row in MODEL_PARALLEL]
    runs += [megatron_run(*row, table=2, shard="all") for row in ZERO_3]
    runs += [step_run(*row, again) for row in STEPS for again in ("full", "selective")]
    return runs + [llama_run(*row) for row in LLAMA_ROWS]


def a100s(count: int) -> Cluster:
    """NVLink as its data sheet has it, one direction; of InfiniBand's 25 GB/s, 64 %.

    The device has more memory than the real one, so that no run is refused: what a paper does
    to make room is not always printed.
    """
    return Cluster(device=ROOMY_A100, count=count, link_within=300e9, link_between=16e9)


def megatron_run(
    D: int, L: int, H: int, t: int, p: int, devices: int, batch: int, B: int, rate: float | int,
    *, table: int, shard: Shard = "none",
) -> Published:  # fmt: skip
    """One row of Narayanan et al. (2021), with everything computed again.

    Table 1 prints neither the size of micro-batches nor the pieces of a stage: one sequence,
    and one piece.
    """
    config, d = megatron(D, L, H), devices // (t * p)
    plan = ParallelPlan(data=d, tensor=t, pipeline=p, shard=shard, micro_batch=B,
                        accumulate=batch // (d * B), activation_checkpointing="full",
                        sequence_parallel=False)  # fmt: skip
    run = training_time(config, a100s(devices), plan, 300e9)
    name = f"Megatron-LM, width {D:,}, {devices:,} A100"
    given = f"t = {t}, p = {p}, d = {d}, {batch:,} sequences"
    source = f"Narayanan et al. (2021), table {table}"
    ours = run.hardware_utilization * A100 / 1e12
    return Published(name, given, "TFLOP/s", rate, ours, source + zero(shard))


def zero(shard: Shard) -> str:
    """How the source of a run with ZeRO 3 is told from the others of its table."""
    return ", ZeRO 3" if shard == "all" else ""


def step_run(
    D: int, L: int, H: int, p: int, devices: int, batch: int, B: int, v: int,
    full: float | int, selective: float | int, again: Checkpointing,
) -> Published:  # fmt: skip
    """One row of Korthikanti et al. (2022): seconds of a step on one replica, t = 8."""
    plan = ParallelPlan(tensor=8, pipeline=p, micro_batch=B, accumulate=batch // B,
                        interleave=v, activation_checkpointing=again,
                        sequence_parallel=again == "selective")  # fmt: skip
    cluster = a100s(devices)
    run = training_time(megatron(D, L, H), cluster, plan, 300e9)
    name = f"Megatron-LM, width {D:,}, {devices:,} A100"
    printed = full if again == "full" else selective
    given, ours = f"t = 8, p = {p}, v = {v}, {again}", sum(run.seconds.values())
    return Published(name, given, "s", printed, ours, "Korthikanti et al. (2022), table 5")


def llama_run(devices: int, d: int, m: int, rate: float | int) -> Published:
    """One row of table 4, with the smallest pieces: 126 blocks and two ends in 16 times 8.

    The paper says that memory suffices without recomputation because tensors are freed early,
    which is not modeled here; the device is given more.
    """
    roomy = Device(peak=H100, watts=DEVICES["H100"].watts, memory=160e9)
    plan = ParallelPlan(data=d, tensor=8, pipeline=16, accumulate=m, interleave=8,
                        shard="gradients")  # fmt: skip
    cluster = Cluster(device=roomy, count=devices)
    run = training_time(LLAMA_405B, cluster, plan, 15.6e12)
    name, given = f"Llama 3 405B, {devices:,} H100", f"t = 8, p = 16, d = {d}, m = {m}"
    ours = run.utilization * H100 / 1e12
    return Published(name, given, "TFLOP/s", rate, ours, "Grattafiori et al. (2024), table 4")


def against(runs: Sequence[Published]) -> str:
    """Published numbers and ours as a table."""
    head = ["run", "given", "compared", "printed", "here", "deviation"]
    rows = [[r.run, r.given, r.what, shown(r.printed), shown(r.ours), f"{r.deviation:+.1%}"]
            for r in runs]  # fmt: skip
    return markdown(head, rows)


def by_source(runs: Sequence[Published]) -> str:
    """How far each source's runs are off, as a table."""
    rows = []
    for source in dict.fromkeys(run.source for run in runs):
        off = [run.deviation for run in runs if run.source == source]
        mean = sum(map(abs, off)) / len(off)
        rows.append(
            [source, str(len(off)), f"{mean:.1%}", f"{min(off):+.1%}", f"{max(off):+.1%}"]
        )
    return markdown(["source", "runs", "mean of the sizes", "lowest", "highest"], rows)


def shown(number: float | int) -> str:
    """A number in the table: whole where it is large, else with one digit after the point."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.1f}"
