"""The GPT of chapter 19, tuned by DPO to prefer exclamation marks, as an update of 40 kB.

    cd book
    python -m lab.preference_optimization.exclamations --record results/exclamations.json

A preference that everybody sees: of two completions of one prompt, both written by the model
itself, the one with more exclamation marks is preferred, and pairs with as many are dropped.
Three runs, which draw prompts, completions and the first A of the update anew, give the numbers
of ``results/exclamations.json``; the update of the first is ``_static/live/pair-adapter.js``.
"""

import argparse
import base64
import copy
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mathlm.adapt import add_lora
from mathlm.align import dpo_loss, implicit_reward, target_log_probabilities
from mathlm.generate import generate
from mathlm.models import GPT
from mathlm.optim import AdamW
from mathlm.text import corpus

BOOK = Path(__file__).resolve().parents[2]
CHECKPOINT = BOOK / "results" / "shakespeare-gpt"
RECORD = BOOK / "results" / "exclamations.json"
ADAPTER = BOOK / "_static" / "live" / "pair-adapter.js"
MARK, MAPS = ord("!"), ("attention.W_q", "attention.W_v", "attention.W_o", "feed_forward.W_out")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a run depends on: lengths are in bytes, the step size is that of AdamW."""

    prompts: int = 1_000
    prompt: int = 32
    length: int = 96
    rank: int = 2
    alpha: float = 8.0
    beta: float = 0.1
    batch: int = 32
    epochs: int = 2
    step_size: float = 2e-3
    seed: int = 0


def prompts(text: str, number: int, length: int, seed: int) -> Tensor:
    """Pieces (N, length) of a text, from places drawn at random."""
    ids = torch.tensor(list(text.encode()))
    places = torch.Generator().manual_seed(seed)
    first = torch.randint(len(ids) - length, (number,), generator=places)
    return ids[first[:, None] + torch.arange(length)]


def completed(model: GPT, prompts: Tensor, length: int, seed: int) -> Tensor:
    """Each prompt with what the model writes after it, (N, prompt + length)."""
    parts = enumerate(prompts.split(250))
    return torch.cat([generate(model, p, length, seed=1000 * seed + i) for i, p in parts])


def marks(ids: Tensor, prompt: int) -> Tensor:
    """Exclamation marks in each completion."""
    return (ids[:, prompt:] == MARK).sum(-1)


def compared(first: Tensor, second: Tensor, prompt: int) -> tuple[Tensor, Tensor]:
    """Chosen and rejected completions; pairs with as many marks are dropped."""
    a, b = marks(first, prompt), marks(second, prompt)
    better = (a > b)[:, None]
    kept = a != b
    return torch.where(better, first, second)[kept], torch.where(better, second, first)[kept]


def log_probability(model: GPT, ids: Tensor, prompt: int) -> Tensor:
    """Log-probability of each completion, given its prompt [nats]."""
    targets = ids[:, 1:].clone()
    targets[:, : prompt - 1] = -100
    return target_log_probabilities(model, {"ids": ids[:, :-1], "targets": targets}).sum(-1)


def tune(
    reference: GPT, pairs: tuple[Tensor, Tensor], setting: Setting
) -> tuple[GPT, list[float]]:
    """The policy after DPO on the pairs, and the loss of each step."""
    policy = add_lora(
        copy.deepcopy(reference),
        setting.rank,
        alpha=setting.alpha,
        targets=MAPS,
        seed=setting.seed,
    )
    own = [p for p in policy.parameters() if p.requires_grad]
    optimizer = AdamW(own, lr=setting.step_size, weight_decay=0.0)
    order, losses = torch.Generator().manual_seed(setting.seed), []
    for _ in range(setting.epochs):
        for batch in torch.randperm(len(pairs[0]), generator=order).split(setting.batch):
            rewards = []
            for ids in (side[batch] for side in pairs):
                logp = log_probability(policy, ids, setting.prompt)
                with torch.no_grad():
                    logp_ref = log_probability(reference, ids, setting.prompt)
                rewards.append(implicit_reward(logp, logp_ref, setting.beta))
            chosen, rejected = rewards
            loss = dpo_loss(chosen, rejected).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return policy, losses


@torch.no_grad()
def measured(
    reference: GPT, policy: GPT, held_out: Tensor, setting: Setting
) -> dict[str, float]:
    """Marks per completion of unseen prompts, before and after, and what it cost."""
    seed, P = setting.seed + 500, setting.prompt
    before = completed(reference, held_out, setting.length, seed)
    after = completed(policy, held_out, setting.length, seed)
    ratio = log_probability(policy, after, P) - log_probability(reference, after, P)
    windows = prompts(corpus.split("shakespeare")[1], 400, 128, 7)
    bits = {
        name: -float(log_probability(m, windows, 1).sum()) / (400 * 127 * 0.6931471805599453)
        for name, m in (("before", reference), ("after", policy))
    }
    return {
        "marks_before": float(marks(before, P).float().mean()),
        "marks_after": float(marks(after, P).float().mean()),
        "some_before": float((marks(before, P) > 0).float().mean()),
        "some_after": float((marks(after, P) > 0).float().mean()),
        "kl": float(ratio.mean()),
        "bits_before": bits["before"],
        "bits_after": bits["after"],
    }


def run(setting: Setting) -> tuple[GPT, dict[str, Any]]:
    """One run: the policy, and its row of the record."""
    torch.manual_seed(setting.seed)
    reference = GPT.from_pretrained(CHECKPOINT)
    training, held_out = corpus.split("shakespeare")
    asked = prompts(training, setting.prompts, setting.prompt, setting.seed)
    written = [
        completed(reference, asked, setting.length, 2 * setting.seed + i) for i in (0, 1)
    ]
    pairs = compared(written[0], written[1], setting.prompt)
    policy, losses = tune(reference, pairs, setting)
    unseen = prompts(held_out, 500, setting.prompt, setting.seed)
    last = losses[-10:]
    row = {"seed": setting.seed, "pairs": len(pairs[0]), "last_loss": sum(last) / len(last)}
    return policy, row | measured(reference, policy, unseen, setting)


def packed(policy: GPT) -> dict[str, Any]:
    """The update as the page's data: A and B of each map, one after another, in float32."""
    state = dict(policy.named_parameters())
    layers = range(policy.config.n_layers)
    names = [f"blocks.{layer}.{name}" for layer in layers for name in MAPS]
    parts = [factor.detach().flatten() for name in names for factor in factors(state, name)]
    data = torch.cat(parts).numpy().astype("<f4").tobytes()
    setting = Setting()
    return {
        "rank": setting.rank,
        "scale": setting.alpha / setting.rank,
        "beta": setting.beta,
        "maps": [name.split(".")[1].replace("_", "") for name in MAPS],
        "data": base64.b64encode(data).decode(),
    }


def factors(state: dict[str, Any], name: str) -> tuple[Tensor, Tensor]:
    """A (r, I) and B (O, r) of a map."""
    return state[f"{name}.A.default"], state[f"{name}.B.default"]


def main() -> None:
    """Run three seeds, and write record and update."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, default=RECORD)
    record = parser.parse_args().record
    rows = []
    for seed in range(3):
        policy, row = run(Setting(seed=seed))
        rows.append(row)
        print(row, flush=True)
        if seed == 0:
            text = json.dumps(packed(policy), separators=(",", ":"))
            text = f"(globalThis.mathlmLive ??= {{}}).adapter = {text};\n"
            ADAPTER.write_text(text, encoding="utf-8")
    found = {"config": asdict(Setting()), "results": rows}
    record.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
