"""Sums as digits, and scores of networks that are known."""

import json

import numpy as np
import pytest
import torch

from lab.explanations.addition import AdditionConfig, main, score, sums, train
from mathlm.errors import ConfigError


class Knows(torch.nn.Module):
    """Adds two numbers of two digits rightly, and puts 3/4 on each right digit."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, seen):
        digits = seen.unflatten(1, (4, 10)).argmax(-1)
        total = digits @ torch.tensor([1, 10, 1, 10])
        right = torch.stack([total // 10**k % 10 for k in range(3)], 1)
        logits = torch.full((len(seen), 3, 10), np.log(0.25 / 9))
        return logits.scatter(-1, right[..., None], np.log(0.75)).flatten(1)


def test_digits_say_sums(rng):
    seen, right = sums(3, 50, rng)
    value = 10 ** torch.arange(4)
    a, b = seen[:, :3] @ value[:3], seen[:, 3:] @ value[:3]
    assert (right @ value == a + b).all()
    assert int(a.max()) > 99


def test_a_network_that_knows_has_the_scores_of_its_probabilities(rng):
    found = score(Knows(), *sums(2, 40, rng))
    assert (found["token"], found["exact"], found["independent"]) == (1, 1, 1)
    assert found["loss"] == pytest.approx(-np.log(0.75))


def test_a_wider_network_adds_better():
    narrow, wide = (
        train(AdditionConfig(digits=1, width=w, steps=120, lr=0.02))[1] for w in (2, 32)
    )
    assert wide["loss"] < 0.5 * narrow["loss"]
    assert wide["exact"] > narrow["exact"] + 0.3


def test_the_number_of_parameters_by_hand():
    """20 inputs, 3 units, 20 outputs: 20·3 + 3 + 3·20 + 20."""
    assert train(AdditionConfig(digits=1, width=3, steps=1))[1]["parameters"] == 143


def test_the_study_writes_every_width(tmp_path):
    main(["--widths", "4", "8", "--steps", "2", "--record", str(tmp_path / "a.json")])
    results = json.loads((tmp_path / "a.json").read_text())["results"]
    assert [found["config"]["width"] for found in results] == [4, 8]
    assert all(0 <= found["scores"]["exact"] <= 1 for found in results)


@pytest.mark.parametrize("wrong", [{"digits": 0}, {"width": 0}, {"digits": 18}], ids=str)
def test_careless_configurations_are_named(wrong):
    with pytest.raises(ConfigError, match=f"{next(iter(wrong))}={next(iter(wrong.values()))}"):
        AdditionConfig(**wrong)
