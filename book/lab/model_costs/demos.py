"""Moving demo of the page on costs: what a configuration costs."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mathlm.errors import InputError
from mathlm.models import GPTConfig
from mathlm.plot.demo import (
    Demo,
    bar,
    button,
    byte_size,
    live_text,
    number,
    scientific,
    script_beside,
    select,
    slider,
    value,
)
from mathlm.scaling import (
    PUBLISHED,
    count_parameters,
    flops_per_token,
    kv_cache_bytes,
    training_days,
    training_memory,
)

DEVICES = {"A100": 312e12, "H100": 989e12, "a laptop": 1e12}  # bfloat16 at best [FLOP/s]
STYLES = ("as GPT-2", "as Llama")
UNITS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
PLANS = {  # model, tokens in a sequence and in the whole training
    "GPT-2 (2019)": ("gpt2", 1024, 1e10),
    "GPT-3 (2020)": ("gpt3-175b", 2048, 3e11),
    "LLaMA 7B (2023)": ("llama-7b", 2048, 1e12),
    "Llama 2 70B (2023)": ("llama2-70b", 4096, 2e12),
    "SmolLM2 135M (2024)": ("smollm2-135m", 2048, 2e12),
}
START = {"device": 0, "count": 10, "use": 40}  # 2^10 devices, 40 % of their speed


def architecture_calculator_demo(start: str = "LLaMA 7B (2023)") -> Demo:
    """Sliders for a configuration; parameters, arithmetic, memory and days of training out.

    Args:
        start: Name of the plan to begin with, a key of ``PLANS``.
    """
    if start not in PLANS:
        raise InputError(f"start={start!r} is not one of {', '.join(PLANS)}")
    found = costs(*planned(start))
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td>{value(key, found[key])}</td></tr>'
        for name, key in (
            ("parameters N", "N"),
            ("one token forward, all pairs [FLOP]", "forward"),
            ("whole training, all pairs [FLOP]", "total"),
            ("the same over 6 N tokens", "ratio"),
            ("weights, gradients, Adam (16 bytes each)", "steady"),
            ("activations of one sequence (16 bit)", "saved"),
            ("key/value cache of one sequence (16 bit)", "cache"),
            ("days of training", "days"),
        )
    )
    parts = "".join(
        f'<tr><th scope="row">{name}</th><td class="wide">{bar("bar", share)}</td>'
        f"<td>{value('share', f'{100 * share:.1f} %')}</td></tr>"
        for name, share in found["shares"].items()
    )
    return Demo(
        kind="architecture-calculator",
        title="What a decoder costs",
        hint="Choose a model; lengthen its context; let all its heads share one KV head. "
        "Attention counts all T² pairs, those that the causal mask hides too.",
        state={
            "plans": [settings(*planned(name)) for name in PLANS],
            "devices": [*DEVICES.values()],
            "units": [list(unit) for unit in UNITS],
        },
        controls=calculator_controls(settings(*planned(start)), [*PLANS].index(start)),
        view=f"<table><tbody>{rows}</tbody></table><table><tbody>{parts}</tbody></table>"
        + live_text(
            f"{value('size', found['size'])} parameters, {value('H', found['H'])} query heads, "
            f"{value('G', found['G'])} key/value heads."
        ),
        script=script_beside(__file__, "architecture_calculator"),
        css=".mathlm-demo[data-demo=architecture-calculator] th{white-space:normal}",
    )


def planned(name: str) -> tuple[GPTConfig, float]:
    """Configuration of a plan, and its training tokens."""
    key, context, tokens = PLANS[name]
    config: Any = PUBLISHED[key]
    return replace(config, context=context), tokens


def settings(config: GPTConfig, tokens: float) -> dict[str, int | float]:
    """Where the inputs of the calculator stand for a configuration."""
    return {
        "style": int(config.norm == "rms"),
        "layers": config.n_layers,
        "width": config.d_model,
        "head": int(config.head_width == 128),
        "groups": config.kv_heads,
        "inner": config.ff_width,
        "vocabulary": config.vocab_size,
        "tied": int(not config.tie_embeddings),
        "context": config.context.bit_length() - 1,
        "tokens": round(math.log10(tokens), 2),
    }


def calculator_controls(at: Mapping[str, int | float], plan: int) -> str:
    """Inputs of the calculator."""
    return (
        select("plan", "begin with", [*PLANS], plan)
        + select("style", "parts", STYLES, int(at["style"]))
        + slider("layers", "layers L", 1, 128, 1, at["layers"])
        + slider("width", "width D", 128, 16_384, 64, at["width"])
        + select("head", "width of a head", ["64", "128"], int(at["head"]))
        + slider("groups", "key/value heads G, at most", 1, 128, 1, at["groups"])
        + slider("inner", "feed-forward width F", 64, 65_536, 64, at["inner"])
        + number("vocabulary", "vocabulary V", at["vocabulary"], low=1, high=10**6, step=1)
        + select("tied", "head", ["is the embedding", "of its own"], int(at["tied"]))
        + slider("context", "context T", 7, 17, 1, at["context"])
        + slider("tokens", "training tokens", 8, 14, 0.01, at["tokens"])
        + select("device", "device", [*DEVICES], START["device"])
        + slider("count", "devices", 0, 15, 1, START["count"])
        + slider("use", "utilization [%]", 5, 100, 1, START["use"])
        + button("reset", "reset")
    )


def costs(config: GPTConfig, tokens: float) -> dict[str, Any]:
    """What the calculator shows at first, as its script writes it."""
    parts, T = count_parameters(config, by_part=True), config.context
    n, per_token = sum(parts.values()), flops_per_token(config, T, training=True)
    memory = training_memory(config, T, bytes_per_number=2, master_bytes=4)
    tables = sum(parts[name] for name in ("token_embedding", "position", "head"))
    shares = {"embeddings": tables} | {k: parts[k] for k in ("attention", "feed_forward")}
    rate = DEVICES[[*DEVICES][START["device"]]]
    total, devices = per_token * 10 ** round(math.log10(tokens), 2), 2 ** START["count"]
    days = training_days(total, rate, START["use"] / 100, devices)
    return {
        "shares": {name.replace("_", "-"): count / n for name, count in shares.items()},
        "N": f"{n:,}",
        "H": str(config.n_heads),
        "G": str(config.kv_heads),
        "size": short(n),
        "forward": short(per_token / 3),
        "total": scientific(total, 2),
        "ratio": f"{per_token / (6 * n):.2f}",
        "steady": byte_size(sum(memory[k] for k in ("weights", "gradients", "optimizer"))),
        "saved": byte_size(memory["activations"]),
        "cache": byte_size(kv_cache_bytes(config, T)),
        "days": f"{days:.2f}" if days < 10 else f"{days:,.0f}",
    }


def short(x: float | int) -> str:
    """A number with three digits and a letter for its power of a thousand."""
    letter, size = next(((u, s) for u, s in UNITS if x >= s), ("", 1.0))
    y = x / size
    return f"{y:.{2 if y < 10 else 1 if y < 100 else 0}f} {letter}"
