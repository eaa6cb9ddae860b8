"""Moving demos: one self-contained piece of HTML that works wherever a notebook is shown.

A demo is a :class:`Demo`: controls, a picture of the initial state that Python has computed,
and a script that redraws the picture. The same HTML works in the static page, from a file, in
JupyterLab and inside Colab's frame: it holds its own style and script, asks for nothing from
the network and addresses its elements by class and data attribute, so that several demos of
one kind may stand on a page. Before (or without) the script the controls are hidden and the
initial state is readable; with it they are native inputs, so the keyboard works and screen
readers name them.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

LIGHT = (
    "--bg:#fff;--fg:#1c1e21;--soft:#5a6068;--line:#d5d9de;--track:#e9edf1;"
    "--accent:#0072b2;--second:#b35900;--third:#00795b;--fourth:#a4478a;--mark:#fff1d6;"
    "color-scheme:light"
)
DARK = (
    "--bg:#1b1e22;--fg:#eceff2;--soft:#adb5bd;--line:#43494f;--track:#30363c;"
    "--accent:#56b4e9;--second:#f0a94a;--third:#3cc49a;--fourth:#e59ccb;--mark:#453718;"
    "color-scheme:dark"
)

CSS = """
.mathlm-demo{LIGHT}
@media (prefers-color-scheme:dark){html:not([data-theme=light]) .mathlm-demo{DARK}}
html[data-theme=light] .mathlm-demo,body[data-jp-theme-light=true] .mathlm-demo{LIGHT}
html[data-theme=dark] .mathlm-demo,html[theme=dark] .mathlm-demo,
body[data-jp-theme-light=false] .mathlm-demo{DARK}
.mathlm-demo{box-sizing:border-box;margin:.5rem 0;padding:.8rem 1rem;
border:1px solid var(--line);border-radius:.5rem;background:var(--bg);color:var(--fg);
font:1rem/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums;overflow-x:auto}
.mathlm-demo *{box-sizing:border-box}
.mathlm-demo .demo-title{margin:0 0 .4rem;font-weight:600}
.mathlm-demo p{margin:.4rem 0;color:inherit}
.mathlm-demo .demo-hint{color:var(--soft);font-size:.9rem}
.mathlm-demo .demo-controls{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:end}
.mathlm-demo:not([data-ready]) .live{display:none!important}
.mathlm-demo[data-ready] .still{display:none!important}
.mathlm-demo label{display:flex;flex-direction:column;flex:1 1 9rem;font-size:.9rem;margin:0}
.mathlm-demo label.number{flex:0 1 5.5rem}
.mathlm-demo label.choice{flex:0 1 auto;max-width:100%}
.mathlm-demo .choice select{width:auto}
.mathlm-demo input,.mathlm-demo select,.mathlm-demo button{font:inherit;color:inherit;margin:0;
min-height:2.2rem;max-width:100%}
.mathlm-demo input[type=range]{width:100%;accent-color:var(--accent)}
.mathlm-demo input[type=number],.mathlm-demo select,.mathlm-demo button{background:var(--bg);
border:1px solid var(--soft);border-radius:.3rem;padding:.1rem .4rem;width:100%}
.mathlm-demo button{width:auto;cursor:pointer;padding:.1rem .7rem}
.mathlm-demo button[aria-pressed=true]{background:var(--accent);border-color:var(--accent);
color:var(--bg)}
.mathlm-demo :focus-visible{outline:3px solid var(--second);outline-offset:1px}
.mathlm-demo input[aria-invalid=true]{border:2px solid var(--second)}
.mathlm-demo table{border-collapse:collapse;width:100%;margin:.4rem 0;display:table;
background:none;color:inherit;font-size:inherit}
.mathlm-demo tr,.mathlm-demo td,.mathlm-demo th{background:none;color:inherit;
padding:.2rem .35rem;border:0;border-bottom:1px solid var(--line);text-align:right;
font-weight:400;white-space:nowrap}
.mathlm-demo thead th{color:var(--soft);font-size:.85rem}
.mathlm-demo th:first-child,.mathlm-demo td.wide{text-align:left}
.mathlm-demo td.wide{width:55%}
.mathlm-demo .bar{display:block;height:1rem;border-radius:.2rem;background:var(--track);
overflow:hidden}
.mathlm-demo .bar>i{display:block;height:100%;background:var(--accent);
transition:width .15s ease-out}
.mathlm-demo .demo-picture{margin:.9rem 0 .4rem}
.mathlm-demo .demo-picture>svg{margin:0 auto;overflow:visible}
.mathlm-demo .demo-picture>.still{width:30rem}
.mathlm-demo .demo-legend{display:flex;flex-wrap:wrap;gap:.1rem 1rem;margin:.9rem 0 -.3rem;
font-size:.9rem}
.mathlm-demo .demo-legend i{display:inline-block;width:1.5rem;margin-right:.4rem;
vertical-align:middle;border-top:3px solid}
.mathlm-demo .demo-pair{display:grid;gap:0 1rem;
grid-template-columns:repeat(auto-fit,minmax(min(100%,17rem),1fr))}
.mathlm-demo .grip{cursor:grab;touch-action:none}
.mathlm-demo .spot{cursor:pointer}
.mathlm-demo .grip:active{cursor:grabbing}
.mathlm-demo>svg,.mathlm-demo div>svg{max-width:100%;height:auto;display:block}
.mathlm-demo svg text:not([fill]){fill:var(--fg)}
@media (max-width:30rem){.mathlm-demo{padding:.7rem .6rem}.mathlm-demo table{font-size:.9rem}
.mathlm-demo td,.mathlm-demo th{padding:.2rem .15rem}.mathlm-demo thead th{white-space:normal}}
@media (prefers-reduced-motion:reduce){.mathlm-demo *{transition:none!important;
animation:none!important}}
div.cell_output .text_html:has(>.mathlm-demo){background:none!important;padding:0!important}
""".replace("LIGHT", LIGHT).replace("DARK", DARK)

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, kw_only=True)
class Demo:
    """One moving demo; a notebook shows it because of ``_repr_html_``.

    The script runs once for each demo on the page, with these names in reach: ``root`` (the
    element), ``state`` (from JSON), ``one(name, i)`` and ``all(name)`` (elements by their
    data-name), ``text(name, value, i)``, ``bar(name, share, i)``, ``fixed(x, digits)``,
    ``numbers(name)`` (values of inputs; NaN for an invalid one), ``changed(draw)`` and
    ``reset(draw)`` (call ``draw`` when an input changes, or when the button "reset" has
    restored the initial values), ``still`` (the reader asked for reduced motion), and numbers
    as a reader expects them: ``grouped(x, digits)`` (12,345.6), ``scientific(x, digits)``
    (1.3 × 10⁷ where plain digits would be too many), ``bytes(x)`` (1.50 GB), ``raised(n)`` (⁷).
    If the view has a picture of :mod:`mathlm.plot.picture`, then also ``picture(name)`` and
    ``player(name, begin, tick, pause)``.

    Args:
        kind: Name of this kind of demo: lower-case letters and hyphens.
        title: One line that says what can be changed.
        view: HTML of the initial state, readable without scripts. What has the class "still" is
            shown only without the script, what has the class "live" only with it.
        script: JavaScript that redraws the view (:func:`script_beside` reads it from a file).
        state: Numbers and names for the script.
        controls: HTML of the inputs (:func:`slider`, :func:`number`, :func:`select`,
            :func:`button`), hidden until the script runs.
        hint: One sentence on what to try.
        css: Rules of this kind alone; start each selector with ``.mathlm-demo``.

    Example:
        >>> Demo(kind="half", title="Halve a number", view="<p>1/2</p>", script="")
        <demo half: Halve a number>
    """

    kind: str
    title: str
    view: str
    script: str
    state: Mapping[str, Any] = field(default_factory=dict)
    controls: str = ""
    hint: str = ""
    css: str = ""

    def __repr__(self) -> str:
        return f"<demo {self.kind}: {self.title}>"

    def _repr_html_(self) -> str:
        """The demo as HTML, the same for the same arguments."""
        numbers = json.dumps(shown(self.state), ensure_ascii=False, allow_nan=False)
        state = escape(numbers, quote=True)
        frame = script_beside(__file__, "demo").replace("KIND", self.kind)
        kit = script_beside(__file__, "plot_kit") if 'class="demo-picture"' in self.view else ""
        frame = frame.replace("NUMBERS", script_beside(__file__, "numbers"))
        parts = without_indent(frame.replace("KIT", kit)).partition("BODY")
        script = parts[0] + self.script.strip() + parts[2]
        hint = f'<p class="demo-hint live">{escape(self.hint)}</p>' if self.hint else ""
        return (
            f'<div class="mathlm-demo tex2jax_ignore mathjax_ignore" data-demo="{self.kind}" '
            f'role="group" aria-label="{escape(self.title)}" data-state="{state}">'
            f"<style>{CSS.strip()}{self.css.strip()}</style>"
            f'<p class="demo-title">{escape(self.title)}</p>{hint}'
            f'<div class="demo-controls live">{self.controls}</div>{self.view}'
            f"<script>{script.strip()}</script></div>"
        )


def script_beside(python: str, *names: str) -> str:
    """JavaScript from the ``.js`` files that lie in the folder of a Python file.

    Args:
        python: ``__file__`` of the module that makes the demo.
        names: Names of the files without their ending, in the order in which they run.
    """
    files = [Path(python).with_name(f"{name}.js") for name in names]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def without_indent(script: str) -> str:
    """A script without the spaces at the beginning of its lines: the page is smaller."""
    return "\n".join(line.strip() for line in script.splitlines() if line.strip())


def shown(state: Any) -> Any:
    """The same state with the digits that arithmetic fixes on every processor.

    Floats keep nine significant digits. In a list, what is smaller than 1e-13 of the largest
    is a rounding error of it and becomes 0.
    """
    if isinstance(state, Mapping):
        return {name: shown(value) for name, value in state.items()}
    if isinstance(state, list | tuple):
        sizes = [abs(x) for x in state if isinstance(x, float) and math.isfinite(x)]
        least = 1e-13 * max(sizes, default=0.0)
        return [0.0 if isinstance(x, float) and abs(x) < least else shown(x) for x in state]
    return float(f"{state:.9g}") if isinstance(state, float) else state


def _digits(x: float | int) -> str:
    """A number for an input: as short as six digits allow, twelve where they do not suffice."""
    short = f"{x:g}"
    return short if float(short) == x else f"{x:.12g}"


def slider(
    name: str,
    label: str,
    low: float | int,
    high: float | int,
    step: float | int,
    value: float | int,
) -> str:
    """A labeled range input; ``text(name + "-value", ...)`` writes the value beside it.

    Args:
        name: data-name of the input.
        label: What it changes, with its unit.
        low: Smallest value.
        high: Largest value.
        step: Distance of two settings.
        value: Initial value.
    """
    return (
        f"<label><span>{escape(label)} = "
        f'<b data-name="{name}-value">{_digits(value)}</b></span>'
        f'<input type="range" data-name="{name}" min="{_digits(low)}" '
        f'max="{_digits(high)}" step="{_digits(step)}" value="{_digits(value)}"></label>'
    )


def number(
    name: str,
    label: str,
    value: float | int,
    *,
    low: float | int = -100.0,
    high: float | int = 100.0,
    step: float | int = 0.1,
    hidden_label: bool = False,
) -> str:
    """A labeled number input.

    Args:
        name: data-name of the input; several inputs may share it (``numbers(name)``).
        label: What it changes.
        value: Initial value.
        low: Smallest allowed value.
        high: Largest allowed value.
        step: What one press of an arrow key adds.
        hidden_label: Give the label to screen readers only, as in a table with headings.
    """
    allowed = f'min="{_digits(low)}" max="{_digits(high)}" step="{_digits(step)}" required'
    entry = f'<input type="number" data-name="{name}" {allowed} value="{_digits(value)}"'
    if hidden_label:
        return f'{entry} class="live" aria-label="{escape(label)}">'
    return f'<label class="number"><span>{escape(label)}</span>{entry}></label>'


def select(name: str, label: str, options: Sequence[str], chosen: int = 0) -> str:
    """A labeled drop-down list; its value is the index of the chosen option.

    Args:
        name: data-name of the list.
        label: What is chosen.
        options: What can be chosen.
        chosen: Index of the initial choice.
    """
    items = "".join(
        f'<option value="{i}"{" selected" if i == chosen else ""}>{escape(option)}</option>'
        for i, option in enumerate(options)
    )
    chooser = f'<select data-name="{name}">{items}</select>'
    return f'<label class="choice"><span>{escape(label)}</span>{chooser}</label>'


def button(name: str, label: str, *, pressed: bool | None = None) -> str:
    """A button; the name "reset" is served by ``reset(draw)``.

    Args:
        name: data-name of the button.
        label: What it does, or what it chooses.
        pressed: State of a button that stays pressed; None for one that does not.
    """
    state = "" if pressed is None else f' aria-pressed="{str(pressed).lower()}"'
    return f'<button type="button" data-name="{name}"{state}>{escape(label)}</button>'


def bar(name: str, share: float | int) -> str:
    """A horizontal bar, 0 <= share <= 1 of its track, redrawn by ``bar(name, share, i)``.

    Args:
        name: data-name of the bar.
        share: Filled part of the track.
    """
    return (
        f'<span class="bar" data-name="{name}" aria-hidden="true">'
        f'<i style="width:{100 * share:.2f}%"></i></span>'
    )


def live_text(content: str) -> str:
    """A line that screen readers announce when the script changes it.

    Args:
        content: HTML of the initial line, with its changing parts in ``value(name, text)``.
    """
    return f'<p aria-live="polite">{content}</p>'


def scientific(x: float | int, digits: int = 1) -> str:
    """A number as a reader expects it: plain from 0.0001 to 100,000, else as 1.3 × 10⁷.

    Args:
        x: Finite number.
        digits: Digits behind the first one.
    """
    if x == 0:
        return "0"
    mantissa, exponent = f"{x:.{digits}e}".split("e")
    if 1e-4 <= abs(x) < 1e5:
        places = max(0, digits - math.floor(math.log10(abs(x)) + 1e-9))
        return f"{float(f'{x:.{digits}e}'):,.{places}f}".replace("-", "−")
    return f"{mantissa} × 10{str(int(exponent)).translate(RAISED)}".replace("-", "−")


def byte_size(x: float | int) -> str:
    """A number of bytes with three digits and a decimal unit: 1.50 GB, 158 TB.

    Args:
        x: Bytes, 0 or more.
    """
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    k = 0
    while x >= 999.5 and k < len(units) - 1:
        x, k = x / 1000, k + 1
    return f"{x:.{0 if k == 0 or x >= 99.95 else 1 if x >= 9.995 else 2}f} {units[k]}"


def value(name: str, shown: str) -> str:
    """A number or word in a text that the script replaces through ``text(name, ...)``.

    Args:
        name: data-name of the element.
        shown: Initial text.
    """
    return f'<b data-name="{name}">{escape(shown)}</b>'


__all__ = [
    "Demo",
    "bar",
    "button",
    "byte_size",
    "live_text",
    "number",
    "scientific",
    "script_beside",
    "select",
    "slider",
    "value",
]
