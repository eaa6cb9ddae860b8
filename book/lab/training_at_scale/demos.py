"""Moving demos on training at scale: ZeRO's memory, a pipeline's bubble."""

from mathlm.plot.demo import (
    Demo,
    bar,
    button,
    byte_size,
    live_text,
    script_beside,
    select,
    slider,
    value,
)
from mathlm.plot.picture import axis, boxes, legend, picture, words
from mathlm.scaling import sharded_memory

from .pipeline_schedule import pipeline_tasks

STAGES = ("0: nothing", "1: optimizer", "2: and gradients", "3: and weights")
MODELS = {"GPT-2, 0.12 billion": 124_439_808, "7 billion": 7_000_000_000,
          "70 billion": 70_000_000_000, "405 billion": 405_000_000_000}  # fmt: skip


def zero_memory_demo(model: int = 1, devices: int = 8, stage: int = 0) -> Demo:
    """Bytes on each device by model, number of devices and stage of ZeRO.

    Args:
        model: Index into ``MODELS``.
        devices: A power of two.
        stage: 0 to 3.
    """
    n = list(MODELS.values())[model]
    parts = sharded_memory(n, devices, stage)
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="wide">{bar("bar", size / (16 * n))}</td>'
        f"<td>{value('part', byte_size(size))}</td></tr>"
        for name, size in parts.items()
    )
    sent = (3 if stage > 2 else 2) * 2 * n * (devices - 1) / devices
    total = sum(parts.values())
    fits = "fits into 80 GB, if activations fit into the rest"
    return Demo(
        kind="zero-memory",
        title="What each device keeps, and what it sends in a step",
        hint="Seven billion parameters on eight devices: which stage is the first that fits?",
        state={"models": list(MODELS.values())},
        controls=select("model", "parameters", list(MODELS), model)
        + slider("devices", "devices", 0, 10, 1, devices.bit_length() - 1).replace(
            f'devices-value">{devices.bit_length() - 1}', f'devices-value">{devices}'
        )
        + select("stage", "divided among them", list(STAGES), stage)
        + button("reset", "reset"),
        view=f"<table><tbody>{rows}</tbody></table>"
        + live_text(
            f"Together {value('total', byte_size(total))}: "
            f"{value('fits', fits if total < 80e9 else 'does not fit into 80 GB')}. "
            f"Sent in a step: {value('sent', byte_size(sent))}."
        ),
        script=script_beside(__file__, "zero_memory"),
        css=".mathlm-demo[data-demo=zero-memory] td.wide{width:50%}",
    )


def pipeline_demo(stages: int = 4, parts: int = 8) -> Demo:
    """A pipeline's schedule, its idle share and what its first stage holds.

    Args:
        stages: Of the model.
        parts: Micro-batches of a step.
    """
    return Demo(
        kind="pipeline",
        title="One step in a pipeline of stages",
        hint="More micro-batches shrink the gaps; the other order shrinks what is held.",
        state={},
        controls=slider("stages", "stages", 1, 8, 1, stages)
        + slider("parts", "micro-batches", 1, 32, 1, parts)
        + select("order", "order", ["all forward first", "one forward, one backward"])
        + button("reset", "reset"),
        view=legend((("accent", "forward"), ("second", "backward"), ("line", "idle")))
        + schedule_picture(stages, parts)
        + live_text(
            f"Idle: {value('idle', f'{100 * (stages - 1) / (parts + stages - 1):.1f} %')} of "
            f"the time; the step takes {value('whole', str(3 * (parts + stages - 1)))} forward "
            f"passes. The first stage holds the activations of {value('held', str(parts))} "
            "micro-batches."
        ),
        script=script_beside(__file__, "pipeline"),
    )


def schedule_picture(stages: int, parts: int) -> str:
    """The schedule as a picture: a row for each stage, a numbered box for each pass."""
    tasks = pipeline_tasks(stages, parts)
    total = max(t.end for t in tasks)
    passes = boxes(
        [(t.start, t.stage, t.end, t.stage + 1) for t in tasks],
        ["second" if t.backward else "accent" for t in tasks],
        gap=1.5,
    )
    numbers = [
        words(
            ((t.start + t.end) / 2, t.stage + 0.5),
            str(t.micro_batch + 1),
            "bg",
            room=t.end - t.start,
            anchor="middle",
            dy=4,
            halo=0,
        )
        for t in tasks
    ]
    return picture(
        "picture",
        "when each stage computes which micro-batch",
        axis(0, total, "time [forward passes of one stage]"),
        axis(stages, 0, ticks=[(s + 0.5, f"stage {s + 1}") for s in range(stages)]),
        [boxes([(0, 0, total, stages)], "track"), passes, *numbers],
        aspect=0.1 + 0.055 * stages,
        tallest=54 + 34 * stages,
        widest=900,
    )
