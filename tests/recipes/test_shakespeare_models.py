"""The two trained models that the book ships are those of their records."""

import json
import math
from pathlib import Path

import pytest
import torch

from mathlm.functional import token_cross_entropy
from mathlm.models import GPT
from mathlm.text import corpus

RESULTS = Path(__file__).parents[2] / "book" / "results"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shakespeare-gpt", "shakespeare-draft"])
@torch.no_grad()
def test_the_model_needs_the_bits_that_its_record_says(name):
    """Weights in float16, with 11 bits, cost less than a thousandth of a bit."""
    record = json.loads((RESULTS / f"{name}.json").read_text())
    model, count = GPT.from_pretrained(RESULTS / name), record["options"]["held_out"]
    text = corpus.split("shakespeare")[1].encode()[: count + 1]
    ids = torch.tensor(list(text)).unfold(0, model.config.context + 1, model.config.context)
    nats = [token_cross_entropy(model(x[:, :-1]), x[:, 1:]).sum() for x in ids.split(32)]
    bits = float(sum(nats)) / count / math.log(2)
    assert bits == pytest.approx(record["results"]["bits_per_byte"], abs=1e-3)
