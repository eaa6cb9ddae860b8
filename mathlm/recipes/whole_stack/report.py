"""The page of figures that the whole stack leaves in its folder; it needs matplotlib."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

ORDER = [
    "raw",
    "cleaned",
    "tokens",
    "baselines",
    "pretrained",
    "instructions",
    "tuned",
    "pairs",
    "preferred",
    "judged",
]
MODELS = ("base", "tuned", "preferred")
Found = Mapping[str, Mapping[str, Any]]
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The whole stack</title>
<style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;
color:#1c1e21;background:#fff}}img{{max-width:100%}}td,th{{text-align:left;padding:.2rem .8rem
.2rem 0;vertical-align:top;border-bottom:1px solid #d5d9de}}pre{{white-space:pre-wrap}}
table{{display:block;overflow-x:auto}}</style>
<h1>The whole stack</h1>{body}</html>"""


def documents_left(found: Found) -> dict[str, int]:
    """Documents behind each step of the cleaning."""
    report = found["cleaned"]
    left = {"raw": report["documents"]}
    steps = ("empty", "low quality", "exact duplicates", "near duplicates", "in test")
    for name in steps:
        left[name] = list(left.values())[-1] - report.get(name, 0)
    return left


def with_bits(found: Found) -> list[dict[str, float]]:
    """The log of pretraining with bits per byte."""
    made = found["pretrained"]
    factor = made["bits_per_byte"] / made["held_out_loss"]
    rows = [row for row in made["history"] if "held_out_loss" in row]
    return [row | {"bits_per_byte": row["held_out_loss"] * factor} for row in rows]


def figures(found: Found) -> dict[str, Any]:
    """A figure for each part of the page."""
    from ...plot import whole_stack as plot

    histories = [found[name]["history"] for name in ("tuned", "preferred")]
    seconds = {name: found[name]["cpu_seconds"] for name in ORDER if name in found}
    scratch = {}
    if "pretrained" in found:
        scratch["What the cleaning dropped"] = plot.cleaning_steps(documents_left(found))
        bits = with_bits(found)
        scratch["Three trainings"] = plot.three_trainings(bits, *histories)
    return scratch | {
        "Three models": plot.models_compared(
            {name: found["judged"]["models"][name] for name in MODELS}
        ),
        "Where the time went": plot.stage_seconds(seconds),
    }


def sentences(found: Found) -> list[str]:
    """What the numbers say."""
    return [
        *(of_the_text(found) if "pretrained" in found else []),
        f"It then has {found['preferred']['after']['accuracy']:.1%} of the held-out pairs in "
        "the right order.",
        *(
            f"By the {name}, its answers win {win['rate']:.1%} ± {win['error']:.1%} against "
            f"those of before ({win['pairs']} pairs)."
            for name, win in found["judged"]["wins"].items()
        ),
    ]


def of_the_text(found: Found) -> list[str]:
    """What the stages before the tuning found."""
    raw, clean, tokens = found["raw"], found["cleaned"], found["tokens"]
    base = found["pretrained"]
    return [
        f"Documents that are as they should be: {raw['right']:.1%} before the cleaning, "
        f"{clean['right']:.1%} after it.",
        f"A token stands for {tokens['bytes_per_token']:.2f} bytes of the held-out plays.",
        f"The model has {base['parameters']:,} weights and pays {base['bits_per_byte']:.2f} "
        "bits for a held-out byte.",
        *of_baselines(found.get("baselines")),
    ]


def of_baselines(baselines: Mapping[str, Any] | None) -> list[str]:
    """What others charge for the same bytes; a run of an earlier version has none."""
    if baselines is None:
        return []
    costs = baselines["tables"] | baselines["compressors"]
    rows = ", ".join(f"{name} {bits:.2f}" for name, bits in costs.items())
    return [f"Tables of counts and compressors that read the same text pay: {rows}."]


def samples(found: Found) -> str:
    """The same requests to the three models."""
    rows = found["judged"]["sample"]
    names = ("prompt", *MODELS)
    head = "".join(f"<th>{name}</th>" for name in names)
    lines = [
        "".join(f"<td><pre>{escape(row[name])}</pre></td>" for name in names) for row in rows
    ]
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def write_report(folder: Path, found: Found) -> Path:
    """Write report.html; returns its path."""
    from ...plot.whole_stack import figures_as_html

    images = figures_as_html(lambda: figures(found))
    parts = [f"<h2>{name}</h2>{image}" for name, image in images.items()]
    said = "".join(f"<li>{escape(text)}</li>" for text in sentences(found))
    body = f"<ul>{said}</ul>{''.join(parts)}<h2>What they answer</h2>{samples(found)}"
    path, part = folder / "report.html", folder / "report.html.part"
    part.write_text(PAGE.format(body=body), encoding="utf-8")
    part.replace(path)
    return path
