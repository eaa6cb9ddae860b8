"""The models of recipes.whole_stack: pretrained, tuned on requests, and on preferences."""

import json
import shutil
from pathlib import Path

from ...chat.folder import write
from ...chat.model import Chatting
from ...text import ByteBPE
from .. import dpo, export, pretrain, sft
from .pipeline import Result, Run, clear_half_written
from .stages import FORMAT


def flags(**options: object) -> list[str]:
    """Options as they are typed."""
    return [part for k, x in options.items() for part in (f"--{k.replace('_', '-')}", str(x))]


def history(path: Path) -> list[dict[str, float]]:
    """The log of a run that was recorded."""
    return json.loads(path.read_text(encoding="utf-8"))["history"]


def pretrained(run: Run) -> Result:
    """A GPT that predicts the next token of the plays."""
    scale, record = run.scale, run.place("records", "pretrained.json")
    often = max(1, scale.steps // scale.looks)
    sizes = {"size": scale.size, "context": scale.context, "batch_size": scale.batch_size}
    often_done = {"eval_every": often, "save_every": often, "log_every": often, "keep": 2}
    found = pretrain.main(
        flags(
            data=run.place("tokens"),
            tokenizer=run.place("tokenizer.json"),
            **sizes,
            **often_done,
            steps=scale.steps,
            lr=scale.lr,
            warmup=scale.steps // 20,
            held_out=scale.held_out,
            seed=run.seed,
            device=run.device,
            out=run.place("pretraining"),
            record=record,
        )
    )
    write_base(run)
    per_step = scale.batch_size * scale.context
    return {**found, "history": history(record), "tokens_per_step": per_step}


def write_base(run: Run) -> None:
    """The pretrained model as a folder that recipes.chat can read."""
    folder = run.place("base")
    shutil.rmtree(folder, ignore_errors=True)
    export.main([str(run.place("pretraining")), str(folder)])
    bpe = ByteBPE.load(run.place("tokenizer.json"))
    model = export.load(run.place("pretraining"))
    chatting = Chatting(model=model, tokenizer=bpe, format=FORMAT)
    write(folder, chatting, kind="model", base="base", quantize=None, marks=False)


def tuned(run: Run) -> Result:
    """The same GPT, tuned to answer what it is asked, and to end."""
    out = run.place("tuned")
    clear_half_written(out)
    found = sft.main(
        flags(
            data=run.place("instructions.jsonl"),
            model=run.place("base"),
            steps=run.scale.tuning_steps,
            lr=run.scale.tuning_lr,
            **shared(run, "tuned", run.scale.tuning_steps),
        )
    )
    return found | {"history": history(run.place("records", "tuned.json"))}


def preferred(run: Run) -> Result:
    """The tuned GPT, tuned by DPO on which of its own answers was preferred."""
    out = run.place("preferred")
    clear_half_written(out)
    found = dpo.main(
        flags(
            data=run.place("pairs.jsonl"),
            model=run.place("tuned"),
            steps=run.scale.preference_steps,
            lr=run.scale.preference_lr,
            samples=0,
            **shared(run, "preferred", run.scale.preference_steps),
        )
    )
    return found | {"history": history(run.place("records", "preferred.json"))}


def shared(run: Run, name: str, steps: int) -> dict[str, object]:
    """Options that both kinds of tuning have."""
    often = max(1, steps // run.scale.looks)
    return {
        "method": "full",
        "batch_size": run.scale.rows,
        "context": run.scale.context,
        "eval_every": often,
        "save_every": often,
        "log_every": often,
        "seed": run.seed,
        "device": run.device,
        "out": run.place(name),
        "record": run.place("records", f"{name}.json"),
    }
