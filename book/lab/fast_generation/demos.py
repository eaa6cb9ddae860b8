"""Moving demos on the speed of writing: a cache calculator, and draft tokens one at a time."""

from collections.abc import Callable, Sequence
from html import escape

from mathlm.errors import InputError
from mathlm.generate import Round
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
from mathlm.scaling import PUBLISHED, count_parameters, decode_bytes, kv_cache_bytes

CARD, BANDWIDTH = 80e9, 3.35e12  # an H100 [bytes, bytes/s]
MODELS = {
    "SmolLM2 135M": "smollm2-135m",
    "Mistral 7B": "mistral-7b",
    "Llama 3 8B": "llama3-8b",
    "LLaMA 65B": "llama-65b",
    "Llama 2 70B": "llama2-70b",
    "GPT-3 175B": "gpt3-175b",
}
SHARING = ("as published", "one for each query head", "one for all")
WEIGHT_BITS, CACHE_BITS = (32, 16, 8, 4), (32, 16, 8)


def cache_calculator_demo(model: int = 4, tokens: int = 17, texts: int = 0) -> Demo:
    """Size of weights and caches, and the tokens a second that reading them allows.

    Args:
        model: Index into ``MODELS``.
        tokens: Of each text [powers of 2].
        texts: That are written together [powers of 2].
    """
    configs = [c for c in map(PUBLISHED.get, MODELS.values()) if isinstance(c, GPTConfig)]
    config = configs[model]
    found = calculated(config, 2**tokens, 2**texts, 16, 16, config.kv_heads)
    sizes = [found["stored"], found["cache"]]
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="wide">{bar("bar", x / sum(sizes))}</td>'
        f"<td>{value('part', byte_size(x))}</td></tr>"
        for name, x in zip(("weights", "keys and values"), sizes, strict=True)
    )
    return Demo(
        kind="cache-calculator",
        title="What a writing model holds, and how fast it may be on an H100",
        hint="Find what fits into 80 GB. Then raise the number of texts and watch both rates.",
        state={
            "models": [described(c) for c in configs],
            "weightBits": WEIGHT_BITS,
            "cacheBits": CACHE_BITS,
            "card": CARD,
            "bandwidth": BANDWIDTH,
        },
        controls=select("model", "model", list(MODELS), model)
        + select("sharing", "key/value heads", list(SHARING))
        + _power("tokens", "tokens in each text", 7, 20, tokens)
        + _power("texts", "texts", 0, 10, texts)
        + select("weights", "bits of a weight", [str(b) for b in WEIGHT_BITS], 1)
        + select("cache", "bits in the cache", [str(b) for b in CACHE_BITS], 1)
        + button("reset", "reset"),
        view=f"<table><tbody>{rows}</tbody></table>"
        + live_text(
            f"One token's keys and values: {value('each', byte_size(found['each']))}. "
            f"80 GB have room for {value('fit', counted(found['fit']))} texts. "
            f"At 3.35 TB/s at most {value('rate', whole(found['rate']))} tokens/s, "
            f"{value('single', whole(found['rate'] / 2**texts))} for each text."
        ),
        script=script_beside(__file__, "cache_calculator"),
        css=".mathlm-demo[data-demo=cache-calculator] td.wide{width:45%}",
    )


def described(config: GPTConfig) -> dict[str, int]:
    """What the script needs to know of a model."""
    one = kv_cache_bytes(config, 1, bytes_per_number=1)
    return {
        "layers": config.n_layers,
        "heads": config.kv_heads,
        "queries": config.n_heads,
        "width": config.head_width,
        "window": config.window or 0,
        "all": sum(count_parameters(config, by_part=True).values()),
        "read": round(decode_bytes(config, 0, weight_bytes=1, bytes_per_number=1)) - one,
    }


def calculated(
    config: GPTConfig, tokens: int, texts: int, weight_bits: int, cache_bits: int, heads: int
) -> dict[str, float]:
    """The numbers of the calculator, with so many key/value heads."""
    known = described(config)
    held = min(tokens, config.window or tokens)
    stored = known["all"] * weight_bits / 8
    each = 2 * config.n_layers * heads * config.head_width * cache_bits / 8
    cache = each * held * texts
    return {
        "stored": stored,
        "each": each,
        "cache": cache,
        "fit": max(0.0, (CARD - stored) // (each * held)),
        "rate": texts * BANDWIDTH / (known["read"] * weight_bits / 8 + cache),
    }


def counted(x: float) -> str:
    """How many texts fit, as the script writes it."""
    return "more than 9,999" if x > 9999 else f"{int(x):,}"


def whole(x: float) -> str:
    """A rate, as the script writes it."""
    return f"{x:.1f}" if x < 10 else f"{int(x):,}"


def _power(name: str, label: str, low: int, high: int, exponent: int) -> str:
    """A slider over powers of two that shows the power."""
    made = slider(name, label, low, high, 1, exponent)
    return made.replace(f'{name}-value">{exponent}<', f'{name}-value">{2**exponent:,}<')


def draft_tokens_demo(prompt: str, rounds: Sequence[Round], show: Callable[[int], str]) -> Demo:
    """Step through draft tokens that a target accepts or replaces, one token at a time.

    Args:
        prompt: Text in front.
        rounds: What each reading of the target yielded.
        show: Text of a token.

    Raises:
        InputError: If there are no rounds.
    """
    if not rounds:
        raise InputError("no rounds to show: give those of one text")
    steps = [step for i, done in enumerate(rounds) for step in told_steps(i, done, show)]
    pieces = "".join(
        f'<span data-name="piece" class="{step["kind"]}">{escape(str(step["text"]))}</span>'
        for step in steps
    )
    first = f"The draft proposes {', '.join(_quoted(rounds[0].draft_tokens.tolist(), show))}."
    return Demo(
        kind="draft_tokens",
        title="Draft tokens of a small model, verified by a large one",
        hint="Press next. Accepted tokens are blue, replaced ones orange, extra tokens bold.",
        state={"first": first, "steps": [{k: s[k] for k in ("round", "told")} for s in steps]},
        controls=button("next", "next") + button("back", "back") + button("reset", "reset"),
        view=f'<p class="written">{escape(prompt)}{pieces}</p>'
        + live_text(f'<span data-name="told">{escape(str(steps[-1]["told"]))}</span>')
        + f"<p>{value('tokens', str(len(steps)))} tokens from "
        f"{value('readings', str(len(rounds)))} readings of the large model.</p>",
        script=script_beside(__file__, "draft_tokens"),
        css=".mathlm-demo .written{white-space:pre-wrap;font-family:ui-monospace,monospace}"
        ".mathlm-demo .accepted{color:var(--accent)}.mathlm-demo .extra{font-weight:700}"
        ".mathlm-demo .replaced{color:var(--second);text-decoration:underline}",
    )


def told_steps(
    number: int, done: Round, show: Callable[[int], str]
) -> list[dict[str, int | str]]:
    """Each token of a round: what it is, where it came from, and a sentence on it."""
    steps: list[dict[str, int | str]] = []
    tokens, draft_tokens = done.tokens.tolist(), done.draft_tokens.tolist()
    for i, token in enumerate(tokens):
        if i < len(draft_tokens):
            p, q = done.p[i, draft_tokens[i]].item(), done.q[i, draft_tokens[i]].item()
            told = (
                f"{show(draft_tokens[i])!r}: p = {p:.3f}, q = {q:.3f}, so it is accepted with "
            )
            told += f"probability {min(1.0, p / q):.2f}. "
        if i < done.accepted:
            kind, told = "accepted", told + "Accepted."
        elif i < len(draft_tokens):
            kind, told = "replaced", told + f"Refused; {show(token)!r} is drawn instead."
        else:
            kind, told = "extra", f"All were accepted; {show(token)!r} comes free with them."
        steps.append({"round": number, "kind": kind, "text": show(token), "told": told})
    return steps


def _quoted(tokens: Sequence[int], show: Callable[[int], str]) -> list[str]:
    return [repr(show(token)) for token in tokens]
