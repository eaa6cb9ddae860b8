"""Moving demos of the whole transformer: one forward pass, and a sentence as it is written."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from mathlm import reference as ref
from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, select, slider, value

TRACE_STEPS = (
    ("rows of E", "Each word fetches its row of the table: a lookup, no arithmetic."),
    ("X₁ = X + P", "Each place adds its own vector: the same word differs by place."),
    ("Q = X₁ W_qᵀ", "What each position asks."),
    ("K = X₁ W_kᵀ", "What each position answers to."),
    ("V = X₁ W_vᵀ", "What each position hands over."),
    ("S = Q Kᵀ / √d + mask", "Rows ask, columns answer; nobody sees what comes later."),
    ("A = softmax(S)", "Each row becomes shares of attention that sum to 1."),
    ("A V", "Row t is the mixture of the values that t has seen."),
    ("H₁ = norm(X₁ + A V)", "Added to the stream; then each row has mean 0 and variance 1."),
    ("H₂ = norm(H₁ + FFN(H₁))", "The network adds what it finds in each row alone."),
    ("logits = H₂ Eᵀ", "Each row is compared with every word of the table."),
    ("P = softmax(logits)", "What may come next; the last column is −ln P of what does."),
)
TRACE_MAPS = ("W_q", "W_k", "W_v", "W_in", "W_out")

TRACE_CSS = """
.mathlm-demo[data-demo=forward-trace] td{min-width:3.4rem}
.mathlm-demo[data-demo=forward-trace] td[data-here=true]{background:var(--mark);
font-weight:600}
"""


def forward_trace_demo(
    table: ArrayLike,
    positions: ArrayLike,
    maps: Mapping[str, ArrayLike],
    words: Sequence[str],
    text: Sequence[int] = (0, 1, 2, 3),
    step: int = 7,
) -> Demo:
    """One forward pass of a block with one head, matrix by matrix, for words of one's choice.

    Args:
        table: E (V, D), read at the input and, transposed, at the output.
        positions: P (T, D), one row for each place.
        maps: W_q, W_k, W_v (D, D), W_in (F, D) and W_out (D, F).
        words: Names of the rows of the table.
        text: Initial ids, one more than there are places; the last is only a target.
        step: Step that is shown at first, from 1 to the number of ``TRACE_STEPS``.

    Raises:
        InputError: If shapes do not fit, a number is not finite, or a choice is out of range.
    """
    E, P, W = _checked_trace(table, positions, maps, words)
    if len(text) != len(P) + 1 or not all(0 <= i < len(words) for i in text):
        raise InputError(f"text={tuple(text)} must hold {len(P) + 1} ids below {len(words)}")
    if not 1 <= step <= len(TRACE_STEPS):
        raise InputError(f"step={step} must lie between 1 and {len(TRACE_STEPS)}")
    width = max(E.shape[1], len(words) + 1, len(P))
    state = {"table": E.tolist(), "positions": P.tolist(), "words": list(words),
             "maps": {n: w.tolist() for n, w in W.items()}, "steps": TRACE_STEPS,
             "width": width}  # fmt: skip
    controls = "".join(
        select("word", f"word {i + 1}" if i < len(P) else "what follows", words, chosen)
        for i, chosen in enumerate(text)
    )
    controls += slider("step", f"step, of {len(TRACE_STEPS)}", 1, len(TRACE_STEPS), 1, step)
    controls += "".join(button(n, n) for n in ("back", "next", "play", "reset"))
    return Demo(
        kind="forward-trace",
        title="A forward pass, matrix by matrix",
        hint="Step through. Then change word 3 and see which rows stay as they were.",
        state=state,
        controls=controls,
        view=_trace_view(E, P, W, words, list(text), step, width),
        script=script_beside(__file__, "forward_trace"),
        css=TRACE_CSS,
    )


def tiny_trace() -> dict[str, Any]:
    """The numbers of a decoder with five words, D = 4 and one head, for the demo and its page.

    Keys are those nearest to the inputs from which the attention weights (0.48, 0.52) and
    (0.30, 0.28, 0.42) follow; the maps are the ones nearest to the identity that make Q, K and
    V from the inputs; the feed-forward network is half of a ReLU.

    Returns:
        words, table E (5, 4), positions P (3, 4), Q, K, V (3, 4), and the five maps.
    """
    E = [[0.2, 0.1, -0.3, 0.5], [-0.1, 0.4, 0.2, -0.2], [0.3, -0.2, 0.1, 0.4],
         [0.1, 0.3, -0.1, 0.2], [-0.3, 0.2, 0.4, -0.1]]  # fmt: skip
    P = [[0, 0, 0.1, 0], [0, 0.1, 0, 0], [0.1, 0, 0, 0]]
    Q = [[0.22, 0.12, -0.18, 0.48], [-0.08, 0.50, 0.18, -0.22], [0.38, -0.18, 0.12, 0.42]]
    K = [[-0.06, 0.35, -0.22, 0.18], [-0.12, 0.38, 0.13, -0.18], [0.68, -0.33, 0.19, 0.71]]
    V = [[0.2, 0.1, 0.4, -0.6], [0.8, -1.0, -0.5, 0.8], [-0.6, 1.6, 0, -1.1]]
    x = np.array(E[:3]) + np.array(P)
    maps = {"W_in": np.eye(4), "W_out": np.eye(4) / 2}
    for name, rows in (("W_q", Q), ("W_k", K), ("W_v", V)):
        maps[name] = (np.eye(4) + np.linalg.pinv(x) @ (np.array(rows) - x)).T
    words = ["the", "cat", "sat", "on", "mat"]
    return {"words": words, "table": E, "positions": P, "Q": Q, "K": K, "V": V, "maps": maps}


def trace_matrices(
    E: ndarray, P: ndarray, W: Mapping[str, ndarray], text: Sequence[int]
) -> list[ndarray]:
    """What each of ``TRACE_STEPS`` shows, in order."""
    ids, following = list(text[:-1]), np.array(text[1:])
    x = E[ids] + P
    q, k, v = (x @ W[name].T for name in TRACE_MAPS[:3])
    seen = np.tri(len(x), dtype=bool)
    scores = np.where(seen, q @ k.T / np.sqrt(k.shape[1]), -np.inf)
    mixed, cache = ref.dot_product_attention(q, k, v, seen)
    one, none = np.ones(E.shape[1]), np.zeros(E.shape[1])
    h = ref.layer_norm(x + mixed, one, none)[0]
    f = np.maximum(h @ W["W_in"].T, 0) @ W["W_out"].T
    g = ref.layer_norm(h + f, one, none)[0]
    logits = g @ E.T
    p = ref.softmax(logits)
    losses = -np.log(p[np.arange(len(p)), following])
    final = np.column_stack([p, losses])
    return [E[ids], x, q, k, v, scores, cache[-1], mixed, h, g, logits, final]


def _checked_trace(
    table: ArrayLike, positions: ArrayLike, maps: Mapping[str, ArrayLike], words: Sequence[str]
) -> tuple[ndarray, ndarray, dict[str, ndarray]]:
    if set(maps) != set(TRACE_MAPS):
        raise InputError(f"maps has {sorted(maps)}, expected {', '.join(TRACE_MAPS)}")
    E, P = np.asarray(table, dtype=float), np.asarray(positions, dtype=float)
    W = {name: np.asarray(maps[name], dtype=float) for name in TRACE_MAPS}
    D, F = E.shape[-1], W["W_in"].shape[0]
    expected: dict[str, tuple] = dict.fromkeys(TRACE_MAPS[:3], (D, D))
    expected |= {"W_in": (F, D), "W_out": (D, F)}
    found = {name: w.shape for name, w in W.items()}
    if E.shape != (len(words), D) or P.shape[1:] != (D,) or found != expected:
        raise InputError(
            f"table {E.shape}, positions {P.shape} and maps {found} do not fit "
            f"{len(words)} words and {expected}"
        )
    if not all(np.isfinite(a).all() for a in (E, P, *W.values())):
        raise InputError("every number of the trace must be finite")
    return E, P, W


def _trace_view(
    E: ndarray, P: ndarray, W: Mapping[str, ndarray], words: Sequence[str], text: list[int],
    step: int, width: int,
) -> str:  # fmt: skip
    matrix = trace_matrices(E, P, W, text)[step - 1]
    shown = [words[i] for i in text[:-1]]
    names = shown if step in (6, 7) else [str(j + 1) for j in range(E.shape[1])]
    if step > 10:
        names = [*words, "loss"][: matrix.shape[1]]
    names = [*names, *[""] * (width - len(names))]
    body = ""
    for t, (word, row) in enumerate(zip(shown, matrix, strict=True)):
        cells = [_signed(x) for x in row] + [""] * (width - len(row))
        body += f'<tr><th scope="row">{value("row", word)}</th>'
        for j, cell in enumerate(cells):
            here = str(step > 10 and j == text[t + 1]).lower()
            body += f'<td data-name="cell" data-here="{here}">{cell}</td>'
        body += "</tr>"
    head = "".join(f"<th>{value('head', name)}</th>" for name in names)
    formula, note = TRACE_STEPS[step - 1]
    return (
        live_text(f"{value('formula', formula)} <span data-name='note'>{escape(note)}</span>")
        + f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def translation_demo(examples: Sequence[Mapping[str, Any]], step: int = 1) -> Demo:
    """A translation word by word: what is read, what may come next, what is written.

    Args:
        examples: Each with "source" (S words), "output" (T words, the end mark among them),
            "weights" (T, S), the shares of attention while each word is written, and
            "candidates": for each of the T steps equally many pairs of a word and its
            probability, the likeliest first.
        step: Step that is shown at first, from 1.

    Raises:
        InputError: If there is no example, lengths do not fit, or a share is no probability.
    """
    kept = [_checked_example(example) for example in examples]
    if not kept or not 1 <= step <= len(kept[0]["output"]):
        raise InputError(f"step={step} must be a step of the first of {len(kept)} examples")
    if len({len(c) for e in kept for c in e["candidates"]}) > 1:
        raise InputError("every step of every example needs equally many candidates")
    longest = max(len(e["source"]) for e in kept)
    steps = max(len(e["output"]) for e in kept)
    controls = select("example", "text", [" ".join(e["source"]) for e in kept])
    controls += slider("step", "word", 1, steps, 1, step) + button("back", "back")
    controls += button("next-step", "next") + button("reset", "reset")
    return Demo(
        kind="translation",
        title="Write a translation, word by word",
        hint="Follow where the decoder reads. Which word is it least sure of?",
        state={"examples": kept, "longest": longest},
        controls=controls,
        view=_writing_view(kept[0], step - 1, longest),
        script=script_beside(__file__, "translation"),
        css=".mathlm-demo[data-demo=translation] td.wide{width:60%}",
    )


def _checked_example(example: Mapping[str, Any]) -> dict[str, Any]:
    missing = {"source", "output", "weights", "candidates"} - set(example)
    if missing:
        raise InputError(f"an example lacks {sorted(missing)}")
    source, output = list(example["source"]), list(example["output"])
    weights = np.asarray(example["weights"], dtype=float)
    candidates = [[(str(w), float(p)) for w, p in row] for row in example["candidates"]]
    if weights.shape != (len(output), len(source)) or len(candidates) != len(output):
        raise InputError(
            f"{len(output)} words from {len(source)} need weights ({len(output)}, "
            f"{len(source)}), got {weights.shape}, and {len(output)} rows of candidates, got "
            f"{len(candidates)}"
        )
    shares = [*weights.ravel(), *(p for row in candidates for _, p in row)]
    if not all(0 <= p <= 1 + 1e-6 for p in shares):
        raise InputError("weights and probabilities must lie between 0 and 1")
    rounded = [[(w, round(p, 4)) for w, p in row] for row in candidates]
    return {"source": source, "output": output, "weights": np.round(weights, 4).tolist(),
            "candidates": rounded}  # fmt: skip


def _writing_view(example: Mapping[str, Any], t: int, longest: int) -> str:
    reads, chances = "", ""
    for s in range(longest):
        there = s < len(example["source"])
        word, share = (example["source"][s], example["weights"][t][s]) if there else ("", 0.0)
        hidden = "" if there else ' style="display:none"'
        reads += (
            f'<tr data-name="source-row"{hidden}><th scope="row">{value("source", word)}</th>'
            f'<td class="wide">{bar("read", share)}</td><td>{value("share", f"{share:.2f}")}'
            "</td></tr>"
        )
    for word, p in example["candidates"][t]:
        chances += (
            f'<tr><th scope="row">{value("candidate", word)}</th><td class="wide">'
            f"{bar('chance', p)}</td><td>{value('p', f'{p:.3f}')}</td></tr>"
        )
    written = " ".join(example["output"][:t]) or "(nothing)"
    return (
        live_text(
            f"Written: {value('written', written)}; next: {value('next', example['output'][t])}"
        )
        + "<table><thead><tr><th>reads</th><td></td><th>share</th></tr></thead>"
        + f"<tbody>{reads}</tbody></table>"
        + "<table><thead><tr><th>may come next</th><td></td><th>p</th></tr></thead>"
        + f"<tbody>{chances}</tbody></table>"
    )


def _signed(x: float) -> str:
    if x == -np.inf:
        return "−∞"
    return f"{round(float(x), 2) + 0.0:.2f}".replace("-", "−")


__all__ = ["forward_trace_demo", "translation_demo"]
