import json
import math

import numpy as np
import pytest
import torch

from lab.positional_encoding import position_study as study
from mathlm.errors import ConfigError
from mathlm.functional import RopeScaling
from mathlm.models import GPT, GPTConfig

IDS = np.random.default_rng(0).integers(97, 101, 4000).astype(np.uint8)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Trained on 8 bytes, read on 64."""
    torch.set_default_dtype(torch.float32)
    changes = {"TRAINED": 8, "LONGEST": 64, "BIN": 4}
    changes["SIZES"] = study.SIZES | {"d_model": 16, "n_layers": 1, "n_heads": 2}
    for name, value in changes.items():
        monkeypatch.setattr(study, name, value)


def model(scheme, **changes):
    return GPT(GPTConfig(position=scheme, context=8, **study.SIZES | changes)).eval()


@pytest.mark.parametrize("scheme", study.SCHEMES)
def test_training_learns_that_four_letters_occur(scheme):
    """Four letters, all alike: ln 4 instead of ln 256."""
    trained = study.train(scheme, IDS, 60, seed=0, peak=1e-2)
    losses = study.loss_by_position(trained, IDS, 8, 50)
    assert trained.config.position == scheme
    assert losses.shape == (8,)
    assert losses.mean().item() == pytest.approx(math.log(4), abs=0.15)


def test_the_loss_at_a_position_is_a_mean_over_windows():
    gpt = model("rope")
    starts = [0, 1967, 3935]  # evenly from the first byte to the last place with 65 bytes
    rows = torch.from_numpy(np.stack([IDS[s : s + 9] for s in starts]).astype(np.int64))
    logp = gpt(rows[:, :-1]).log_softmax(-1)
    expected = -logp.gather(-1, rows[:, 1:, None]).squeeze(-1).mean(0)
    torch.testing.assert_close(study.loss_by_position(gpt, IDS, 8, 3), expected)


def test_a_longer_model_reads_the_trained_length_as_before():
    for scheme in ("none", "sinusoidal", "rope", "alibi", "relative"):
        gpt, ids = model(scheme), torch.randint(256, (1, 8))
        torch.testing.assert_close(study.longer(gpt, 64)(ids), gpt(ids))


def test_rope_is_read_in_four_ways_and_learned_positions_up_to_the_trained_length():
    assert list(study.readings(model("rope"))) == ["rope"] + [
        f"rope, {kind}" for kind in ("linear", "ntk", "yarn")
    ]
    contexts = {s: study.readings(model(s))[s].config.context for s in ("learned", "none")}
    assert contexts == {"learned": 8, "none": 64}
    with pytest.raises(ConfigError, match="learned positions end with the context 8"):
        study.longer(model("learned"), 9)


def test_linear_scaling_reads_every_position_at_a_fraction_of_it():
    gpt, ids = model("rope"), torch.randint(256, (1, 8))
    scaled = study.longer(gpt, 64, RopeScaling(kind="linear", factor=8))
    torch.testing.assert_close(scaled(ids, positions=8 * torch.arange(8)), gpt(ids))


def test_the_record_holds_every_reading_and_keeps_finished_runs(tmp_path):
    path = tmp_path / "record.json"
    command = f"--steps 2 --seeds 1 --windows 2 --record {path}".split()
    lengths = {row["scheme"]: len(row["loss"]) for row in study.main(command)}
    assert lengths == dict.fromkeys(lengths, 16) | {"learned": 2}
    record = json.loads(path.read_text())
    record["results"] = kept = [r for r in record["results"] if r["scheme"] != "alibi"]
    path.write_text(json.dumps(record))
    again = study.main(command)
    assert (again[:-1], again[-1]["scheme"]) == (kept, "alibi")


def test_the_record_of_another_study_is_refused(tmp_path):
    path = tmp_path / "record.json"
    path.write_text(json.dumps({"config": {"steps": 3}, "results": []}))
    with pytest.raises(ConfigError, match=r"record\.json holds another study: {'steps': 3}"):
        study.main(["--record", str(path)])


def test_octaves_are_means_over_bins_in_bits_and_end_with_the_scheme():
    config = {"bin": 4, "longest": 32}
    nats = np.log(2) * np.arange(8)  # bits 0 ... 7 in bins of 4 bytes
    rows = [{"scheme": "rope", "loss": nats}, {"scheme": "rope", "loss": nats + np.log(2)}]
    rows.append({"scheme": "learned", "loss": nats[:4]})
    record = {"config": config, "results": rows}
    centers, losses = study.by_position(record)
    assert centers.tolist() == [2, 6, 10, 14, 18, 22, 26, 30]
    assert {scheme: x.shape for scheme, x in losses.items()} == {
        "rope": (2, 8),
        "learned": (1, 4),
    }
    found = study.octaves(record, first=8)
    np.testing.assert_allclose(found["rope"], [[2.5, 5.5], [3.5, 6.5]])
    np.testing.assert_allclose(found["learned"], [[2.5, np.nan]])
