"""The GPT of chapter 19 for the browser: its weights in int8, and what it must compute.

    python tools/live_weights.py FOLDER    write weights.js, check.js and the pictures there

``tools/staged.py`` calls this, so that ``make book`` puts them beside
``book/_static/live/engine.js``. The first two are scripts that fill ``globalThis.mathlmLive``:
a page that was opened from a file may load scripts and nothing else. ``check.js`` holds logits
and texts that the package computed in float64 from the same int8 weights; the button "Check
this page" compares them with what the reader's own browser computes.
"""

from __future__ import annotations

import base64
import copy
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import live_picture
import live_views
import torch
from torch import Tensor

from mathlm.functional import rotary_frequencies, symmetric_levels
from mathlm.generate import Sampler
from mathlm.interpret import At, patch, record
from mathlm.models import GPT

ROOT = Path(__file__).resolve().parents[1]
CHECKPOINT = ROOT / "book" / "results" / "shakespeare-gpt"
MATRICES = ("W_q", "W_k", "W_v", "W_o"), ("W_in", "W_gate", "W_out")
NORMS = "attention_norm", "feed_forward_norm"

Case = Mapping[str, Any]


# --- the weights ----------------------------------------------------------------------------


def matrix_names(layers: int) -> list[str]:
    """The matrices in the order of ``weights.js``."""
    names = ["token_embedding.weight"]
    for layer in range(layers):
        for part, matrices in zip(("attention", "feed_forward"), MATRICES, strict=True):
            names += [f"blocks.{layer}.{part}.{matrix}.weight" for matrix in matrices]
    return names


def gain_names(layers: int) -> list[str]:
    """The gains of the norms in the order of ``weights.js``."""
    inner = [f"blocks.{layer}.{norm}.gamma" for layer in range(layers) for norm in NORMS]
    return [*inner, "final_norm.gamma"]


@torch.no_grad()
def quantized(folder: Path = CHECKPOINT) -> tuple[GPT, dict[str, Any]]:
    """The model in float64 with weights rounded to 8 bits by row, and these as the page's data.

    Returns:
        The model, and ``{"config": sizes, "data": base64 of codes, steps and gains}``.
    """
    model = GPT.from_pretrained(folder)
    names, codes, steps = matrix_names(model.config.n_layers), [], []
    for name in names:
        levels = symmetric_levels(model.get_parameter(name), 8)
        codes.append(levels.codes.flatten())
        steps.append(levels.step.flatten())
    model.double()
    place = model.position  # its tables have float32's digits whatever the default dtype is
    place.cos, place.sin = place.cos.float().double(), place.sin.float().double()
    for name, code, step in zip(names, codes, steps, strict=True):
        weight = model.get_parameter(name)
        weight.copy_(code.double().view_as(weight) * step.double()[:, None])
    gains = [model.get_parameter(name).float() for name in gain_names(model.config.n_layers)]
    floats = torch.cat([*steps, *gains]).numpy().astype("<f4")
    data = torch.cat(codes).numpy().tobytes() + floats.tobytes()
    return model, {"config": sizes(model), "data": base64.b64encode(data).decode()}


def sizes(model: GPT) -> dict[str, Any]:
    """What the engine must know beside the weights."""
    config = model.config
    return {
        "vocab": config.vocab_size,
        "context": config.context,
        "width": config.d_model,
        "layers": config.n_layers,
        "heads": config.n_heads,
        "hidden": config.ff_width,
        "eps": config.norm_eps,
        "omega": rotary_frequencies(config.head_width, config.rope_base).tolist(),
    }


# --- what the model computes with switches --------------------------------------------------


@contextmanager
def without_positions(model: GPT, off: bool) -> Iterator[None]:
    """Queries and keys that are not turned, so that the model knows no positions."""
    position = model.position
    model.position = None if off else position
    try:
        yield
    finally:
        model.position = position


CHANGE = re.compile(r"(\d*)([a-zA-Z]+\d?)-(?:a|h(\d+)|(?:r(\d+))?(?:c(\d+))?)-([xs])(\S+)")
SHORT = {
    **{"E": "token_embedding.weight", "n": "final_norm.gamma"},
    **{"n1": "attention_norm.gamma", "n2": "feed_forward_norm.gamma"},
    **{name.lower()[2:]: f"attention.{name}.weight" for name in MATRICES[0]},
    **{name.lower()[2:]: f"feed_forward.{name}.weight" for name in MATRICES[1]},
}


@torch.no_grad()
def edited(model: GPT, codes: Sequence[str]) -> GPT:
    """A copy with changed weights, one change after another.

    Args:
        model: Stays as it is.
        codes: Changes as a link of the page holds them, ``2o-h1-x0``: an array (``E`` the
            embedding, ``n`` the last gains; of a block ``q k v o in gate out`` and the gains
            ``n1 n2``), a part (``a`` all of it, ``r`` a row, ``c`` a column, ``h`` the rows of
            a head or, of ``W_o``, its columns) and ``x`` a factor or ``s`` a value.

    Returns:
        The copy.

    Raises:
        ValueError: If a code is no change.
        KeyError: If there is no such array.
        IndexError: If the array has no such row, column or head.
    """
    found = copy.deepcopy(model)
    for code in codes:
        if (match := CHANGE.fullmatch(code)) is None:
            raise ValueError(f"{code!r} is no change of a weight")
        layer, short, head, row, column, kind, number = match.groups()
        array = found.get_parameter(f"blocks.{layer}.{SHORT[short]}" if layer else SHORT[short])
        part = array if array.ndim == 2 else array[None]
        if head:
            part = part.chunk(model.config.n_heads, dim=1 if short == "o" else 0)[int(head)]
        if row:
            part = part[int(row)][None]
        if column:
            part = part[:, int(column)]
        part.copy_(
            part * float(number) if kind == "x" else torch.full_like(part, float(number))
        )
    return found


@torch.no_grad()
def logits(model: GPT, case: Case) -> Tensor:
    """Logits (T, V) with heads off, without positions, with a patch or with changed weights.

    What is patched in comes from a run of the model as it was trained.
    """
    ids = torch.tensor([case["ids"]])
    values: dict[str, Tensor | At] = {}
    shape = (1, model.config.n_heads, ids.shape[1], model.config.head_width)
    for layer in {layer for layer, _ in case.get("off", ())}:
        heads = [head for i, head in case["off"] if i == layer]
        zero = At(value=torch.zeros(shape, dtype=torch.float64), heads=heads)
        values[f"blocks.{layer}.attention.heads"] = zero
    for spot in case.get("patches", ()):
        name = f"blocks.{spot['layer']}.resid_pre"
        other = record(model, torch.tensor([spot["ids"]]))[name]
        values[name] = At(value=other, positions=[spot["at"]])
    changed = edited(model, case["edits"]) if case.get("edits") else model
    with without_positions(changed, not case.get("positions", True)):
        return patch(changed, ids, values)[0]


def uniform(seed: int) -> Iterator[float]:
    """Numbers in [0, 1) from integers of 32 bits, the generator of ``engine.js``."""
    mask, state = 0xFFFFFFFF, seed & 0xFFFFFFFF
    while True:
        state = (state + 0x6D2B79F5) & mask
        z = ((state ^ (state >> 15)) * (state | 1)) & mask
        z = ((z + ((z ^ (z >> 7)) * (z | 61))) & mask) ^ z
        yield (z ^ (z >> 14)) / 2**32


@torch.no_grad()
def written(
    model: GPT, ids: list[int], n: int, temperature: float, top_p: float, seed: int
) -> list[int]:
    """Tokens that the model writes, drawn by inversion with :func:`uniform`."""
    sampler = Sampler(temperature=temperature, top_p=None if top_p >= 1 else top_p)
    cache, numbers, found = model.new_cache(1), uniform(seed), []
    new = torch.tensor([ids])
    for _ in range(n):
        p = sampler.probabilities(model(new, cache=cache)[0, -1])
        u = 0.0 if temperature == 0 else next(numbers)
        found.append(int((p.cumsum(0) > u).int().argmax()))
        new = torch.tensor([found[-1:]])
    return found


# --- the record -----------------------------------------------------------------------------

SPEECH = list(b"KING RICHARD II:\nWhat must the king do now? must he submit?\n")
OTHER = list(b"KING RICHARD II:\nWhat must the queen do now? must she weep?\n")
BYTES = [0, 255, 195, 169, 10, 200, 65, 128]  # no text at all
CASES: tuple[Case, ...] = (
    {"name": "as trained", "ids": SPEECH},
    {"name": "bytes that are no text", "ids": BYTES},
    {"name": "two heads off", "ids": SPEECH, "off": [[0, 1], [2, 3]]},
    {"name": "positions off", "ids": SPEECH, "positions": False},
    {
        "name": "residual stream patched",
        "ids": SPEECH,
        "patches": [{"layer": 2, "at": 35, "ids": OTHER}],
    },
    {
        "name": "weights changed",
        "ids": SPEECH,
        "edits": ["2o-h1-x0", "E-r75-x1.5", "0v-c5-x-1", "1out-r2c9-s0.75", "3n2-c7-x2"],
    },
)
TEXTS: tuple[Case, ...] = (
    {"ids": SPEECH[:17], "n": 120, "temperature": 0, "topP": 1, "seed": 0},
    {"ids": SPEECH[:17], "n": 120, "temperature": 0.8, "topP": 0.9, "seed": 19},
)


def recorded(model: GPT, case: Case) -> dict[str, Any]:
    """A case with its logits at the first, the middle and the last position."""
    rows = [0, len(case["ids"]) // 2, len(case["ids"]) - 1]
    numbers = logits(model, case)[rows].numpy().astype("<f8")
    return {**case, "rows": rows, "logits": base64.b64encode(numbers).decode()}


def records(model: GPT) -> dict[str, Any]:
    """What the page is compared with."""
    texts = [
        {
            **t,
            "written": written(model, t["ids"], t["n"], t["temperature"], t["topP"], t["seed"]),
        }
        for t in TEXTS
    ]
    return {"cases": [recorded(model, case) for case in CASES], "texts": texts}


# --- the files ------------------------------------------------------------------------------


def script(name: str, value: Any) -> str:
    """A file that gives a page this value when it is loaded as a script."""
    text = json.dumps(value, separators=(",", ":"))
    return f"(globalThis.mathlmLive ??= {{}}).{name} = {text};\n"


def contents(folder: Path) -> dict[str, str]:
    """Each file by its name."""
    model, weights = quantized(folder)
    tools = live_views.Tools(model, logits, written, uniform, without_positions)
    return {
        "weights.js": script("weights", weights),
        "check.js": script("check", records(model)),
        "still.html": live_picture.still(model),
        **live_views.pictures(tools),
    }


def write(target: Path, folder: Path = CHECKPOINT) -> list[Path]:
    """Write the files; returns their paths."""
    target.mkdir(parents=True, exist_ok=True)
    texts = contents(folder)
    for name, text in texts.items():
        (target / name).write_text(text, encoding="utf-8")
    return [target / name for name in texts]


def main(argv: list[str]) -> int:
    """Write the files, and say how large they are."""
    if len(argv) != 1:
        print(__doc__)
        return 2
    for path in write(Path(argv[0])):
        print(f"{path}: {path.stat().st_size / 1000:.1f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
