"""Moving demos of generation: one real next token, and a text replayed token by token."""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, select, slider, value

EXACT = 300  # tokens whose logits are kept one by one; those behind them lie in bins
BIN = 0.25  # width of a bin of logits
SHOWN = 8  # tokens that have a row of their own


REPLAY_CSS = """
.mathlm-demo[data-demo=replay] .text{line-height:2}
.mathlm-demo[data-demo=replay] .text button{display:inline;min-height:0;padding:.05rem .1rem;
margin:0;border:0;border-bottom:3px solid color-mix(in srgb,var(--second) var(--odd),
var(--track));border-radius:.15rem;white-space:pre-wrap}
"""


class ReplayedToken(NamedTuple):
    """One token of a text that a model wrote, with what it might have written.

    Args:
        word: The token.
        p: Its probability under the model.
        rank: Its place among all tokens, 1 = the likeliest.
        entropy: Of the distribution [nats].
        others: The likeliest tokens and their probabilities.
    """

    word: str
    p: float
    rank: int
    entropy: float
    others: Sequence[tuple[str, float]]


def next_token_demo(
    examples: Mapping[str, tuple[ArrayLike, Callable[[int], str]]],
    *,
    temperature: float | int = 1.0,
) -> Demo:
    """Temperature, top-k, top-p and min-p to set on real distributions of the next token.

    The logits of the likeliest tokens are kept one by one and those behind them in bins of a
    quarter of a nat, so that a page need not hold the whole vocabulary.

    Args:
        examples: Beginning of the text -> (logits, function that spells a token).
        temperature: Initial temperature, between 0.1 and 2.
    """
    if not examples:
        raise InputError("there is no example to show: give at least one beginning")
    if not 0.1 <= temperature <= 2:
        raise InputError(f"temperature={temperature} must lie between 0.1 and 2")
    kept = [_binned(name, *found) for name, found in examples.items()]
    z, n, words = kept[0]
    H, count, mass, p = kept_prefix(z, n, temperature, None, 1.0, 0.0)
    rows = "".join(_row(word, p[i], p[i] / mass, i < count) for i, word in enumerate(words))
    return Demo(
        kind="next-token",
        title="One real next token: what each setting keeps",
        hint="Lower the temperature, then cut with top-p. Then change the beginning and leave "
        "the settings as they are.",
        state={
            "examples": [{"z": z.tolist(), "n": n.tolist(), "words": w} for z, n, w in kept]
        },
        controls=select("example", "beginning", list(examples))
        + slider("temperature", "temperature T", 0.1, 2, 0.05, temperature)
        + slider("k", "top-k", 0, 16, 0.5, 16)
        + slider("p", "top-p", 0.05, 1, 0.05, 1)
        + slider("m", "min-p", 0, 0.5, 0.01, 0)
        + button("reset", "reset"),
        view='<table><thead><tr><th scope="col">token</th><th scope="col">at T</th>'
        '<th scope="col">drawn with</th><th class="wide"></th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        + live_text(
            f"Entropy at T: {value('entropy', f'{H:.2f}')} nats. Kept: "
            f"{value('kept', f'{count:,}')} tokens with the mass {value('mass', f'{mass:.3f}')}"
            f", which costs {value('cost', f'{-math.log(mass):.2f}')} nats."
        ),
        script=script_beside(__file__, "next_token"),
    )


def kept_prefix(
    z: ndarray,
    n: ndarray,
    temperature: float | int,
    k: int | None,
    mass: float | int,
    share: float | int,
) -> tuple[float, int, float, ndarray]:
    """Entropy, tokens kept and their mass, and the probability of one token of each bin.

    Args:
        z: Logits, falling.
        n: Tokens that have each of them.
        temperature: Divides the logits.
        k: Tokens that top-k keeps; None = all.
        mass: What top-p reaches.
        share: Of min-p.
    """
    w = np.exp(z / temperature)
    p = w / (n @ w)
    H = -float((n * p)[p > 0] @ np.log(p[p > 0]))
    each = np.repeat(p, n)[:k]
    reach = int(np.sum(np.cumsum(each) < mass * each.sum() - 1e-12)) + 1
    reach = len(each) if mass >= 1 else reach
    count = min(reach, len(each), int(np.sum(each >= share * each[0])))
    return H, count, float(each[:count].sum()), p


def _binned(
    name: str, logits: ArrayLike, spell: Callable[[int], str]
) -> tuple[ndarray, ndarray, list[str]]:
    """Falling logits, how many tokens have each, and the first few tokens spelled."""
    found = np.asarray(logits, dtype=float)
    if found.ndim != 1 or len(found) < SHOWN or not np.isfinite(found).all():
        raise InputError(
            f"{name!r} has logits of shape {found.shape}: give (V,) finite numbers, "
            f"{SHOWN} or more"
        )
    order = np.argsort(-found, kind="stable")
    ranked = found[order] - found.max()
    tail = ranked[EXACT:]
    bins = np.floor(tail / BIN)
    values, counts = np.unique(-bins, return_counts=True)
    centers = [np.log(np.mean(np.exp(tail[bins == -b]))) for b in values]
    z = np.concatenate((ranked[:EXACT], centers)).round(4) + 0.0
    n = np.concatenate((np.ones(min(EXACT, len(ranked)), int), counts)).astype(int)
    return z, n, [spelled(spell(int(i))) for i in order[:SHOWN]]


def spelled(token: str) -> str:
    """A token with its blanks and line ends visible."""
    return token.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥") or "∅"


def _row(word: str, p: float, q: float, kept: bool) -> str:
    shown, share = (f"{q:.3f}", q) if kept else ("dropped", 0.0)
    return (
        f'<tr><th scope="row" data-name="word">{escape(word)}</th>'
        f'<td data-name="before">{p:.3f}</td><td data-name="after">{shown}</td>'
        f'<td class="wide">{bar("after-bar", share)}</td></tr>'
    )


def replay_demo(
    prompt: str, steps: Sequence[tuple[str, float, int, float, Sequence[tuple[str, float]]]]
) -> Demo:
    """A text that a model wrote, to be replayed, with the alternatives of each token.

    Args:
        prompt: What was given.
        steps: For each token its text, its probability under the model, its rank, the entropy
            of the distribution [nats], and the likeliest tokens with their probabilities, the
            same number for all.
    """
    read = [ReplayedToken(*step) for step in steps]
    if not read or len({len(s.others) for s in read}) != 1 or not read[0].others:
        raise InputError(
            f"{len(read)} tokens with {sorted({len(s.others) for s in read})} alternatives: "
            "give at least one token, and for each the same number of alternatives"
        )
    tokens = "".join(_token(i, s) for i, s in enumerate(read))
    first = read[0]
    rows = "".join(
        f'<tr><th scope="row" data-name="alternative">{escape(spelled(w))}</th>'
        f'<td data-name="share">{p:.3f}</td><td class="wide">{bar("share-bar", p)}</td></tr>'
        for w, p in first.others
    )
    return Demo(
        kind="replay",
        title="A real text, token by token",
        hint="Point at a token, or move with the arrow keys: below it stands what the model "
        "might have said there. The stronger the line under a token, the less likely it was.",
        state={"steps": [_state(s) for s in read], "at": 0},
        controls=slider("written", "tokens written", 1, len(read), 1, len(read))
        + button("play", "replay"),
        view=f'<p class="text">{escape(prompt)}{tokens}</p>'
        + live_text(
            f"Token {value('number', '1')} is {value('chosen', spelled(first.word))}: "
            f"probability {value('probability', f'{first.p:.3f}')}, rank "
            f"{value('rank', str(first.rank))}, where the entropy is "
            f"{value('uncertainty', f'{first.entropy:.2f}')} nats."
        )
        + f'<table aria-label="likeliest tokens"><tbody>{rows}</tbody></table>',
        script=script_beside(__file__, "replay"),
        css=REPLAY_CSS,
    )


def _state(step: ReplayedToken) -> dict[str, object]:
    return {
        "word": spelled(step.word),
        "p": round(step.p, 5),
        "rank": step.rank,
        "entropy": round(step.entropy, 3),
        "others": [[spelled(w), round(p, 5)] for w, p in step.others],
    }


def _token(i: int, step: ReplayedToken) -> str:
    odd = round(100 * min(1.0, -math.log(max(step.p, 1e-9)) / 6))
    label = f"{spelled(step.word)}, probability {step.p:.3f}"
    return (
        f'<button type="button" data-name="token" aria-pressed="{str(i == 0).lower()}" '
        f'style="--odd:{odd}%" aria-label="{escape(label)}">{escape(step.word)}</button>'
    )


__all__ = ["kept_prefix", "next_token_demo", "replay_demo"]
