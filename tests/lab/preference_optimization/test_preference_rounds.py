import json
import math

import pytest
import torch

from lab.preference_optimization import preference_rounds
from lab.preference_optimization.preference_rounds import Rounds, in_rounds
from mathlm.align.exact import standard_world
from mathlm.errors import InputError


@pytest.fixture(scope="module")
def world():
    return standard_world()


def test_rounds_draw_what_the_policy_writes_and_hold_a_fifth_out(world):
    asked = Rounds(world, 200, 10, 2, 0)
    only = torch.full_like(world.logp_ref, -40.0)
    only[:, :2] = math.log(0.5)  # this policy writes two completions
    for step in range(10):
        asked.look(step, world.logp_ref if step < 5 else only)
    assert [len(p) for p in asked.train] == [80, 80]
    assert [len(p) for p in asked.held_out] == [20, 20]
    assert asked.train[0].chosen.max() > 1 >= asked.train[1].chosen.max()


def test_the_expected_loss_is_the_mean_over_pairs_by_hand(world):
    logp = world.logp_ref + torch.randn(world.logp_ref.shape, generator=torch.manual_seed(0))
    r, total = world.rewards, 0.0
    hidden = 0.5 * (logp - world.logp_ref)
    for y in range(0, 216):
        p = torch.sigmoid(r[:, y, None] - r)
        margin = hidden[:, y, None] - hidden
        total -= (p * margin.sigmoid().log() + (1 - p) * (-margin).sigmoid().log()).sum()
    found = preference_rounds.expected_dpo(world)(logp)
    torch.testing.assert_close(found, total / (4 * 216**2), rtol=1e-5, atol=1e-6)


def test_offline_dpo_gains_and_asks_only_once(world):
    found = in_rounds(
        world, number=2000, steps=30, rounds=1, keep=True, step_size=1e-3, seed=0, every=10
    )
    start = float(world.objective(world.logp_ref, 0.5).mean())
    assert found["stopped"]["value"] > start + 0.1
    assert found["stopped"]["held_out"] <= found["end"]["held_out"]


@pytest.mark.parametrize(
    ("number", "steps", "rounds"), [(100, 10, 3), (101, 10, 2), (100, 9, 2)]
)
def test_rounds_that_do_not_divide_are_refused(world, number, steps, rounds):
    with pytest.raises(InputError, match=f"rounds={rounds} must divide steps={steps}"):
        Rounds(world, number, steps, rounds, 0)


def test_the_study_writes_both_parts_and_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(preference_rounds, "WAYS", {"offline": (1, True), "online": (2, False)})
    monkeypatch.setattr(preference_rounds, "STEP_SIZES", (1e-3,))
    path = tmp_path / "rounds.json"
    sizes = ["--number", "20", "--steps", "2", "--exact-steps", "2", "--seeds", "1"]
    preference_rounds.main(["--record", str(path), *sizes])
    found = json.loads(path.read_text())
    assert [row["way"] for row in found["rounds"]] == ["offline", "online"]
    assert [row["rate"] for row in found["exact"]] == 2 * ["constant"] + 2 * ["decayed"]
    preference_rounds.main(["--record", str(path), *sizes])
    again = json.loads(path.read_text())
    assert (again["rounds"], again["exact"]) == (found["rounds"], found["exact"])
