"""Preference objectives in the trainer: what they sum, and that nothing else counts."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from align.toy_chats import END, V, model
from align.toy_pairs import PAIRS, batches, encoded, unpaired

from mathlm.align import (
    DPO,
    IPO,
    KTO,
    ORPO,
    BradleyTerry,
    Hinge,
    LengthNormalizedDPO,
    PairBatches,
    Reference,
    RobustDPO,
    SimPO,
    UnpairedBatches,
    answer_log_probabilities,
    dpo_loss,
    implicit_reward,
    pair_scores,
    preference_metrics,
    unpaired_metrics,
)
from mathlm.errors import CheckpointMismatchError, InputError, NonFiniteLossError
from mathlm.optim import AdamW
from mathlm.train import Trainer, TrainerConfig
from mathlm.train.objectives import split

LOG = math.log
ALL = {
    "dpo": DPO(),
    "conservative": DPO(label_smoothing=0.1),
    "robust": RobustDPO(),
    "ipo": IPO(beta=0.5),
    "ipo-per-token": IPO(beta=0.5, per_token=True),
    "hinge": Hinge(),
    "length-normalized": LengthNormalizedDPO(),
    "orpo": ORPO(),
    "simpo": SimPO(),
}
ONE, OTHER = model(n_layers=1), model(seed=1, n_layers=1)
EVERY = pytest.mark.parametrize("objective", ALL.values(), ids=list(ALL))


def whole(network, **options):
    """All pairs in one batch, compared with another model."""
    data = PairBatches(encoded(), 99, **options)
    return next(iter(data.with_reference(Reference(network))))


def trainer(data, objective, micro_batches=1, folder=None, steps=3, lr=0.01):
    network = model(dropout=0.2, n_layers=1)
    config = TrainerConfig(
        steps=steps, micro_batches=micro_batches, folder=folder, save_every=1, keep=None
    )
    optimizer = AdamW(network.parameters(), lr=lr)
    return Trainer(network, objective, data, optimizer, config)


def wider(batch, columns, pad_id=0):
    """The same pairs with more padding."""
    fills = {"ids": pad_id, "targets": -100}
    return batch | {
        name: torch.nn.functional.pad(x, (0, columns), value=fills[name.split("_")[1]])
        for name, x in batch.items()
        if name.endswith(("ids", "targets"))
    }


def loss_and_gradient(objective, network, batch):
    network.zero_grad()
    loss, count = objective(network, batch)
    loss.backward()
    return loss.detach(), count, torch.cat([p.grad.flatten() for p in network.parameters()])


def test_dpo_is_the_loss_of_four_log_probabilities():
    """Each side read alone, as a chat, by the function that the chapter on tuning tests."""
    policy, other = model(), model(seed=1)
    batch = whole(other)
    sides = [
        {"ids": batch[f"{name}_ids"], "targets": batch[f"{name}_targets"]}
        for name in ("chosen", "rejected")
    ]
    rewards = [
        implicit_reward(
            answer_log_probabilities(policy, rows), answer_log_probabilities(other, rows), 0.3
        )
        for rows in sides
    ]
    loss, count = DPO(beta=0.3)(policy, batch)
    assert count == len(PAIRS)
    torch.testing.assert_close(loss, dpo_loss(*rewards).sum(), rtol=0, atol=1e-12)


def halvings(model, batch, **_):
    """Log-probabilities that anybody can add up: token k has the probability 2⁻ᵏ."""
    return -LOG(2) * batch["targets"].clamp(min=0)


def rows(name, *targets):
    width = max(map(len, targets))
    filled = torch.tensor([[-100, *y, *[-100] * (width - len(y))] for y in targets])
    return {f"{name}ids": filled.clamp(min=0), f"{name}targets": filled}


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (DPO(beta=0.5), LOG(3 / 2)),
        (DPO(beta=0.5, label_smoothing=0.25), 3 / 4 * LOG(3 / 2) + 1 / 4 * LOG(3)),
        (LengthNormalizedDPO(beta=0.5), LOG(1 + 2**-0.75)),
        (
            LengthNormalizedDPO(beta=0.5, label_smoothing=0.25),
            3 / 4 * LOG(1 + 2**-0.75) + 1 / 4 * LOG(1 + 2**0.75),
        ),
        (RobustDPO(beta=0.5, flip=0.25), (3 / 4 * LOG(3 / 2) - 1 / 4 * LOG(3)) * 2),
        (IPO(beta=0.5), (LOG(4) - 1) ** 2),
        (IPO(beta=0.5, per_token=True), (3 / 4 * LOG(4) - 1) ** 2),
        (Hinge(beta=0.5), 1 - LOG(2)),
        (ORPO(weight=0.5), LOG(2) - 1 / 2 * LOG(3 / 4)),
        (SimPO(beta=2, gamma=LOG(4 / 3)), LOG(4 / 3)),
    ],
    ids=[
        "dpo",
        "conservative",
        "length-normalized",
        "length-normalized-conservative",
        "robust",
        "ipo",
        "ipo-per-token",
        "hinge",
        "orpo",
        "simpo",
    ],
)
def test_each_objective_on_one_pair_by_hand(objective, expected):
    """The pair of test_preference_losses: two tokens of 1/2 against four of 1/4.

    The reference gives them 1/64 and 1/1024; log-ratios log 16 and log 4, β = 1/2.
    """
    batch = rows("chosen_", [1, 1]) | rows("rejected_", [2, 2, 2, 2])
    batch |= {"chosen_logp_ref": torch.tensor([-LOG(64)])}
    batch |= {"rejected_logp_ref": torch.tensor([-LOG(1024)])}
    loss, count = replace(objective, read=halvings)(model(), batch)
    assert count == 1
    assert loss.item() == pytest.approx(expected, rel=1e-12)


def test_kto_of_two_answers_by_hand():
    """Rewards log 4 (good) and log 2, z₀ = 1/2 log 4: 2 (1 - 2/3) + 3 (1 - 1/2)."""
    batch = rows("", [1, 1], [2, 2, 2, 2]) | rows("kl_", [1, 1], [])
    batch |= {"logp_ref": torch.tensor([-LOG(64), -LOG(1024)])}
    batch |= {"kl_logp_ref": torch.tensor([-LOG(16), 0.0])}
    batch |= {"desirable": torch.tensor([True, False])}
    objective = KTO(read=halvings, beta=0.5, desirable_weight=2, undesirable_weight=3)
    loss, count = objective(model(), batch)
    assert count == 2
    assert loss.item() == pytest.approx(2 / 3 + 3 / 2, rel=1e-12)


def test_a_policy_that_is_its_reference_has_loss_log_2_although_it_drops_out():
    network = model(dropout=0.5).train()
    loss, count = DPO()(network, next(iter(batches(network))))
    assert (loss / count).item() == pytest.approx(0.6931471805599453, abs=1e-15)
    found = preference_metrics(network, batches(network, 2), 0.1)
    assert found["margin"] == pytest.approx(0, abs=1e-15)
    assert found["accuracy"] == 0.5


@EVERY
def test_neither_padding_nor_its_id_changes_loss_or_gradient(objective):
    """50 columns more, of any id; 1e-12."""
    network = model(position="rope", context=80)
    plain = loss_and_gradient(objective, network, whole(model(seed=1)))
    for pad_id in (0, END, V - 1):
        padded = wider(whole(model(seed=1), pad_id=pad_id), 50, pad_id)
        other = loss_and_gradient(objective, network, padded)
        assert other[1] == plain[1]
        for a, b in zip(other[::2], plain[::2], strict=True):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_no_two_objectives_are_one():
    network, batch = model(), whole(model(seed=1))
    values = sorted(objective(network, batch)[0].item() for objective in ALL.values())
    assert min(b - a for a, b in itertools.pairwise(values)) > 1e-3


@EVERY
def test_losses_add_up_over_the_parts_of_a_batch(objective):
    network, batch = model(n_layers=1), whole(model(seed=1, n_layers=1))
    loss, count = objective(network, batch)
    parts = [objective(network, part) for part in split(batch, len(PAIRS), 4)]
    assert sum(n for _, n in parts) == count == len(PAIRS)
    torch.testing.assert_close(sum(x for x, _ in parts), loss, rtol=1e-12, atol=1e-12)


def test_a_step_does_not_depend_on_how_it_is_cut():
    """One, two and four micro-batches of unequal padding; weights after two steps, 1e-12."""
    reference = Reference(model(seed=1, n_layers=1))
    data = PairBatches(encoded(), 5).with_reference(reference)
    runs = [trainer(data, DPO(), n, steps=2) for n in (1, 2, 4)]
    for run in runs:
        run.fit()
    for other in runs[1:]:
        assert other.history[-1]["loss"] == pytest.approx(
            runs[0].history[-1]["loss"], rel=1e-12
        )
        pairs = zip(runs[0].model.parameters(), other.model.parameters(), strict=True)
        assert all((a - b).abs().max() < 1e-12 for a, b in pairs)


@EVERY
def test_every_objective_makes_the_chosen_answers_win(objective):
    """Six steps; the gap of the log-probabilities widens."""
    network = model(n_layers=1)
    data = batches(network)
    before = pair_scores(network, data(0)).logp
    run = trainer(data, objective, steps=6, lr=0.05)
    run.fit()
    after = pair_scores(run.model, data(0)).logp
    gap = [(logp[0] - logp[1]).mean().item() for logp in (before, after)]
    assert gap[1] > gap[0] + 1


def test_a_run_is_resumed_bit_for_bit_and_with_its_own_reference_only(tmp_path):
    unbroken = trainer(batches(ONE, 2), DPO(), folder=tmp_path)
    unbroken.fit()
    again = trainer(batches(ONE, 2), DPO(), folder=tmp_path)
    assert again.resume(tmp_path / "step_000001") == 1
    again.fit()
    for a, b in zip(unbroken.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(CheckpointMismatchError, match="data_sha256"):
        trainer(batches(OTHER, 2), DPO(), folder=tmp_path).resume()
    with pytest.raises(CheckpointMismatchError, match=r"objective.beta was 0.1, is 0.2"):
        trainer(batches(ONE, 2), DPO(beta=0.2), folder=tmp_path).resume()


def test_metrics_are_the_means_that_they_say():
    """Against scores of all pairs at once, in batches of four and two."""
    policy, other, beta = model(), model(seed=1), 0.3
    data = PairBatches(encoded(), 4).with_reference(Reference(other))
    pairs = pair_scores(policy, whole(other))
    change = (pairs.logp - pairs.logp_ref).detach()
    margin = beta * (change[0] - change[1])
    logp, mean = pairs.logp.detach(), (pairs.logp / pairs.lengths).detach()
    expected = {
        "margin": margin.mean(),
        "margin_spread": margin.std(correction=0),
        "accuracy": (margin > 0).double().mean(),
    }
    for i, side in enumerate(("chosen", "rejected")):
        expected |= {f"{side}_logp": logp[i].mean(), f"{side}_change": change[i].mean()}
        expected |= {f"{side}_reward": beta * change[i].mean()}
        expected |= {f"{side}_logp_per_token": mean[i].mean()}
    found = preference_metrics(policy, data, beta)
    assert found == pytest.approx({k: v.item() for k, v in expected.items()}, abs=1e-12)


def test_displacement_is_seen_where_the_loss_falls():
    """Two answers of which the model knows nothing apart: both may become less likely."""
    logp = torch.tensor([[-5.0], [-9.0]])
    read = lambda model, batch, **_: logp.flatten()[:, None]  # noqa: E731
    batch = whole(model())
    one = {name: tensor[:1] for name, tensor in batch.items()}
    one |= {"chosen_logp_ref": torch.tensor([-4.0]), "rejected_logp_ref": torch.tensor([-4.0])}
    found = preference_metrics(model(), [one], 0.5, read=read)
    assert (found["chosen_change"], found["rejected_change"]) == (-1.0, -5.0)
    assert (found["margin"], found["accuracy"]) == (2.0, 1.0)


def test_a_margin_within_rounding_is_half_right():
    """Both sure; opposite changes; 1e-4 of 1000 nats and of 2: they count 1/2, 1, 1/2, 1."""
    logp = torch.tensor([[0.0, -1, -500, -1], [0.0, -3, -500, -1]])
    logp_ref = torch.tensor([[0.0, -2, -500 - 1e-4, -1 - 1e-4], [0.0, -2, -500, -1]])
    batch = rows("chosen_", *[[1]] * 4) | rows("rejected_", *[[1]] * 4)
    batch |= {"chosen_logp_ref": logp_ref[0], "rejected_logp_ref": logp_ref[1]}
    read = lambda model, batch: logp.flatten()[:, None]  # noqa: E731
    assert preference_metrics(ONE, [batch], 0.1, read=read)["accuracy"] == 3 / 4


def test_metrics_without_a_reference_leave_out_what_needs_one():
    found = preference_metrics(model(), PairBatches(encoded(), 4), 0.1)
    assert set(found) == {
        f"{side}_{name}"
        for side in ("chosen", "rejected")
        for name in ("logp", "logp_per_token")
    }


@pytest.mark.parametrize("name", ["dpo", "robust", "ipo", "hinge", "length-normalized"])
def test_a_loss_against_a_reference_needs_one(name):
    batch = PairBatches(encoded(), 2)(0)
    for one in ({}, {"chosen_logp_ref": torch.zeros(2)}):
        with pytest.raises(InputError, match="the batch has no chosen_logp_ref"):
            ALL[name](model(n_layers=1), batch | one)


def test_an_answer_without_a_token_is_refused():
    batch = whole(model())
    batch["rejected_targets"] = batch["rejected_targets"].clone()
    batch["rejected_targets"][2] = -100
    for objective in (IPO(), ORPO(), SimPO()):
        with pytest.raises(InputError, match="the rejected answer of row 2 has no token"):
            objective(model(), batch)


def test_there_is_nothing_to_measure_without_pairs():
    with pytest.raises(InputError, match="there are no pairs to measure"):
        preference_metrics(model(), [], 0.1)


def kto_batch(network, size=99):
    return UnpairedBatches(unpaired(), size).with_reference(Reference.of(network))


def test_kto_of_a_policy_that_is_its_reference_is_half_of_each_weight():
    network = model(dropout=0.5).train()
    objective = KTO(desirable_weight=1, undesirable_weight=3)
    loss, count = objective(network, next(iter(kto_batch(network))))
    assert count == 2 * len(PAIRS)
    assert (loss / count).item() == pytest.approx((0.5 + 1.5) / 2, abs=1e-12)


def test_the_reference_point_is_the_mean_over_texts_behind_other_prompts():
    policy, other = model(), model(seed=1)
    batch = next(iter(UnpairedBatches(unpaired(), 99).with_reference(Reference(other))))
    rows = {"ids": batch["kl_ids"], "targets": batch["kl_targets"]}
    mean = (answer_log_probabilities(policy, rows) - batch["kl_logp_ref"]).mean().item()
    found = KTO().reference_point(policy, batch)
    assert found.item() == pytest.approx(max(0.0, mean), abs=1e-12)
    assert not found.requires_grad


def test_texts_without_another_answer_do_not_count_in_the_reference_point():
    policy, other = model(seed=1), model()
    batch = next(iter(UnpairedBatches(unpaired(), 99).with_reference(Reference(other))))
    batch["kl_targets"] = batch["kl_targets"].clone()
    batch["kl_targets"][1:] = -100
    row = {"ids": batch["kl_ids"][:1], "targets": batch["kl_targets"][:1]}
    mean = (answer_log_probabilities(policy, row) - batch["kl_logp_ref"][:1]).item()
    assert KTO().reference_point(policy, batch).item() == pytest.approx(max(0.0, mean))
    batch["kl_targets"][0] = -100
    assert KTO().reference_point(policy, batch).item() == 0


def test_means_over_good_and_bad_answers_by_hand():
    """Changes log 16 (good), log 4 and 0 (bad), the last in a batch of its own; β = 1/2."""
    one = rows("", [1, 1], [2, 2, 2, 2])
    one |= {"logp_ref": torch.tensor([-LOG(64), -LOG(1024)])}
    one |= {"desirable": torch.tensor([True, False])}
    two = rows("", [1]) | {"logp_ref": torch.tensor([-LOG(2)])}
    two |= {"desirable": torch.tensor([False])}
    expected = {"chosen_change": LOG(16), "rejected_change": LOG(2)}
    expected |= {"chosen_reward": LOG(4), "rejected_reward": LOG(2) / 2}
    expected |= {"margin": LOG(4) - LOG(2) / 2}
    found = unpaired_metrics(model(), [one, two], 0.5, read=halvings)
    assert found == pytest.approx(expected, rel=1e-12)
    alone = unpaired_metrics(model(), [two], 0.5, read=halvings)
    assert alone == {"rejected_change": 0.0, "rejected_reward": 0.0}


def test_means_over_good_and_bad_answers_are_those_of_the_policy():
    """Against sums of all answers at once, in batches of five."""
    data = UnpairedBatches(unpaired(), 5).with_reference(Reference(OTHER))
    everything = next(iter(kto_batch(OTHER)))
    change = (answer_log_probabilities(ONE, everything) - everything["logp_ref"]).detach()
    good = everything["desirable"]
    found = unpaired_metrics(ONE, data, 0.1)
    assert found["chosen_change"] == pytest.approx(change[good].mean().item(), abs=1e-12)
    assert found["rejected_change"] == pytest.approx(change[~good].mean().item(), abs=1e-12)


def test_what_a_reference_said_is_brought_to_where_the_policy_is():
    """On a device without numbers, and so in a batch without rows."""
    none = torch.zeros(0, 1, dtype=torch.int64)
    batch = {"ids": none, "targets": none, "logp_ref": torch.zeros(0)}
    batch |= {"desirable": torch.zeros(0, dtype=torch.bool)}
    read = lambda model, batch: torch.zeros(0, 1, device="meta")  # noqa: E731
    assert unpaired_metrics(ONE, [batch], 0.1, read=read) == {}


def test_kto_makes_good_answers_more_likely_than_bad_ones():
    network = model(n_layers=1)
    run = trainer(kto_batch(network), KTO(), steps=6, lr=0.05)
    run.fit()
    after = preference_metrics(run.model, batches(network), 0.1)
    assert after["accuracy"] == 1.0


def test_kto_needs_a_reference():
    with pytest.raises(InputError, match="the batch has no logp_ref"):
        KTO()(model(), UnpairedBatches(unpaired(), 2)(0))


def test_a_price_that_is_none_is_refused_at_the_first_batch():
    with pytest.raises(InputError, match="beta=0 must be a positive, finite number"):
        DPO(beta=0)(model(), whole(model()))


@pytest.mark.parametrize("kind", ["pairs", "unpaired"])
def test_a_policy_that_became_its_own_reference_is_not_trained_in_silence(kind):
    """``Reference(policy)`` froze it; without that the margin would be 0 for ever."""
    network = model(n_layers=1)
    reference = Reference(network)
    rows = PairBatches(encoded(), 2) if kind == "pairs" else UnpairedBatches(unpaired(), 2)
    objective = DPO() if kind == "pairs" else KTO()
    optimizer = AdamW(network.parameters(), lr=0.01)
    data, config = rows.with_reference(reference), TrainerConfig(steps=1)
    with pytest.raises(InputError, match="was the policy passed as its own reference"):
        Trainer(network, objective, data, optimizer, config).fit()


def without(batch, *names):
    return {name: x for name, x in batch.items() if name not in names}


@pytest.mark.parametrize("name", ["chosen_ids", "rejected_targets"])
@pytest.mark.parametrize("objective", [DPO(), BradleyTerry()], ids=["dpo", "bradley-terry"])
def test_a_batch_that_is_not_of_pairs_is_told_what_it_lacks(objective, name):
    with pytest.raises(InputError, match=f"pairs needs {name}, and the batch has .*index"):
        objective(ONE, without(whole(OTHER), name))


@pytest.mark.parametrize(
    "name", ["targets", "desirable", "kl_ids", "kl_targets", "kl_logp_ref"]
)
def test_a_batch_that_is_not_of_unpaired_answers_is_told_what_it_lacks(name):
    data = UnpairedBatches(unpaired(), 4).with_reference(Reference(OTHER))
    with pytest.raises(InputError, match=f"KTO needs {name}, and the batch has"):
        KTO()(ONE, without(data(0), name))


@pytest.mark.parametrize("name", ["ids", "targets", "desirable"])
def test_unpaired_metrics_say_which_column_is_missing(name):
    data = UnpairedBatches(unpaired(), 4).with_reference(Reference(OTHER))
    with pytest.raises(InputError, match=f"unpaired_metrics needs {name}, and"):
        unpaired_metrics(ONE, [without(data(0), name)], 0.1)


def test_a_policy_that_gives_nan_stops_the_run_and_the_samples_are_named():
    data = PairBatches(encoded(), 5).with_reference(Reference(OTHER))
    run = trainer(data, DPO(), steps=1)
    with torch.no_grad():
        next(run.model.parameters()).fill_(math.nan)
    named = ", ".join(map(str, data(0)["index"].tolist()))
    with pytest.raises(NonFiniteLossError, match=rf"at step 1, .* \(samples {named}\)"):
        run.fit()


@pytest.mark.parametrize("kind", [PairBatches, UnpairedBatches])
def test_a_reference_that_gives_nan_is_refused_before_the_first_step(kind):
    broken = model(n_layers=1)
    with torch.no_grad():
        next(broken.parameters()).fill_(math.nan)
    data = kind(encoded() if kind is PairBatches else unpaired(), 5)
    with pytest.raises(InputError, match="under the reference of row 0 is nan"):
        data.with_reference(Reference(broken))
