"""Moving demos on training at scale: the loss scale, ZeRO's memory, a pipeline's bubble."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, select, slider, value
from mathlm.scaling import sharded_memory

from .figures import LARGEST, NORMAL, ZERO
from .pipeline_schedule import pipeline_tasks

FATES = ("becomes 0", "blurred", "exact to 11 bits", "overflows")
STAGES = ("0: nothing", "1: optimizer", "2: and gradients", "3: and weights")
MODELS = {"GPT-2, 0.12 billion": 124_439_808, "7 billion": 7_000_000_000,
          "70 billion": 70_000_000_000, "405 billion": 405_000_000_000}  # fmt: skip
COLORS = {False: "var(--accent)", True: "var(--second)"}


def loss_scale_demo(sizes: ArrayLike, start: int = 0) -> Demo:
    """Move gradients along the axis of float16 by the scale of the loss.

    Args:
        sizes: Of gradients, above 0.
        start: Initial scale [powers of 2].
    """
    array = np.asarray(sizes, dtype=float)
    if not array.size or not (array > 0).all():
        raise InputError(f"{array.size} sizes: expected at least one, and all above 0")
    exponents = np.floor(np.log2(array)).astype(int)
    first = int(exponents.min())
    shares = np.bincount(exponents - first) / len(exponents)
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="wide">{bar("bar", share)}</td>'
        f"<td>{value('share', f'{100 * share:.2f} %')}</td></tr>"
        for name, share in zip(FATES, fates(exponents + start), strict=True)
    )
    return Demo(
        kind="loss-scale",
        title="Real gradients in float16, moved by the scale of the loss",
        hint="Move the scale up until nothing is lost, and on until something overflows.",
        state={"first": first, "shares": shares.tolist(), "ends": [ZERO, NORMAL, LARGEST]},
        controls=slider("scale", "scale of the loss, power of 2", -20, 40, 1, start)
        + button("reset", "reset"),
        view=f"<table><tbody>{rows}</tbody></table>"
        + live_text(f"The step: {value('fate', verdict(fates(exponents + start)))}."),
        script=script_beside(__file__, "loss_scale"),
        css=".mathlm-demo[data-demo=loss-scale] td.wide{width:50%}",
    )


def fates(exponents: np.ndarray) -> list[float]:
    """Shares of numbers, given by their exponents, that float16 loses, blurs, holds, breaks."""
    place = np.searchsorted([ZERO, NORMAL, LARGEST], exponents, side="right")
    return (np.bincount(place, minlength=4) / len(exponents)).tolist()


def verdict(shares: list[float]) -> str:
    """What becomes of a step."""
    if shares[3] > 0:
        return "at least one overflows: the step is skipped"
    return "more than one in a hundred is lost" if shares[0] > 0.01 else "nearly all arrive"


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
