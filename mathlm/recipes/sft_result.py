"""The folder of a tuned model: what was trained, and what recipes.chat needs beside it.

Used by recipes.sft; recipes.chat_folder reads it.
"""

import argparse
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from torch import Tensor

from .. import adapt
from ..chat.folder import FILE, write
from ..chat.model import ChatModel
from ..chat.special_tokens import special_ids, set_aside
from ..models import GPT, save_pretrained
from ..train import Trainer
from .sft_data import Conversations
from .sft_method_options import whole_result

log = logging.getLogger(__name__)


def written(args: argparse.Namespace, chat_model: ChatModel, first: Tensor | None) -> Path:
    """Write the result beside its place, then move it there; its chat.json comes last."""
    whole = whole_result(args)
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.out, prefix=".new-") as name:
        new = Path(name)
        save_whole(args, chat_model.model, new) if whole else save_part(chat_model, first, new)
        base = args.model if args.model == "smollm2" else str(Path(args.model).resolve())
        said = {"kind": "model" if whole else "adapter", "base": base}
        marks = first is not None and not whole
        write(new, chat_model, **said, quantize=args.quantize, marks=marks)
        (args.out / FILE).unlink(missing_ok=True)
        for path in sorted(new.iterdir(), key=lambda path: path.name == FILE):
            os.replace(path, args.out / path.name)
    return args.out


def save_whole(args: argparse.Namespace, model: GPT, folder: Path) -> None:
    """The whole model."""
    if args.merge:
        adapt.merge_lora(model, keep=False)
    save_pretrained(model, folder)


def save_part(chat_model: ChatModel, first: Tensor | None, folder: Path) -> None:
    """What was added to the model, and the rows of the marks if they were trained."""
    if first is None:
        adapt.save_adapter(chat_model.model, folder)
        return
    chat_model.model.token_embedding.requires_grad_(False)
    with set_aside(chat_model.model, special_ids(chat_model), first, folder):
        adapt.save_adapter(chat_model.model, folder)


def results(trainer: Trainer, data: Conversations, before: float | None) -> dict[str, Any]:
    """Held-out loss before and after [nats/token], and what was left out of the data."""
    found: dict[str, Any] = {"step": trainer.step, "dropped": data.encoded.dropped}
    if before is None:
        return found
    judged = {r["step"]: r["held_out_loss"] for r in trainer.history if "held_out_loss" in r}
    least = min(judged, key=lambda step: judged[step])
    after = judged[least] if trainer.best else judged[trainer.step]
    log.info("held-out answers: %.4f nats a token before, %.4f after", before, after)
    if after > judged[least]:
        log.info("the least was %.4f at step %d: --patience ends there", judged[least], least)
    return found | {"held_out_loss_before": before, "held_out_loss": after}
