"""One token's way from text to an answer, as a demo."""

from collections.abc import Mapping, Sequence
from html import escape

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, slider, value


def chapters(numbers: str) -> str:
    """The chapter of a stop, or its chapters, with the word for one or for several."""
    return f"chapter{'s' if ' ' in numbers else ''} {numbers}"


def token_way_demo(steps: Sequence[Mapping[str, str]], step: int = 0) -> Demo:
    """Stops on the way of a token, one after the other.

    Args:
        steps: Each with "title", "chapter" and "text".
        step: Index of the first stop that is shown.

    Raises:
        InputError: If there are no stops.
    """
    if not steps:
        raise InputError("no steps to show: give one or more")
    stops = [dict(s) | {"chapter": chapters(s["chapter"])} for s in steps]
    now = stops[step]
    still = "".join(
        f"<li><b>{escape(s['title'])}</b> ({escape(s['chapter'])}): {escape(s['text'])}</li>"
        for s in stops
    )
    moving = slider("step", "stop", 1, len(steps), 1, step + 1)
    return Demo(
        kind="token-way",
        title="One token's way through the stack",
        hint="Move from left to right, or press “next”: text goes in, an answer comes out.",
        state={"steps": stops},
        controls=moving + button("next", "next") + button("reset", "reset"),
        view=f'<ol class="still">{still}</ol><div class="live">'
        + live_text(f"{value('title', now['title'])} ({value('chapter', now['chapter'])})")
        + f'<p class="stop" data-name="text">{escape(now["text"])}</p></div>',
        script=script_beside(__file__, "token_way"),
        css=".mathlm-demo[data-demo=token-way] .stop{min-height:6.5em;padding:.5rem;"
        "background:var(--track);border-radius:.3rem;overflow-wrap:anywhere}",
    )
