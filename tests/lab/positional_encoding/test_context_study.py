import json
import math

import pytest
import torch

from lab.positional_encoding import context_study as study
from mathlm.errors import ConfigError, InputError
from mathlm.functional import RopeScaling, token_cross_entropy
from mathlm.models import GPT, GPTConfig

SMALL = {"vocab_size": 5, "context": 8, "d_model": 8, "n_layers": 1, "n_heads": 2}


@pytest.fixture
def gpt():
    """Weights large enough for attention to depend on positions."""
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(0)
    sizes = {"vocab_size": 49_152, "context": 64, "d_model": 16, "n_layers": 1, "n_heads": 2}
    model = GPT(GPTConfig(position="rope", norm="rms", **sizes)).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return model


def test_a_stretched_model_shares_weights_and_leaves_the_first_as_it_was(gpt):
    ids = torch.arange(10)[None]
    before, room = gpt(ids), study.stretched(gpt, 1000)
    torch.testing.assert_close(room(ids), before)
    assert room.head.weight is gpt.head.weight
    half = study.stretched(gpt, 1000, RopeScaling(kind="linear", factor=2))
    assert not torch.allclose(half(ids), before)
    torch.testing.assert_close(half(ids, positions=2 * torch.arange(10)), before)
    torch.testing.assert_close(gpt(ids), before)
    assert (gpt.config.context, len(gpt.position.cos)) == (64, 64)


def test_only_rotary_models_are_stretched():
    with pytest.raises(ConfigError, match="position='alibi': only rope has frequencies"):
        study.stretched(GPT(GPTConfig(position="alibi", **SMALL)), 16)


def test_names_of_scalings():
    assert study.scaling_of("plain", 4, 64) is None
    assert study.scaling_of("ntk", 4, 64) == RopeScaling(kind="ntk", factor=4)
    assert study.scaling_of("yarn", 4, 64).original_context == 64
    sizes = [study.scaling_of(way, 4, 64).amplitude for way in ("yarn", "yarn, factor 1")]
    assert sizes == [pytest.approx(0.1 * math.log(4) + 1), 1]
    with pytest.raises(ConfigError, match="way='best' is not one of"):
        study.scaling_of("best", 4, 64)


def test_losses_are_those_of_a_passage_and_of_its_copy_at_the_gap(gpt):
    ids = torch.randint(100, (2, 5))
    first, second = study.copy_losses(study.stretched(gpt, 40), ids, 30)
    both = torch.cat((ids, ids), 1)
    places = torch.tensor([0, 1, 2, 3, 4, 35, 36, 37, 38, 39])
    logits = study.stretched(gpt, 40)(both, positions=places)
    torch.testing.assert_close(first, token_cross_entropy(logits[:, :4], both[:, 1:5]).mean(1))
    torch.testing.assert_close(second, token_cross_entropy(logits[:, 5:9], both[:, 6:]).mean(1))
    with pytest.raises(InputError, match="got 1 and 0"):
        study.copy_losses(gpt, ids[:, :1], 0)


@pytest.mark.slow
def test_the_record_holds_every_reading_and_refuses_another_study(tmp_path, gpt):
    path = tmp_path / "record.json"
    command = f"--gaps 0 50 --length 8 --texts 2 --record {path}".split()
    rows = study.main(command, gpt)
    assert [(row["way"], row["gap"]) for row in rows] == [
        (way, gap) for gap in (0, 50) for way in study.WAYS
    ]
    assert all(len(row["copy"]) == len(row["passage"]) == 2 for row in rows)
    record = json.loads(path.read_text())
    record["results"] = record["results"][:-1]
    path.write_text(json.dumps(record))
    assert study.main(command, gpt)[-1]["way"] == "yarn, factor 1"
    with pytest.raises(ConfigError, match="holds another study"):
        study.main([*command, "--factor", "2"], gpt)


def test_passages_come_from_different_places():
    ids = study.passages(3, 20)
    assert ids.shape == (3, 20)
    assert len({tuple(row) for row in ids.tolist()}) == 3


def test_losses_are_sorted_by_gap_whatever_the_order_of_the_record():
    rows = [{"way": "ntk", "gap": gap, "copy": [gap / 10, 1.0]} for gap in (30, 10, 20)]
    assert study.by_gap(rows) == ([10, 20, 30], {"ntk": [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]})
