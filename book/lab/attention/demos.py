"""Moving demos of attention: softmax temperature, one query and one key, one sentence."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, number, script_beside, slider, value
from mathlm.reference import entropy, softmax


def softmax_temperature_demo(
    scores: Sequence[float] = (2.0, 5.0, 1.0, 0.5, 3.0), temperature: float | int = 1.0
) -> Demo:
    """Scores and a temperature to edit; the softmax weights and their entropy follow.

    Args:
        scores: Initial scores.
        temperature: Initial T, between 0.1 and 10.
    """
    if not 0.1 <= temperature <= 10:
        raise InputError(f"temperature={temperature} must lie between 0.1 and 10")
    weights = softmax(scores, temperature)
    span: dict[str, Any] = {"low": -50.0, "high": 50.0, "step": 0.5, "hidden_label": True}
    rows = "".join(
        f'<tr><th scope="row"><span class="still">{z:g}</span>'
        f"{number('score', f'score {i}', z, **span)}</th>"
        f'<td class="wide">{bar("bar", p)}</td><td>{value("weight", f"{p:.3f}")}</td></tr>'
        for i, (z, p) in enumerate(zip(scores, weights, strict=True), start=1)
    )
    h = float(entropy(weights))
    return Demo(
        kind="softmax-temperature",
        title=f"Softmax weights of {len(scores)} scores, with a temperature",
        hint="Lower the temperature: the largest score takes everything. Raise it: all equal.",
        controls=slider("temperature", "temperature T", 0.1, 10, 0.05, temperature)
        + button("reset", "reset"),
        view="<table><thead><tr><th>score</th><th>softmax weight</th><td></td></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
        f'<p class="still">Temperature T = {temperature:g}.</p>'
        + live_text(
            f"Entropy {value('entropy', f'{h:.3f}')} nats: as undecided as "
            f"{value('count', f'{np.exp(h):.2f}')} equal choices."
        ),
        script=script_beside(__file__, "softmax_temperature"),
        css=".mathlm-demo[data-demo=softmax-temperature] input[type=number]{width:5.2rem}",
    )


def query_key_demo(
    query: Sequence[float] = (0.8, 0.3, 0.6, 0.1), key: Sequence[float] = (0.7, 0.5, 0.4, 0.2)
) -> Demo:
    """One query and one key to edit; dot product, scaled score and cosine follow.

    Args:
        query: Initial query.
        key: Initial key, as wide as the query.
    """
    if len(query) != len(key) or not len(query):
        raise InputError(f"query has width {len(query)} and key {len(key)}; they must agree")
    q, k = np.asarray(query, dtype=float), np.asarray(key, dtype=float)
    span: dict[str, Any] = {"low": -10.0, "high": 10.0, "hidden_label": True}
    rows = "".join(
        f'<tr><th scope="row">{i}</th>'
        + "".join(
            f'<td><span class="still">{x:g}</span>'
            f"{number(n, f'{name}, feature {i}', x, **span)}</td>"
            for n, name, x in (("q", "query", a), ("k", "key", b))
        )
        + f"<td>{value('product', _signed(a * b, 2))}</td></tr>"
        for i, (a, b) in enumerate(zip(q, k, strict=True), start=1)
    )
    lengths = float(np.sqrt((q @ q) * (k @ k)))
    cosine = _signed(float(q @ k) / lengths, 3) if lengths > 0 else "undefined"
    return Demo(
        kind="query-key",
        title="One query against one key",
        hint="Double the key: the score doubles and the cosine stays.",
        controls=button("reset", "reset"),
        view="<table><thead><tr><th>feature</th><th>query q</th><th>key k</th><th>product</th>"
        f"</tr></thead><tbody>{rows}</tbody></table>"
        + live_text(
            f"q·k = {value('dot', _signed(float(q @ k), 2))}, divided by √{len(q)}: "
            f"{value('scaled', _signed(float(q @ k) / np.sqrt(len(q)), 3))}, "
            f"cosine {value('cosine', cosine)}"
        ),
        script=script_beside(__file__, "query_key"),
        css=".mathlm-demo[data-demo=query-key] input[type=number]{width:5rem}",
    )


def attention_weights_demo(
    words: Sequence[str], weights: ndarray | Sequence, query: int = 0
) -> Demo:
    """A sentence; choose the word that asks and see what it attends to.

    Args:
        words: The sequence.
        weights: Attention matrix, one row for each word of the sequence.
        query: Index of the word that asks at first.
    """
    table = np.asarray(weights, dtype=float)
    if table.shape != (len(words), len(words)):
        raise InputError(f"weights have shape {table.shape} for {len(words)} words")
    table, most = table.round(4), float(table.max())
    buttons = "".join(button("word", w, pressed=i == query) for i, w in enumerate(words))
    rows = "".join(
        f'<tr><th scope="row">{escape(w)}</th><td class="wide">{bar("bar", p / most)}</td>'
        f"<td>{value('weight', f'{p:.3f}')}</td></tr>"
        for w, p in zip(words, table[query], strict=True)
    )
    return Demo(
        kind="attention-weights",
        title="Which words does a word attend to?",
        hint="Point at a word, or move to it with the arrow keys.",
        state={"words": list(words), "weights": table.tolist(), "most": most},
        controls=buttons,
        view="<table><thead><tr><th>key</th><th>attention weight</th><td></td></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
        + live_text(
            f"Query: {value('query', words[query])}. It attends most to "
            f"{value('best', words[int(table[query].argmax())])}."
        ),
        script=script_beside(__file__, "attention_weights"),
        css=".mathlm-demo[data-demo=attention-weights] .demo-controls{gap:.3rem}"
        ".mathlm-demo[data-demo=attention-weights] td.wide{width:70%}",
    )


def _signed(x: float, digits: int) -> str:
    """A number with a real minus sign, and no minus zero, as the script writes it."""
    return f"{round(x, digits) + 0.0:.{digits}f}".replace("-", "−")
