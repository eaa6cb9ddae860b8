"""Moving demos of tokenization: merges step by step, and one text cut by several tokenizers."""

from collections.abc import Mapping
from html import escape
from typing import Any

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, select, slider, value
from mathlm.text.tokenizers.byte_bpe import ByteBPE

from .merge_trace import trace_merges

PAIRS = 5  # rows of the table of pairs
RULES = ("the first in bytes", "the first seen")


def merges_demo(corpora: Mapping[str, Mapping[str, int]], n_merges: int = 12) -> Demo:
    """Byte-pair encoding of small corpora, to be stepped through under two rules for ties.

    Args:
        corpora: Name of each corpus, and its words with their counts.
        n_merges: Largest number of merges; fewer if no pair is left.

    Raises:
        InputError: If there is no corpus.
    """
    if not corpora:
        raise InputError("corpora is empty: there is nothing to merge")
    runs = [
        [_run(words, n_merges, seen) for seen in (False, True)] for words in corpora.values()
    ]
    rows, first = max(map(len, corpora.values())), runs[0][0][0]
    blank = ["", ""]
    words = "".join(
        f"<tr><td>{value('times', times)}</td>"
        f"<td class='wide'>{value('split', split)}</td></tr>"
        for times, split in (first["words"] + [blank] * rows)[:rows]
    )
    pairs = "".join(
        f"<tr><td class='wide'>{value('pair', pair)}</td><td>{value('count', count)}</td>"
        f"<td class='half'>{bar('bar', share)}</td></tr>"
        for pair, count, share in (first["pairs"] + [["", "", 0.0]] * PAIRS)[:PAIRS]
    )
    return Demo(
        kind="merges",
        title="Byte-pair encoding, one merge at a time",
        hint="Change the rule for ties: from which merge on do the two rules differ?",
        controls=select("corpus", "corpus", list(corpora))
        + select("rule", "a tie goes to", RULES)
        + slider("merges", "merges done", 0, n_merges, 1, 0)
        + button("reset", "reset"),
        view="<table><thead><tr><th>times</th><th class='wide'>word</th></tr></thead>"
        f"<tbody>{words}</tbody></table>"
        "<table><thead><tr><th>pair</th><th>count</th><td></td></tr></thead>"
        f"<tbody>{pairs}</tbody></table>"
        + live_text(f"{value('made', first['made'])} {value('next', first['next'])}"),
        script=script_beside(__file__, "merges"),
        state={"runs": runs, "rows": rows, "pairs": PAIRS},
        css=".mathlm-demo[data-demo=merges] td.half{width:35%}"
        ".mathlm-demo[data-demo=merges] table:first-of-type td:first-child{text-align:left}"
        ".mathlm-demo[data-demo=merges] td b{font-weight:400}"
        ".mathlm-demo[data-demo=merges] th.wide{text-align:left}",
    )


def tokens_demo(texts: Mapping[str, str], tokenizers: Mapping[str, ByteBPE]) -> Demo:
    """One text at a time, cut by every tokenizer; ids on hover, or written out.

    Args:
        texts: Name and content of each text.
        tokenizers: Name of each tokenizer.

    Raises:
        InputError: If there is no text or no tokenizer.
    """
    if not texts or not tokenizers:
        raise InputError(
            f"{len(texts)} texts and {len(tokenizers)} tokenizers: both are needed"
        )
    panels = "".join(
        f'<div data-name="panel"{"" if i == 0 else " hidden"}>'
        + "".join(_cut(name, tokenizer, text) for name, tokenizer in tokenizers.items())
        + "</div>"
        for i, text in enumerate(texts.values())
    )
    return Demo(
        kind="tokens",
        title="One text, cut by several tokenizers",
        hint="Which text do two tokenizers cut alike? Which one costs the most tokens?",
        controls=select("text", "text", list(texts)) + button("ids", "show ids", pressed=False),
        view=f'<div aria-live="polite">{panels}</div>',
        script=script_beside(__file__, "tokens"),
        css=TOKENS_CSS,
    )


TOKENS_CSS = (
    "".join(
        ".mathlm-demo[data-demo=tokens] " + rule
        for rule in (
            ".cut{line-height:2.1;margin:0 0 .6rem}",
            ".token{display:inline-block;border:1px solid var(--line);border-radius:.25rem;"
            "padding:0 .2rem;margin:0 1px;background:var(--track);white-space:pre;"
            "font-family:ui-monospace,monospace;font-size:.9rem;line-height:1.6}",
            ".token:nth-child(even){background:var(--mark)}",
            ".token small{display:none;color:var(--soft);margin-left:.25rem}",
        )
    )
    + ".mathlm-demo[data-demo=tokens][data-ids] .token small{display:inline}"
)


def _run(words: Mapping[str, int], n_merges: int, first_seen: bool) -> list[dict[str, Any]]:
    """What the demo shows after 0, 1, 2, ... merges."""
    steps = trace_merges(words, n_merges + 1, first_seen=first_seen)
    states = [{tuple(word): n for word, n in words.items()}, *(step.words for step in steps)]
    shown = []
    for k, state in enumerate(states[: n_merges + 1]):
        step = steps[k] if k < len(steps) else None
        most = max(step.counts.values()) if step else 1
        top = list(step.counts.items())[:PAIRS] if step else []
        made = f"Merge {k} made “{''.join(steps[k - 1].pair)}”." if k else "No merge is done."
        shown.append(
            {
                "words": [[f"{n}×", "·".join(word)] for word, n in state.items()],
                "pairs": [["·".join(pair), str(n), n / most] for pair, n in top],
                "made": made,
                "next": _next(step.pair, len(step.tied)) if step else "No pair occurs twice.",
            }
        )
    return shown


def _next(pair: tuple[str, str], tied: int) -> str:
    joined = f"“{'·'.join(pair)}”"
    if tied == 1:
        return f"Next is {joined}, the only pair with this count."
    return f"Next is {joined}, one of {tied} pairs that tie."


def _cut(name: str, tokenizer: ByteBPE, text: str) -> str:
    """One tokenizer's name, number of tokens, and tokens."""
    ids = tokenizer.encode(text)
    tokens = "".join(
        f'<span class="token" title="id {i}">{escape(_visible(tokenizer.token_bytes(i)))}'
        f"<small>{i}</small></span>"
        for i in ids
    )
    return (
        f'<p class="cut">{escape(name)}: <b>{len(ids)}</b> tokens<br><span>{tokens}</span></p>'
    )


def _visible(token: bytes) -> str:
    """The text of a token, or its bytes in hexadecimal if it is not whole characters."""
    try:
        return token.decode().replace(" ", "␣").replace("\n", "↵")
    except UnicodeDecodeError:
        return token.hex(" ").upper()


__all__ = ["merges_demo", "tokens_demo"]
