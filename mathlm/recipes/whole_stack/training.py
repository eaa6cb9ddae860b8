"""The stages that train: pretraining, tuning on requests, and tuning on preferences."""

import json
import shutil
from pathlib import Path
from typing import Any

from ...chat.folder import write
from ...chat.model import ChatModel
from ...text import ByteBPE
from .. import dpo, export, pretrain, sft
from ..dpo import DPOConfig
from ..export import ExportConfig
from ..options import BaseModel, Machine, Optimization, Output
from ..pretrain import PretrainConfig
from ..sft import SFTConfig
from ..tuning import Adaptation, Passes
from .pipeline import Result, Run, clear_half_written
from .stages import FORMAT


def history(path: Path) -> list[dict[str, float]]:
    """The log of a run that was recorded."""
    return json.loads(path.read_text(encoding="utf-8"))["history"]


def pretrained(run: Run) -> Result:
    """A GPT that predicts the next token of the plays."""
    scale, every = run.scale, often(run, run.scale.steps)
    record = run.place("records", "pretrained.json")
    config = PretrainConfig(
        text=pretrain.Text(
            data=run.place("tokens"),
            tokenizer=str(run.place("tokenizer.json")),
            held_out=scale.held_out,
        ),
        model=pretrain.Model(size=scale.size, context=scale.context),
        optimization=pretrain.Optimization(
            steps=scale.steps,
            batch_size=scale.batch_size,
            lr=scale.lr,
            warmup=scale.steps // 20,
            seed=run.seed,
        ),
        output=pretrain.Output(
            out=run.place("pretraining"),
            record=record,
            log_every=every,
            eval_every=every,
            save_every=every,
            keep=2,
        ),
        machine=Machine(device=run.device),
    )
    found = pretrain.run(config)
    write_base(run)
    per_step = scale.batch_size * scale.context
    return {**found, "history": history(record), "tokens_per_step": per_step}


def write_base(run: Run) -> None:
    """The pretrained model as a folder that mathlm chat can read."""
    folder = run.place("base")
    shutil.rmtree(folder, ignore_errors=True)
    export.run(ExportConfig(run=run.place("pretraining"), folder=folder))
    bpe = ByteBPE.load(run.place("tokenizer.json"))
    model = export.load(run.place("pretraining"))
    chat_model = ChatModel(model=model, tokenizer=bpe, format=FORMAT)
    write(folder, chat_model, kind="model", base="base", quantize=None, marks=False)


def tuned(run: Run) -> Result:
    """The same GPT, tuned to answer what it is asked, and to end."""
    clear_half_written(run.place("tuned"))
    scale = run.scale
    config = SFTConfig(
        data=str(run.place("instructions.jsonl")),
        base=BaseModel(model=str(run.place("base"))),
        passes=passes(run, scale.tuning_steps),
        optimization=Optimization(lr=scale.tuning_lr, seed=run.seed),
        output=output(run, "tuned", scale.tuning_steps),
        **shared(run),
    )
    return sft.run(config) | {"history": history(run.place("records", "tuned.json"))}


def preferred(run: Run) -> Result:
    """The tuned GPT, tuned by DPO on which of its own answers was preferred."""
    clear_half_written(run.place("preferred"))
    scale = run.scale
    config = DPOConfig(
        data=str(run.place("pairs.jsonl")),
        samples=0,
        base=BaseModel(model=str(run.place("tuned"))),
        passes=passes(run, scale.preference_steps),
        optimization=Optimization(lr=scale.preference_lr, seed=run.seed),
        output=output(run, "preferred", scale.preference_steps),
        **shared(run),
    )
    return dpo.run(config) | {"history": history(run.place("records", "preferred.json"))}


def shared(run: Run) -> dict[str, Any]:
    """Options that both kinds of tuning have."""
    return {
        "adaptation": Adaptation(method="full"),
        "context": run.scale.context,
        "machine": Machine(device=run.device),
    }


def passes(run: Run, steps: int) -> Passes:
    """How long a tuning takes, and how often it is evaluated."""
    return Passes(steps=steps, batch_size=run.scale.rows, eval_every=often(run, steps))


def output(run: Run, name: str, steps: int) -> Output:
    """Where a tuning goes, and its record."""
    every, record = often(run, steps), run.place("records", f"{name}.json")
    return Output(out=run.place(name), record=record, log_every=every, save_every=every)


def often(run: Run, steps: int) -> int:
    """Steps between two looks at a training."""
    return max(1, steps // run.scale.looks)
