"""Grader of the project of this page: weights of a foreign file for our GPT."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.models import GPT

from .project_solution import load as right_load
from .silent_mistakes import MISTAKES, Mistake, swapped, unpermuted, with_mistake

File = dict[str, Tensor]
Load = Callable[[File, Mapping[str, Any]], GPT]
META: dict[str, Any] = {
    "vocab_size": 40, "context_length": 16, "embedding_length": 24, "block_count": 2,
    "head_count": 4, "head_count_kv": 2, "feed_forward_length": 32, "rope.freq_base": 300.0,
    "rms_norm_eps": 0.03,
}  # fmt: skip


def grade(load: Load) -> Report:
    """Test a function that makes a GPT from a file of weights with other names and forms.

    Logits are compared with the right ones, and with those of models that load as silently and
    are wrong, so that the report can name the mistake.

    Args:
        load: ``load(file, meta)`` returns a :class:`mathlm.models.GPT`, for a dictionary of
            tensors and one of numbers.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, load, advice=_advice)


def _advice(error: Exception) -> str:
    """What usually raises such an error here."""
    if isinstance(error, RuntimeError) and "state_dict" in str(error):
        return (
            "Print the names and shapes of GPT(config).state_dict() beside those of the file."
        )
    return ""


def draw(meta: Mapping[str, Any] = META) -> File:
    """A file of random weights, as project_solution describes it; gains differ from 1."""
    rng, D = torch.Generator().manual_seed(0), meta["embedding_length"]
    K = D // meta["head_count"]
    width = (meta["head_count"] + 2 * meta["head_count_kv"]) * K
    F = meta["feed_forward_length"]
    file: dict[str, tuple[int, ...]] = {"token_embd": (meta["vocab_size"], D)}
    for i in range(meta["block_count"]):
        at = f"blk.{i}."
        file |= {at + "attn_qkv": (D, width), at + "attn_output": (D, D)}
        file |= {at + "ffn_gate_up": (D, 2 * F), at + "ffn_down": (F, D)}
        file |= {at + "attn_norm": (D,), at + "ffn_norm": (D,)}
    file["output_norm"] = (D,)
    drawn = {n: torch.randn(shape, generator=rng) / D**0.5 for n, shape in file.items()}
    return {n: 1 + t if n.endswith("norm") else t for n, t in drawn.items()}


IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6, 5, 35]])


def _model(load: Load, meta: Mapping[str, Any] = META) -> GPT:
    """What the reader's function returns, once it is a GPT and the file is untouched."""
    file = draw(meta)
    before = {name: t.clone() for name, t in file.items()}
    model = load(file, dict(meta))
    if not isinstance(model, GPT):
        raise FaultError(f"load must return a GPT, it returned a {type(model).__name__}.")
    if file.keys() != before.keys() or any(not torch.equal(file[n], before[n]) for n in file):
        raise FaultError("your code changes the file.")
    return model


def _config(load: Load) -> None:
    config = _model(load).config
    wanted = right_load(draw(), META).config
    for field, sentence in FIELDS.items():
        found, right = getattr(config, field), getattr(wanted, field)
        if found != right:
            raise FaultError(f"{field} is {found!r}, where {right!r} is right: {sentence}")


FIELDS = {
    "n_heads": "no shape depends on the number of query heads alone.",
    "kv_heads": "head_count_kv says how many KV heads there are.",
    "norm": "the file has gains and no biases of norms, as RMSNorm has.",
    "activation": "there is a gate: SwiGLU.",
    "position": "there is no table of positions, and there is a rope.freq_base.",
    "norm_eps": "it stands in the file's numbers, and no weight depends on it.",
    "rope_base": "it stands in the file's numbers, and no weight depends on it.",
    "tie_embeddings": "a file without a head means that the head is the embedding.",
}


def _transposed(name: str) -> Mistake:
    """Square matrices of one name, transposed."""
    return Mistake(edit=lambda m, s: {n: t.mT for n, t in s.items() if f".{name}." in n})


def _twice(model: GPT, state: File) -> File:
    """Rows of queries and keys reordered in the wrong direction."""
    once = unpermuted(model, state)
    return unpermuted(model, state | once)


def _other_cut(model: GPT, state: File) -> File:
    """Keys and values of each block, exchanged."""
    return swapped("W_k", "W_v")(model, state)


WRONG = {
    "rows of queries and keys are left in the file's order: it pairs neighbors, our models "
    "pair halves (half_split_order).": Mistake(edit=unpermuted),
    "rows of queries and keys are reordered the wrong way round (half_split_order goes from "
    "neighbors to halves, its argsort back).": Mistake(edit=_twice),
    "W_o is transposed: the file stores (in, out), and a square shape does not say so.": (
        _transposed("W_o")
    ),
    "keys and values are exchanged.": Mistake(edit=_other_cut),
    "gate and input are exchanged: the gate comes first in ffn_gate_up.": (
        MISTAKES["gate and input swapped"]
    ),
    "the two norms of a block are exchanged.": MISTAKES["two norms swapped"],
    "the last gain is left at 1.": MISTAKES["final gain left at 1"],
    "the gains of the blocks are left at 1.": Mistake(
        edit=lambda m, s: {
            n: torch.ones_like(t)
            for n, t in s.items()
            if n.startswith("blocks.") and "norm" in n
        }
    ),
}


@torch.no_grad()
def _logits(load: Load) -> None:
    right = right_load(draw(), META)
    found, wanted = _model(load).eval()(IDS), right.eval()(IDS)
    if found.shape != wanted.shape:
        raise FaultError(f"logits have shape {tuple(found.shape)}, not {tuple(wanted.shape)}.")
    if torch.allclose(found, wanted, atol=1e-5):
        return
    for sentence, mistake in WRONG.items():
        if torch.allclose(found, with_mistake(right, mistake)(IDS), atol=1e-5):
            raise FaultError(sentence)
    gap = (found - wanted).abs().max()
    raise FaultError(f"names and shapes fit, and logits are off by up to {gap:.2g}.")


def _tied(load: Load) -> None:
    model = _model(load)
    if model.head.weight is not model.token_embedding.weight:
        raise FaultError("the head equals the embedding and is another tensor; it must be it.")


@torch.no_grad()
def _other_sizes(load: Load) -> None:
    meta = META | {"block_count": 3, "head_count": 6, "head_count_kv": 3, "vocab_size": 50}
    found, wanted = _model(load, meta).eval()(IDS), right_load(draw(meta), meta).eval()(IDS)
    if not torch.allclose(found, wanted, atol=1e-5):
        raise FaultError("it works for one size and not for three blocks of six heads.")


TESTS = (
    Case("the configuration", _config),
    Case("logits", _logits, needs=("the configuration",)),
    Case("a head that is the embedding", _tied, needs=("the configuration",)),
    Case("other sizes", _other_sizes, needs=("logits",)),
)
