"""Moving demos of the backward pass: one label's gradient, and planted faults."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, live_text, scientific, script_beside, select, value

Trace = Mapping[str, ArrayLike]

TRACE_CSS = """
.mathlm-demo[data-demo=gradient-trace] table{width:auto;margin-bottom:.8rem}
.mathlm-demo[data-demo=gradient-trace] th{font-size:.85rem}
.mathlm-demo[data-demo=gradient-trace] td{min-width:2.6rem;padding:.15rem .3rem;
text-align:center;font-size:.85rem;
background:color-mix(in srgb,var(--accent) calc(.55*var(--share)),var(--bg))}
.mathlm-demo[data-demo=gradient-trace] td.size{text-align:right;background:none}
"""

FAULT_CSS = """
.mathlm-demo[data-demo=gradient-fault] td{text-align:left;white-space:normal}
.mathlm-demo[data-demo=gradient-fault] tr[data-red=true] td{font-weight:600;
color:var(--second)}
"""


def gradient_trace_demo(
    source: Sequence[str],
    inputs: Sequence[str],
    labels: Sequence[str],
    traces: Sequence[Trace],
    label: int = 0,
) -> Demo:
    """The gradient of one label's loss at every vector of the machine, label by label.

    Args:
        source: Words that the encoder reads.
        inputs: Words that the decoder reads.
        labels: Words that it is to predict, one for each input.
        traces: For each label, stage and size of the gradient at each position, the stages of
            the decoder (one size an input) before those of the encoder (one a source word).
        label: Index of the initial label.

    Raises:
        InputError: If words, labels and traces do not fit each other.
    """
    sizes = [_sizes(trace, len(inputs), len(source)) for trace in traces]
    if len(labels) != len(inputs) or len(sizes) != len(labels) or not 0 <= label < len(labels):
        raise InputError(
            f"{len(labels)} labels, {len(inputs)} inputs, {len(sizes)} traces and "
            f"label={label} do not fit: every input has one label and one trace"
        )
    last = sizes[label][-1]
    upper, lower = (
        _table(words, {s: v for s, v in zip(traces[label], sizes[label], strict=True)
                       if s.startswith(side)})
        for words, side in ((inputs, "decoder"), (source, "encoder"))
    )  # fmt: skip
    return Demo(
        kind="gradient-trace",
        title="The gradient of one label on its way back",
        hint="Choose another label. Each row shows where the gradient stands at that stage, in "
        "percent; a point is exactly 0.",
        state={
            "labels": list(labels),
            "source": list(source),
            "sizes": [[row.tolist() for row in rows] for rows in sizes],
        },
        controls=select("label", "loss of the label", labels, label),
        view=upper
        + lower
        + live_text(
            f"Predicting {value('word', labels[label])}: at the source, the largest share of "
            f"the gradient arrives at {value('most', source[int(last.argmax())])}. Later "
            f"positions of the target, {value('zeros', str(len(labels) - 1 - label))} of them, "
            "get exactly 0."
        ),
        script=script_beside(__file__, "gradient_trace"),
        css=TRACE_CSS,
    )


def gradient_fault_demo(
    faults: Mapping[str, str], checks: Sequence[str], caught: ArrayLike, fault: int = 0
) -> Demo:
    """A planted fault to choose; the checks that notice it turn red.

    Args:
        faults: Name of a fault and what the changed line does.
        checks: Names of the checks.
        caught: True where the check fails, a row a fault.
        fault: Index of the initial fault.

    Raises:
        InputError: If the table has another shape, or there is no such fault.
    """
    table = np.asarray(caught, dtype=bool)
    if table.shape != (len(faults), len(checks)) or not 0 <= fault < len(faults):
        raise InputError(
            f"a table of shape {table.shape} and fault={fault} do not fit {len(faults)} faults "
            f"and {len(checks)} checks"
        )
    rows = "".join(
        f'<tr data-name="row" data-red="{str(bool(fails)).lower()}"><td>{escape(check)}</td>'
        f"<td>{value('verdict', '✗ fails' if fails else '✓ passes')}</td></tr>"
        for check, fails in zip(checks, table[fault], strict=True)
    )
    return Demo(
        kind="gradient-fault",
        title="Plant a fault, and see which check goes red",
        hint="Look for a fault that only one check sees.",
        state={"caught": table.tolist(), "changes": list(faults.values())},
        controls=select("fault", "fault", list(faults), fault),
        view=live_text(f"The changed line: {value('change', list(faults.values())[fault])}.")
        + f"<table><tbody>{rows}</tbody></table>"
        + live_text(
            f"{value('count', str(int(table[fault].sum())))} of {len(checks)} checks fail."
        ),
        script=script_beside(__file__, "gradient_fault"),
        css=FAULT_CSS,
    )


def _sizes(trace: Trace, n_inputs: int, n_source: int) -> list[ndarray]:
    """The sizes of each stage, once there is one for each word."""
    rows = []
    for stage, sizes in trace.items():
        row = np.array([float(f"{x:.3g}") for x in np.asarray(sizes, dtype=float)])
        expected = n_inputs if stage.startswith("decoder") else n_source
        if row.shape != (expected,) or not (np.isfinite(row) & (row >= 0)).all():
            raise InputError(f"stage {stage!r} needs {expected} sizes >= 0, got {row}")
        rows.append(row)
    if not rows:
        raise InputError("a trace has no stages: give what gradient_trace returns, as sizes")
    return rows


def _table(words: Sequence[str], stages: Mapping[str, ndarray]) -> str:
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in words)
    rows = "".join(
        f'<tr><th scope="row">{escape(stage)}</th>{_cells(sizes)}'
        f'<td class="size">{value("size", scientific(float(np.hypot.reduce(sizes))))}</td></tr>'
        for stage, sizes in stages.items()
    )
    top = f"<thead><tr><td></td>{head}<th>size</th></tr></thead>"
    return f"<table>{top}<tbody>{rows}</tbody></table>"


def _cells(sizes: ndarray) -> str:
    total = sizes.sum()
    shares = sizes / total if total > 0 else sizes
    return "".join(
        f'<td data-name="cell" '
        f'style="--share:{round(100 * share)}%">{f"{100 * share:.0f}" if size else "·"}</td>'
        for size, share in zip(sizes, shares, strict=True)
    )


__all__ = ["gradient_fault_demo", "gradient_trace_demo"]
