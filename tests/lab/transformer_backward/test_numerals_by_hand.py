import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lab.transformer_backward import numerals_by_hand
from lab.transformer_backward.numerals_by_hand import LONG_RUN, ByHandConfig, greedy, train
from mathlm.errors import ConfigError
from mathlm.optim import noam
from mathlm.reference import Transformer, TransformerConfig

SHORT = ByHandConfig(high=60, held_out=5, d_model=16, steps=3, batch=4)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_numbers_that_it_never_saw_come_out_right():
    run = train(ByHandConfig(seed=1))
    assert run.accuracy >= 0.95
    assert_array_equal(run.right(run.held_out).mean(), run.accuracy)
    assert run.losses[-20:].mean() < 0.05 * run.losses[0]


def test_no_model_is_judged_by_what_it_has_seen(monkeypatch):
    seen = set()

    def watched(numbers, **languages):
        seen.update(map(int, numbers)) if len(numbers) == 4 else None
        return pairs(numbers, **languages)

    from mathlm.text import numerals

    pairs = numerals.pairs
    monkeypatch.setattr(numerals, "pairs", watched)
    run = train(replace(SHORT, steps=30))
    assert len(run.held_out) == 5
    assert len(seen) > 40
    assert not seen & set(run.held_out.tolist())


def test_rates_are_those_of_the_schedule_times_the_scale():
    run = train(replace(SHORT, warmup=2, scale=0.25))
    assert_allclose(run.rates, [0.25 * noam(16, 2)(step) for step in range(3)], rtol=1e-14)
    assert run.losses.shape == (3,)


def test_the_same_seed_is_the_same_run_and_dropout_another():
    one, two, dropped = (train(replace(SHORT, dropout=rate)) for rate in (0.0, 0.0, 0.2))
    assert_array_equal(one.losses, two.losses)
    assert (one.losses != dropped.losses).all()


def test_label_smoothing_raises_the_loss_of_the_first_step():
    plain, smooth = (train(replace(SHORT, label_smoothing=e)).losses[0] for e in (0.0, 0.9))
    assert plain != smooth


def test_greedy_takes_the_likeliest_word_and_stops_at_the_context(rng):
    """Against logits of the finished rows, read at once."""
    sizes = {"vocab_size": 9, "context": 6, "d_model": 8, "n_layers": 1, "n_heads": 2}
    model = Transformer(TransformerConfig(**sizes), rng)
    source = np.array([[3, 4, 0], [5, 6, 7]])
    ids = greedy(model, source)
    assert ids.shape[1] <= 6
    assert_array_equal(ids[:, 0], 1)
    logits, _ = model.logits(source, ids[:, :-1], source != 0)
    assert_array_equal(ids[:, 1:], logits.argmax(-1))


@pytest.mark.parametrize(
    "change", [{"steps": 0}, {"batch": 0}, {"scale": 0}, {"scale": float("nan")}]
)
def test_settings_that_do_not_fit_are_refused(change):
    with pytest.raises(ConfigError, match="need steps >= 1, batch >= 1 and a positive scale"):
        replace(SHORT, **change)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("seed", [0, 2])
def test_most_mistakes_of_the_long_run_are_small_numbers(seed):
    run = train(replace(LONG_RUN, seed=seed))
    wrong = run.held_out[~run.right(run.held_out)]
    assert run.accuracy > 0.94
    assert (wrong < 100).mean() > 0.5


def test_command_line_trains_with_each_seed_and_writes_a_record(monkeypatch, tmp_path):
    monkeypatch.setattr(numerals_by_hand, "LONG_RUN", SHORT)
    path = tmp_path / "record.json"
    rows = numerals_by_hand.main(["--steps", "2", "--seeds", "2", "--record", str(path)])
    recorded = json.loads(path.read_text())
    assert recorded["config"]["steps"] == 2
    runs = recorded["results"]["runs"]
    assert [run["seed"] for run in runs] == [0, 1]
    assert [run["wrong"] for run in runs] == [row["wrong"].tolist() for row in rows]
    assert all(len(run["wrong"]) == 5 - round(5 * run["accuracy"]) for run in runs)
    assert runs[0]["last"] != runs[1]["last"]
