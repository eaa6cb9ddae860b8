"""A moving demo on the limits of scaling: the bill of a budget of compute."""

from mathlm.plot.demo import Demo, button, live_text, script_beside, select, slider, value
from mathlm.scaling import (
    ASSUMED,
    DEVICES,
    Span,
    parameters_and_tokens,
    text_share,
    training_bill,
)

RATIOS = (5, 20, 100, 500, 2000)
SUFFIXES = ("", " k", " M", " bn", " tn", " qd")
ROWS = ("device hours", "days", "dollars", "energy [MWh]", "power [kW]", "CO2 [t]",
        "public text [%]")  # fmt: skip


def budget_demo(
    exponent: float | int = 23.0, ratio: int = 1, device: int = 2, doublings: int = 10
) -> Demo:
    """From a budget of compute to model, text, hours, money and energy, each with its range.

    Args:
        exponent: Of ten: the budget [FLOP].
        ratio: Index into ``RATIOS`` of tokens per parameter.
        device: Index into ``DEVICES``.
        doublings: Devices as a power of two.
    """
    table = rows(10**exponent, RATIOS[ratio], list(DEVICES)[device], 2**doublings)
    n, d = parameters_and_tokens(10**exponent, RATIOS[ratio])
    body = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(f"<td>{value('cell', short(x))}</td>" for x in span)
        + "</tr>"
        for name, span in zip(ROWS, table, strict=True)
    )
    spans = {name: list(assumption.span) for name, assumption in ASSUMED.items()}
    return Demo(
        kind="budget",
        title="What a budget of compute buys, and what it costs",
        hint="Find the budget that reads all public text once. What would it cost, and draw?",
        state={
            "machines": [[one.peak, one.watts] for one in DEVICES.values()],
            "ratios": RATIOS,
            "assumed": spans,
            "suffixes": SUFFIXES,
        },
        controls=slider("compute", "FLOP, power of ten", 15, 30, 0.5, exponent)
        + select("ratio", "tokens per parameter", [str(r) for r in RATIOS], ratio)
        + select("device", "device", list(DEVICES), device)
        + slider("devices", "devices", 0, 20, 1, doublings).replace(
            f'devices-value">{doublings}', f'devices-value">{2**doublings}'
        )
        + button("reset", "reset"),
        view=live_text(
            f"{value('n', short(n))} parameters, {value('d', short(d))} tokens "
            "(k thousand, M million, bn billion, tn trillion, qd quadrillion)."
        )
        + '<table><thead><tr><th scope="col">quantity</th><th scope="col">low</th>'
        '<th scope="col">middle</th><th scope="col">high</th></tr></thead>'
        f"<tbody>{body}</tbody></table>",
        script=script_beside(__file__, "budget"),
        css=".mathlm-demo[data-demo=budget] td b{font-weight:400}",
    )


def rows(compute: float | int, ratio: int, device: str, devices: int) -> list[Span]:
    """The spans of the table, in the order of ``ROWS``."""
    bill = training_bill(compute, device, devices)
    share = text_share(parameters_and_tokens(compute, ratio)[1])
    return [bill.hours, bill.days, bill.dollars, bill.energy / 1000, bill.power / 1000,
            bill.carbon, share * 100]  # fmt: skip


def short(number: float | int) -> str:
    """A number to three digits with a letter for its size, as the script writes it."""
    if number < 0.001:
        return "≈ 0"
    size = 0
    while number >= 999.5 and size < len(SUFFIXES) - 1:
        number, size = number / 1000, size + 1
    digits = 0 if number >= 99.95 else 1 if number >= 9.995 else 2 if number >= 0.9995 else 3
    return f"{number:.{digits}f}{SUFFIXES[size]}"
