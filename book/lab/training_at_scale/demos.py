"""Moving demos on training at scale: ZeRO's memory, a pipeline's bubble."""

from collections.abc import Mapping

from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, select, slider, value
from mathlm.scaling import sharded_memory

from .pipeline_schedule import pipeline_tasks

STAGES = ("0: nothing", "1: optimizer", "2: and gradients", "3: and weights")
MODELS = {"GPT-2, 0.12 billion": 124_439_808, "7 billion": 7_000_000_000,
          "70 billion": 70_000_000_000, "405 billion": 405_000_000_000}  # fmt: skip
COLORS = {False: "var(--accent)", True: "var(--second)"}


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
        f"<td>{value('part', gigabytes(size))}</td></tr>"
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
            f"Together {value('total', gigabytes(total))}: "
            f"{value('fits', fits if total < 80e9 else 'does not fit into 80 GB')}. "
            f"Sent in a step: {value('sent', gigabytes(sent))}."
        ),
        script=script_beside(__file__, "zero_memory"),
        css=".mathlm-demo[data-demo=zero-memory] td.wide{width:50%}",
    )


def gigabytes(size: float | int) -> str:
    """A size in GB, as the script writes it."""
    return f"{size / 1e9:.{2 if size < 1e10 else 1}f} GB"


def pipeline_demo(stages: int = 4, parts: int = 8) -> Demo:
    """A pipeline's schedule, its idle share and what its first stage holds.

    Args:
        stages: Of the model.
        parts: Micro-batches of a step.
    """
    return Demo(
        kind="pipeline",
        title="A step in a pipeline: forward passes blue, backward passes orange",
        hint="More micro-batches shrink the gaps; the other order shrinks what is held.",
        state={},
        controls=slider("stages", "stages", 1, 8, 1, stages)
        + slider("parts", "micro-batches", 1, 32, 1, parts)
        + select("order", "order", ["all forward first", "one forward, one backward"])
        + button("reset", "reset"),
        view=f'<div data-name="picture">{schedule_picture(stages, parts)}</div>'
        + live_text(
            f"Idle: {value('idle', f'{100 * (stages - 1) / (parts + stages - 1):.1f} %')} of "
            f"the time. The first stage holds the activations of {value('held', str(parts))} "
            "micro-batches."
        ),
        script=script_beside(__file__, "pipeline"),
    )


def schedule_picture(stages: int, parts: int) -> str:
    """The schedule as SVG, as the script draws it."""
    tasks = pipeline_tasks(stages, parts)
    unit = 600 / max(t.end for t in tasks)
    boxes: list[Mapping[str, float | str]] = [
        {"x": f"{unit * t.start:.2f}", "y": 22 * t.stage,
         "width": f"{unit * (t.end - t.start) - 1:.2f}", "fill": COLORS[t.backward]}
        for t in tasks
    ]  # fmt: skip
    drawn = "".join(
        f'<rect x="{b["x"]}" y="{b["y"]}" width="{b["width"]}" height="20" fill="{b["fill"]}">'
        "</rect>"
        for b in boxes
    )
    return f'<svg viewBox="0 0 600 {22 * stages}" width="600" role="img">{drawn}</svg>'
