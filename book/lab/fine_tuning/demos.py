"""Moving demos on fine-tuning: what of a chat is learned, and three ways of holding on."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, select, slider, value
from mathlm.plot.picture import axis, dots, legend, line, picture, words

from . import forgetting

Bowls = tuple[ndarray, ndarray, ndarray]
PARTS = ("marker", "prompt", "answer", "end")
LEARNED = (("answer", "end"), ("answer",), PARTS)
CHOICES = ("answers and their ends", "answers without their ends", "everything")
MASK_CSS = (
    ".mathlm-demo .strip{line-height:2.1;font-family:ui-monospace,monospace;"
    "font-size:.9rem;overflow-wrap:anywhere}.mathlm-demo .strip[hidden]{display:none}"
    ".mathlm-demo .strip span{padding:.1rem .15rem;margin:0 .08rem;border-radius:.2rem;"
    "background:var(--track);border:2px solid transparent;white-space:pre}"
    ".mathlm-demo .strip .marker{color:var(--soft);font-style:italic}"
    ".mathlm-demo .strip .end{font-weight:700}"
    ".mathlm-demo .strip .asked{border-color:var(--accent)}"
    ".mathlm-demo .strip .now{background:var(--mark);outline:3px solid var(--second)}"
)
WAYS = ("few steps", "pull towards the start", "replay")


def chat_mask_demo(chats: Mapping[str, Sequence[tuple[str, str]]]) -> Demo:
    """A chat token by token: which tokens are learned, and which are only read.

    Args:
        chats: Name of a format, and the tokens of the chat in it: the text of each, and what
            it is part of: "marker", "prompt", "answer" or "end" (of an answer).

    Raises:
        InputError: If there is no chat, one has fewer than two tokens, or a part is unknown.
    """
    for name, pieces in chats.items():
        unknown = {part for _, part in pieces} - set(PARTS)
        if len(pieces) < 2 or unknown:
            raise InputError(
                f"{name!r} has {len(pieces)} tokens with parts {sorted(unknown)} that are not "
                f"among {PARTS}; give at least 2 tokens"
            )
    if not chats:
        raise InputError("there is no chat to show: give at least one format")
    first = next(iter(chats.values()))
    place = next(i for i, (_, part) in enumerate(first) if i and part == "answer")
    asked = [i > 0 and part in LEARNED[0] for i, (_, part) in enumerate(first)]
    strips = "".join(_strip(g, pieces, place) for g, pieces in enumerate(chats.values()))
    told = (
        f"Behind {place} tokens, the last of them {_shown(first[place - 1][0])}, the model is "
        f"asked for {_shown(first[place][0])}. This counts."
    )
    return Demo(
        kind="chat-mask",
        title="One conversation as the model sees it",
        hint="Move through the tokens. Learned ones are framed. Then change what is learned.",
        state={
            "chats": [
                [{"part": part, "shown": _shown(piece)} for piece, part in pieces]
                for pieces in chats.values()
            ],
            "learned": LEARNED,
        },
        controls=select("format", "format", list(chats))
        + select("rule", "learned", list(CHOICES))
        + slider("place", "token", 1, len(first) - 1, 1, place)
        + button("reset", "reset"),
        view=strips
        + live_text(f'<span data-name="told">{escape(told)}</span>')
        + f"<p>{value('asked', str(sum(asked)))} of {value('tokens', str(len(first)))} tokens "
        "are learned.</p>",
        script=script_beside(__file__, "chat_mask"),
        css=MASK_CSS,
    )


def _strip(number: int, pieces: Sequence[tuple[str, str]], place: int) -> str:
    """The tokens of one format; the first one is shown at its beginning."""
    hidden, spans = ("" if number == 0 else " hidden"), []
    for i, (piece, part) in enumerate(pieces):
        kind = part + (" asked" if number == 0 and i and part in LEARNED[0] else "")
        kind += " now" if number == 0 and i == place else ""
        spans.append(
            f'<span data-name="piece-{number}" class="{kind}">{escape(_visible(piece))}</span>'
        )
    return f'<p class="strip" data-name="strip"{hidden}>{"".join(spans)}</p>'


def _visible(piece: str) -> str:
    """A token with its line ends as a sign."""
    return piece.replace("\n", "⏎")


def _shown(piece: str) -> str:
    """A token in quotes."""
    return f"“{_visible(piece)}”"


def holding_on_demo(
    A: ArrayLike,
    target: ArrayLike,
    H: ArrayLike,
    step_size: float,
    strongest: float | int = 100.0,
    freedom: int = 60,
) -> Demo:
    """Few steps, a pull or replay between an old and a new minimum of two weights.

    Args:
        A: Curvature (2, 2) of the new loss.
        target: Point (2,) where it is least.
        H: Curvature (2, 2) of the old loss, which is least at the origin.
        step_size: Of gradient descent on the new loss.
        strongest: Pull λ at freedom 0.
        freedom: Initial setting, 1 to 100.
    """
    bowls = np.asarray(A, float), np.asarray(target, float), np.asarray(H, float)
    found = ways_to_hold(*bowls, step_size, strongest)
    plane = _plane(found, bowls)
    gained, lost = shares(*bowls, found[WAYS[0]](freedom))
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="wide">{bar("bar", min(max(x, 0), 1))}</td>'
        f"<td>{value('share', f'{100 * x:.1f} %')}</td></tr>"
        for name, x in (("gained of the new", gained), ("forgotten of the old", lost))
    )
    return Demo(
        kind="holding-on",
        title="Between an old minimum and a new one",
        hint="Give each way as much freedom as it needs to gain 90 %. What does it forget?",
        state={
            "A": bowls[0].tolist(),
            "target": bowls[1].tolist(),
            "H": bowls[2].tolist(),
            "eta": step_size,
            "strongest": float(strongest),
            **plane,
        },
        controls=select("way", "way of holding on", list(WAYS))
        + slider("freedom", "freedom", 0, 100, 1, freedom)
        + button("reset", "reset"),
        view=_map(plane, found[WAYS[0]](freedom)) + f"<table><tbody>{rows}</tbody></table>",
        script=script_beside(__file__, "holding_on"),
        css=".mathlm-demo[data-demo=holding-on] td.wide{width:45%}",
    )


def ways_to_hold(
    A: ndarray, target: ndarray, H: ndarray, step_size: float, strongest: float | int
) -> dict[str, Any]:
    """Each way as a function of its freedom, from 1 (held fast) to 100 (let go)."""
    return {
        WAYS[0]: lambda s: forgetting.descended(A, target, step_size, round(2 ** (s / 10) - 1)),
        WAYS[1]: lambda s: forgetting.pulled(A, target, strongest * 10 ** (-s / 25)),
        WAYS[2]: lambda s: forgetting.replayed(A, target, H, 1 - s / 101),
    }


def shares(A: ndarray, target: ndarray, H: ndarray, delta: ndarray) -> tuple[float, float]:
    """What a point gains of the new loss and forgets of the old, as shares of the whole way."""
    away = delta - target
    gained = 1 - away @ A @ away / (target @ A @ target)
    return float(gained), float(delta @ H @ delta / (target @ H @ target))


def _plane(found: Mapping[str, Any], bowls: Bowls) -> dict[str, Any]:
    """Axes, level lines and ways in the plane of the two weights, for Python and the script."""
    A, target, H = bowls
    most, heights = float(np.abs(target).max()), (0.03, 0.15, 0.4)
    ways = [[(0.0, 0.0), *(way(s) for s in range(1, 101, 3))] for way in found.values()]
    return {
        "frame": {
            "x": axis(-0.6 * most, 1.6 * most, "first weight"),
            "y": axis(-0.55 * most, 1.35 * most, "second weight"),
            "equal": True,
            "aspect": 0.9,
            "tallest": 360,
        },
        "fresh": [_ellipse(A, target, h).tolist() for h in heights],
        "old": [_ellipse(H, 0 * target, h).tolist() for h in heights],
        "ways": [np.round(way, 4).tolist() for way in ways],
    }


def _map(plane: Mapping[str, Any], at: ndarray) -> str:
    """The plane of the two weights as a picture."""
    marks = [line(p, "accent", width=1.2, fade=0.8) for p in plane["fresh"]]
    marks += [line(p, "second", width=1.2, fade=0.8) for p in plane["old"]]
    for i, way in enumerate(plane["ways"]):
        marks.append(line(way, "fg", width=1.8, fade=0.25 if i else 1))
    new = plane["fresh"][0]
    middle = np.mean(new[:-1], axis=0)
    for place, name, color in (((0, 0), "old", "second"), (middle, "new", "accent")):
        marks.append(words(place, name, color, dx=8, dy=-8, weight=600))
    names = (("second", "old loss"), ("accent", "new loss"), ("fg", "ways between them"))
    return legend(names) + picture(
        "plane",
        "level lines of an old and a new loss over two weights, and three ways between them",
        marks=[*marks, dots([at], "fg", size=6)],
        **plane["frame"],
    )


def _ellipse(M: ndarray, center: ndarray, height: float) -> ndarray:
    """Where a parabola has that height, closed (61, 2)."""
    sizes, axes = np.linalg.eigh(M)
    angle = np.linspace(0, 2 * np.pi, 61)
    circle = np.stack([np.cos(angle), np.sin(angle)]) * np.sqrt(2 * height / sizes)[:, None]
    return np.round((axes @ circle).T + center, 4)
