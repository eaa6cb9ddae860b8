"""The record of the page: pairs, DPO for several step sizes and seeds, GRPO on a reward model.

    cd book
    python -m lab.tuning_smollm2.study --folder runs --record results/tuning-smollm2.json

Each part is written as soon as it is there; a part that the record has is not run again.
"""

import argparse
import json
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mathlm import adapt
from mathlm.align import PairBatches, Reference
from mathlm.align.preference.data import EncodedPairs, encode_pairs
from mathlm.chat import folder
from mathlm.text.corpora import preferences
from mathlm.train.record import versions

from . import measures, questions
from .pairs import cut_pairs, sample, shorter_preferred, write
from .training import (
    BATCH,
    BETA,
    LAST,
    RANK,
    add_update,
    answer_means,
    fit_reward,
    ranked,
    tune_dpo,
    tune_grpo,
)

log = logging.getLogger(__name__)
SAMPLES, NEW_TOKENS, EPOCHS, RIDGE = 4, 40, 2, 30.0
RUNS = [(1e-3, 0), (3e-4, 0), (6e-4, 0), (6e-4, 1), (6e-4, 2)]  # step size and seed of DPO
GRPO = {"lr": 1e-3, "iterations": 8, "group": 8, "new_tokens": NEW_TOKENS, "seed": 0}


class Study:
    """Parts of the record, each run once."""

    def __init__(self, place: Path, record: Path) -> None:
        self.place, self.record = place, record
        place.mkdir(parents=True, exist_ok=True)
        self.data: dict[str, Any] = (
            json.loads(record.read_text()) if record.exists() else {"runs": {}}
        )
        self.chat_model = folder.load("smollm2", tokenizer=None, form="auto", device="cpu")
        self.chat_model.model.requires_grad_(False)

    def keep(self, **parts: Any) -> None:
        """Write parts of the record now."""
        self.data |= parts
        text = json.dumps(self.data, indent=1, ensure_ascii=False) + "\n"
        new = self.record.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(self.record)

    def pairs(self) -> EncodedPairs:
        """Pairs from the model's own answers, written once."""
        path = self.record.with_name(self.record.stem + "-pairs.jsonl")
        if not path.exists():
            prompts = [p for p in questions.LEARNED for _ in range(SAMPLES)]
            kept_raw = self.place / "answers.json"
            if not kept_raw.exists():
                raw = sample(self.chat_model, prompts, NEW_TOKENS, seed=0)
                kept_raw.write_text(json.dumps(raw))
            raw = json.loads(kept_raw.read_text())
            found = cut_pairs(prompts, raw, per_prompt=2)
            write(found, path)
            self.keep(samples={"answers": len(raw), "pairs": len(found)})
        given = preferences.read(path)
        log.info("%d pairs", len(given))
        return encode_pairs(given, self.chat_model.format, self.chat_model.tokenizer, 256)

    def base(self) -> None:
        """What the model says before it is tuned."""
        if "base" not in self.data:
            self.keep(base=self.judge(Reference(self.chat_model.model)))

    def judge(self, reference: Reference) -> dict[str, Any]:
        """Sampled answers, greedy answers and other texts."""
        twice = questions.ASKED * 2
        found = measures.sampled(self.chat_model, reference, twice, seed=1)
        found["greedy"] = measures.greedy(self.chat_model, questions.SHOWN)
        found["bits_per_byte"] = {
            name: measures.bits_per_byte(self.chat_model, name) for name in measures.OTHER
        }
        base = self.data.get("base", found)
        return found | {"summary": measures.summary(found, base)}

    def dpo(self, pairs: PairBatches, lr: float, seed: int) -> None:
        """One run of DPO, judged, its adapter written."""
        name = f"dpo-{lr:g}-{seed}"
        if name in self.data["runs"]:
            return
        start, steps = time.process_time(), list[dict[str, float]]()
        add_update(self.chat_model.model, "tuned", seed)
        own = PairBatches(pairs.encoded, BATCH, seed=seed)
        own.logp_ref = pairs.logp_ref
        tune_dpo(self.chat_model.model, own, lr, EPOCHS, steps.append)
        self.finish(name, steps, start, lr=lr, seed=seed)

    def finish(
        self, name: str, steps: list[dict[str, float]], start: float, **more: Any
    ) -> None:
        """Judge a tuned model, write its adapter and its part of the record."""
        model = self.chat_model.model
        seconds = time.process_time() - start
        if not (self.place / name).exists():
            adapt.save_adapter(model, self.place / name, "tuned")
        adapt.use_adapter(model, None)
        reference = Reference.of(model)
        adapt.use_adapter(model, "tuned")
        rounded = [{key: round(x, 5) for key, x in step.items()} for step in steps]
        found = more | {"steps": rounded, "seconds": seconds} | self.judge(reference)
        adapt.remove_adapter(model, "tuned")
        self.data["runs"][name] = found
        self.keep()
        log.info("%s: %s", name, found["summary"])

    def reward_model(self, encoded: EncodedPairs) -> dict[str, np.ndarray]:
        """A linear reward on frozen features, fitted to all pairs."""
        path = self.place / "reward.npz"
        if path.exists():
            return dict(np.load(path))
        found = fit_reward(self.chat_model.model, encoded, RIDGE)
        np.savez(path, **found)  # type: ignore[arg-type]
        return found

    def test_reward(self, learned: EncodedPairs, reward: dict[str, np.ndarray]) -> None:
        """How the reward ranks its pairs, and the base's two answers to each other prompt."""
        if "reward" in self.data:
            return
        tests = shorter_preferred(questions.ASKED, self.data["base"]["answers"])
        encoded = encode_pairs(tests, self.chat_model.format, self.chat_model.tokenizer, 256)
        found = {}
        for name, pairs in (("learned", learned), ("fresh", encoded)):
            right = ranked(self.chat_model.model, pairs, reward["weights"])
            found[name] = {"pairs": len(pairs.chosen), "ranked": right}
        self.keep(reward=found)

    def grpo(self, reward: dict[str, np.ndarray]) -> None:
        """GRPO on the reward model, from the same start."""
        if "grpo" in self.data["runs"]:
            return
        start, steps = time.process_time(), list[dict[str, float]]()
        model = self.chat_model.model
        weights = torch.from_numpy(reward["weights"])
        center = torch.from_numpy(reward["center"])
        reference = Reference.of(model)

        @torch.no_grad()
        def judge(batch: dict[str, Tensor]) -> Tensor:
            means = answer_means(reference.model, batch)  # type: ignore[arg-type]
            return (means.double() - center) @ weights

        add_update(model, "tuned", 0)
        tune_grpo(
            *(self.chat_model, reference, judge, questions.LEARNED),
            log=steps.append,
            **GRPO,  # type: ignore[arg-type]
        )
        self.finish("grpo", steps, start, **GRPO)


def main(argv: Sequence[str] | None = None) -> None:
    """Run what the record does not have."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--record", type=Path, required=True)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    study = Study(args.folder, args.record)
    names = ("rank", "last", "beta", "batch", "epochs", "new_tokens", "temperature")
    values = (RANK, LAST, BETA, BATCH, EPOCHS, NEW_TOKENS, 0.7)
    study.keep(config=dict(zip(names, values, strict=True)), versions=versions())
    encoded = study.pairs()
    pairs = PairBatches(encoded, BATCH).with_reference(Reference(study.chat_model.model))
    log.info("reference is known")
    study.base()
    for lr, seed in RUNS:
        study.dpo(pairs, lr, seed)
        if (lr, seed) == RUNS[2]:
            reward = study.reward_model(encoded)
            study.test_reward(encoded, reward)
            study.grpo(reward)


if __name__ == "__main__":
    main()
