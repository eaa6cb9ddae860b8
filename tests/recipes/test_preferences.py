import json
import math

import pytest
import torch
from torch.nn.functional import softplus

from lab.preference_optimization import (
    preference_family,
    preference_ppo,
    preference_rivals,
    preference_study,
    preference_world,
)
from mathlm.align import DPO, KTO, Annotator, answer_log_probabilities
from mathlm.align.exact import divergence, standard_world
from mathlm.errors import InputError


@pytest.fixture(scope="module")
def world():
    return standard_world()


@pytest.fixture(scope="module")
def pairs(world):
    return preference_world.draw_pairs(world, 500, 3)


def test_scores_are_those_that_the_model_gives_to_the_texts(world, pairs):
    model = world.reference()
    found = preference_world.scores(world, world.log_probabilities(model), pairs)
    for side, numbers in enumerate((pairs.chosen, pairs.rejected)):
        batch = world.batch(pairs.prompt, numbers)
        torch.testing.assert_close(found.logp[side], answer_log_probabilities(model, batch))
    assert (found.lengths == 3).all()


def test_the_better_text_is_preferred_as_often_as_bradley_and_terry_say(world):
    many = preference_world.draw_pairs(world, 20_000, 1)
    gap = many.of(world.rewards.double())
    right = (gap[0] > gap[1]).double().mean()
    expected = torch.sigmoid((gap[0] - gap[1]).abs()).mean()
    assert abs(right - expected) < 4 * math.sqrt(0.25 / len(many))


def test_measures_of_the_reference_and_of_the_optimum(world, pairs):
    best = world.optimum(0.5)
    at_start = preference_world.measures(world, world.logp_ref, 0.5, pairs)
    at_best = preference_world.measures(world, best.logp, 0.5, pairs)
    assert abs(at_start["held_out"] - math.log(2)) < 1e-6
    assert abs(at_best["value"] - float(best.value.mean())) < 1e-5
    assert abs(at_best["to_optimum"]) < 1e-5


def test_descent_on_all_pairs_ends_at_the_optimum(world):
    gap = world.rewards[:, :, None] - world.rewards[:, None, :]

    def loss(logp):
        hidden = 0.5 * (logp - world.logp_ref)
        return (2 * gap.sigmoid() * softplus(hidden[:, None, :] - hidden[:, :, None])).mean()

    model, _ = preference_world.tune(
        world, loss, steps=130, step_size=3e-3, measure=lambda logp: {}, final=0.0
    )
    with torch.no_grad():
        logp = world.log_probabilities(model)
    assert divergence(logp, world.optimum(0.5).logp).mean() < 0.02


def test_the_best_moment_is_the_one_with_the_least_surprise():
    rows = [
        {"step": 0, "held_out": 2.0},
        {"step": 5, "held_out": 1.0},
        {"step": 9, "held_out": 3},
    ]
    assert preference_world.best(rows)["step"] == 5


def test_losses_at_the_start_are_known_by_hand(world, pairs):
    logp = world.logp_ref
    dpo = preference_family.losses(DPO(beta=0.5), world, logp, pairs)
    kto = preference_family.losses(KTO(beta=0.5), world, logp, pairs)
    torch.testing.assert_close(dpo, torch.full_like(dpo, math.log(2)))
    torch.testing.assert_close(kto, torch.ones_like(kto))  # a half for each of the two texts


def test_every_method_of_the_family_starts_at_the_reference_and_moves(world, pairs):
    values = {}
    for name, (make, settings) in preference_family.METHODS.items():
        curve = preference_family.run(world, make(settings[0]), pairs, pairs, steps=3, every=3)
        assert curve[0]["kl"] < 1e-9
        values[name] = curve[-1]["value"]
    assert len(set(values.values())) == len(values)


def test_slips_reach_the_pairs_to_learn_from_and_to_stop_by():
    _, train, held_out = preference_family.problem(0, 4000, flip=0.5)
    world = standard_world(0)
    for part in (train, held_out):
        gap = part.of(world.rewards.double())
        assert abs((gap[0] > gap[1]).double().mean() - 0.5) < 0.1
    assert (len(train), len(held_out)) == (4000, 1000)


def test_a_reward_model_is_kept_where_held_out_pairs_surprise_it_least(world, pairs):
    rewards, curve = preference_rivals.fit_rewards(world, pairs, pairs, steps=3)
    gap = pairs.of(rewards.double())
    least = min(row["held_out"] for row in curve)
    assert abs(softplus(gap[1] - gap[0]).mean().item() - least) < 1e-6


def test_texts_are_every_prompt_with_every_completion(world):
    ids = preference_rivals.texts(world)
    assert ids.shape == (864, 4)
    assert ids[216 * 2 + 7].tolist() == [
        *world.prompts[2].tolist(),
        *world.completions[7].tolist(),
    ]


def test_the_study_writes_every_part(tmp_path):
    sizes = ["--number", "40", "--steps", "1", "--seeds", "1"]
    preference_study.main(["--record", str(tmp_path / "study.json"), *sizes])
    found = json.loads((tmp_path / "study.json").read_text())
    assert {"family", "flipped", "abundant", "rivals"} <= set(found)
    assert set(found["rivals"]) == {"40"}


def test_both_ways_start_at_the_reference_and_none_passes_the_optimum(tmp_path):
    sizes = ["--number", "400", "--steps", "5", "--iterations", "4"]
    (row,) = preference_ppo.main(["--record", str(tmp_path / "ppo.json"), *sizes])
    assert row["start"]["kl"] < 1e-6
    assert (
        max(row[way]["value"] for way in ("PPO", "DPO", "reward model"))
        <= row["truth"]["value"]
    )


def test_the_annotator_of_a_world_is_bradley_and_terrys():
    assert Annotator().probabilities(math.log(3)).tolist() == pytest.approx([0.75, 0, 0.25])


@pytest.mark.parametrize("every", [0, -1])
def test_what_is_never_measured_is_refused(world, every):
    with pytest.raises(InputError, match=f"every={every} must be at least 1"):
        preference_world.tune(
            world, torch.sum, steps=1, step_size=1e-3, measure=lambda logp: {}, every=every
        )
