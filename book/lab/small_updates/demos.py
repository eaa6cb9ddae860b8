"""Moving demos on small updates: what LoRA takes, and what a rank keeps of a real update."""

from collections.abc import Mapping, Sequence
from html import escape

from mathlm.errors import InputError
from mathlm.models import GPTConfig
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
from mathlm.scaling import PUBLISHED, count_parameters

MODELS = {
    "SmolLM2 135M": "smollm2-135m",
    "Mistral 7B": "mistral-7b",
    "LLaMA 7B": "llama-7b",
    "Llama 3 8B": "llama3-8b",
    "Llama 2 70B": "llama2-70b",
}
TARGETS = {
    "W_q, W_v": ("q", "v"),
    "all attention": ("q", "k", "v", "o"),
    "all linear maps": ("q", "k", "v", "o", "in", "gate", "out"),
}
BASE_BITS = (16, 8, 4)
TRAINED_BYTES = 16  # of a number that is trained: itself, its gradient, two means, in float32


def described(config: GPTConfig) -> dict[str, object]:
    """What the calculator needs to know of a model: sizes (outputs, inputs) of its maps."""
    D, F = config.d_model, config.ff_width
    q, kv = config.n_heads * config.head_width, config.kv_heads * config.head_width
    maps = {"q": (q, D), "k": (kv, D), "v": (kv, D), "o": (D, q)}
    maps |= {"in": (F, D), "gate": (F, D), "out": (D, F)}
    return {"layers": config.n_layers, "all": count_parameters(config), "maps": maps}


def calculated(
    config: GPTConfig, names: Sequence[str], rank: int, layers: int, bits: int
) -> dict[str, float | int]:
    """The numbers of the calculator."""
    d = described(config)
    maps = [d["maps"][name] for name in names]  # type: ignore[index]
    low = sum(min(rank, o, i) * (o + i) for o, i in maps)
    used = min(layers, config.n_layers)
    n, trained = count_parameters(config), used * low
    return {
        "trained": trained,
        "share": trained / n,
        "fewer": sum(o * i for o, i in maps) / low,
        "full": TRAINED_BYTES * n,
        "small": n * bits / 8 + TRAINED_BYTES * trained,
    }


def lora_calculator_demo(model: int = 2, targets: int = 0, rank: int = 4) -> Demo:
    """What updates of a rank take, in numbers and in memory, for a published model.

    Args:
        model: Index into ``MODELS``.
        targets: Index into ``TARGETS``.
        rank: Of the updates [power of 2].
    """
    configs = [c for c in map(PUBLISHED.get, MODELS.values()) if isinstance(c, GPTConfig)]
    chosen, layers = list(TARGETS.values())[targets], configs[model].n_layers
    found = calculated(configs[model], chosen, 2**rank, layers, 16)
    sizes = [found["full"], found["small"]]
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="wide">{bar("bar", x / max(sizes))}</td>'
        f"<td>{value('memory', byte_size(x))}</td></tr>"
        for name, x in zip(("all weights trained", "LoRA"), sizes, strict=True)
    )
    ranks = slider("rank", "rank r", 0, 12, 1, rank)
    ranks = ranks.replace(f'rank-value">{rank}<', f'rank-value">{2**rank}<')
    return Demo(
        kind="lora-calculator",
        title="What low-rank updates take",
        hint="Raise the rank until LoRA has more numbers than the matrices that it updates.",
        state={
            "models": [described(c) for c in configs],
            "targets": list(TARGETS.values()),
            "bits": BASE_BITS,
        },
        controls=select("model", "model", list(MODELS), model)
        + select("targets", "beside which matrices", list(TARGETS), targets)
        + ranks
        + slider("layers", "layers", 1, 80, 1, layers)
        + select("base", "bits of a frozen weight", [str(b) for b in BASE_BITS])
        + button("reset", "reset"),
        view=live_text(
            f"{value('pairs', str(layers * len(chosen)))} pairs, "
            f"{value('trained', format(found['trained'], ','))} numbers trained: "
            f"{value('share', format(100 * found['share'], '.3f') + ' %')} of the model, "
            f"{value('fewer', format(found['fewer'], '.1f'))} times fewer than their matrices "
            f"have. A file of 16 bits takes {value('file', byte_size(2 * found['trained']))}."
        )
        + f"<table><caption>memory of a training step, without activations</caption>"
        f"<tbody>{rows}</tbody></table>",
        script=script_beside(__file__, "lora_calculator"),
        css=".mathlm-demo[data-demo=lora-calculator] td.wide{width:45%}"
        ".mathlm-demo[data-demo=lora-calculator] caption{text-align:left;color:var(--soft);"
        "font-size:.9rem;caption-side:top}",
    )


def rank_kept_demo(
    updates: Mapping[str, Mapping[str, Sequence[float | int]]], rank: int = 3
) -> Demo:
    """What is left of real updates when each matrix keeps so many directions of its own.

    Args:
        updates: Name -> ``ranks``, and by rank ``energy`` (mean share), ``kept`` (share of the
            gain), ``random`` (the same with random directions), ``loss`` [nats/token] and
            ``numbers`` (of a product of that rank, as a share of those of the matrices).
        rank: Index of the initial rank.

    Raises:
        InputError: If there is no update, or the lists differ in length.
    """
    if not updates:
        raise InputError("no updates to show: give one or more")
    keys = ("ranks", "energy", "kept", "random", "loss", "numbers")
    state = [{key: list(u[key]) for key in keys} for u in updates.values()]
    lengths = {len(u[key]) for u in state for key in keys}
    if len(lengths) > 1:
        raise InputError(f"lists of {sorted(lengths)} values: every rank needs one of each")
    u = {key: values[rank] for key, values in state[0].items()}
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th>'
        f'<td class="wide">{bar(f"{name}-bar", min(1, max(0, x)))}</td>'
        f"<td>{value(name, f'{100 * x:.0f} %')}</td></tr>"
        for name, label, x in (
            ("energy", "energy of the updates", u["energy"]),
            ("gain", "gain", u["kept"]),
            ("chance", "gain, random directions", u["random"]),
        )
    )
    ranks = slider("rank", "directions kept", 0, lengths.pop() - 1, 1, rank)
    shown = f'rank-value">{state[0]["ranks"][rank]}<'
    return Demo(
        kind="rank-kept",
        title="A real update, cut to its first directions",
        hint="Start at 0. How many directions bring back most of the gain?",
        state={"updates": state},
        controls=select("update", "tuned on", list(updates))
        + ranks.replace(f'rank-value">{rank}<', shown)
        + button("reset", "reset"),
        view=f"<table><tbody>{rows}</tbody></table>"
        + live_text(
            f"Held-out loss {value('loss', format(u['loss'], '.3f'))} nats. A product of this "
            f"rank has {value('numbers', format(100 * u['numbers'], '.0f') + ' %')} of the "
            f"matrices' numbers."
        ),
        script=script_beside(__file__, "rank_kept"),
        css=".mathlm-demo[data-demo=rank-kept] td.wide{width:45%}",
    )
