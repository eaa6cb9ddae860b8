"""DPO, the linear reward and GRPO on a small model."""

import copy

import numpy as np
import pytest
import torch

from lab.tuning_smollm2 import training
from lab.tuning_smollm2.pairs import prompt_ids
from mathlm import adapt
from mathlm.align import PairBatches, Reference, rollout_batch
from mathlm.align.preference.data import encode_pairs
from mathlm.text import Message
from mathlm.text.corpora.preferences import Preference
from mathlm.train.objectives import IGNORED

PROMPTS = [f"Number {i}?" for i in range(6)]


def encoded(chat_model):
    sides = {"chosen": "aaaaaaaa", "rejected": "zz"}
    made = [Preference(prompt=(Message("user", p),), **sides) for p in PROMPTS]
    return encode_pairs(made, chat_model.format, chat_model.tokenizer, 96)


def test_only_the_update_of_the_last_blocks_is_trained(small):
    model = small().model
    training.add_update(model, "tuned", 0, last=2)
    names = set(adapt.trainable(model))
    assert {name.split(".")[1] for name in names} == {"1", "2"}
    assert len(names) == 2 * 7 * 2  # blocks, matrices, A and B


def test_dpo_tells_the_pairs_apart_and_leaves_the_base_alone(small):
    chat_model, steps = small(), []
    model, before = chat_model.model, copy.deepcopy(chat_model.model.state_dict())
    pairs = PairBatches(encoded(chat_model), 3).with_reference(Reference(model))
    training.add_update(model, "tuned", 0, last=2)
    training.tune_dpo(model, pairs, 3e-2, 30, steps.append)
    assert len(steps) == 60
    assert steps[0]["loss"] == pytest.approx(np.log(2), abs=1e-4)
    assert steps[-1]["loss"] < 0.3
    assert steps[-1]["accuracy"] == 1
    assert steps[-1]["chosen"] > steps[-1]["rejected"] + 5
    adapt.use_adapter(model, None)
    adapt.remove_adapter(model, "tuned")
    assert all(torch.equal(x, before[name]) for name, x in model.state_dict().items())


def test_features_are_means_over_the_answer_alone(small):
    chat_model = small()
    chats = encoded(chat_model).chosen[:3]
    found = training.features(chat_model.model, chats, at_once=2)
    chat = chats[1]
    hidden = chat_model.model.hidden(torch.from_numpy(chat.ids)[None])[0]
    asked = torch.from_numpy(chat.mask.astype(bool)).roll(-1)  # read one token before it
    asked[-1] = False
    wanted = hidden[asked].mean(0).detach()
    np.testing.assert_allclose(found[1], wanted, atol=1e-5)


def test_the_reward_prefers_what_was_chosen(small):
    chat_model = small()
    pairs = encoded(chat_model)
    found = training.fit_reward(chat_model.model, pairs, ridge=1.0)
    assert (found["margins"] > 0).all()
    x = training.features(chat_model.model, pairs.chosen + pairs.rejected)
    rewards = (x - found["center"]) @ found["weights"]
    np.testing.assert_allclose(rewards[:6] - rewards[6:], found["margins"], atol=1e-8)


def test_one_step_of_grpo_raises_what_has_an_advantage(small):
    chat_model = small()
    model = chat_model.model.requires_grad_(False)
    reference = Reference.of(model)
    training.add_update(model, "tuned", 0, last=2)
    asked = prompt_ids(chat_model, PROMPTS[:4])
    answers = [torch.tensor([65 + i] * (3 + i)) for i in range(4)]
    batch = rollout_batch(asked, answers)
    optimizer = torch.optim.SGD(adapt.trainable(model).values(), lr=0.0)
    gain = torch.tensor([1.0, -1.0, 1.0, -1.0])
    parts = (model, reference, batch, gain, optimizer)
    assert training.grpo_step(*parts, 5.0, 0.0, at_once=3) == pytest.approx(0, abs=1e-6)
    moved = training.target_log_probabilities(model, batch).sum(1)
    moved = moved - reference.log_probabilities(batch).sum(1)
    lengths = (batch["targets"] != IGNORED).sum(1)
    assert (gain * moved / lengths).sum() > 0.01  # what the loss is a sum of
    kl = training.grpo_step(*parts, 0.0, 0.0)
    asked_for = batch["targets"] != IGNORED
    logp = training.target_log_probabilities(model, batch, temperature=0.7)
    logp_ref = reference.log_probabilities(batch, temperature=0.7)
    assert kl == pytest.approx((logp - logp_ref)[asked_for].mean().item(), abs=1e-5)


def test_grpo_goes_where_the_reward_is(small):
    chat_model, steps = small(), []
    reference = Reference.of(chat_model.model.requires_grad_(False))
    training.add_update(chat_model.model, "tuned", 0, last=3)

    def low_ids(batch):
        asked = batch["targets"] != IGNORED
        return ((batch["targets"] < 100) & asked).sum(1) / asked.sum(1)

    training.tune_grpo(
        chat_model, reference, low_ids, PROMPTS * 4, lr=3e-2, iterations=12, group=8,
        new_tokens=6, seed=0, log=steps.append, beta=0.0,
    )  # fmt: skip
    rewards = [step["reward"] for step in steps]
    assert np.mean(rewards[-3:]) > np.mean(rewards[:3]) + 0.1
    assert steps[-1]["judged"] == 16
    assert steps[-1]["kl"] > 0


def test_a_part_of_an_adapter_is_a_part_of_its_update(small, tmp_path):
    model = small().model
    training.add_update(model, "tuned", 0, last=1)
    for p in adapt.trainable(model).values():
        torch.nn.init.normal_(p)
    layer = model.blocks[2].attention.W_q
    base = layer.base.weight.detach().clone()
    whole = layer.weights().detach() - base
    adapt.save_adapter(model, tmp_path / "a", "tuned")
    training.load_part(model, str(tmp_path / "a"), "share", 0.5)
    torch.testing.assert_close(layer.weights().detach() - base, 0.5 * whole)
    adapt.use_adapter(model, "tuned")
    torch.testing.assert_close(layer.weights().detach() - base, whole)


def test_a_fitted_reward_ranks_its_pairs_and_its_opposite_none(small):
    chat_model = small()
    pairs = encoded(chat_model)
    weights = training.fit_reward(chat_model.model, pairs, 1.0)["weights"]
    assert training.ranked(chat_model.model, pairs, weights) == len(PROMPTS)
    assert training.ranked(chat_model.model, pairs, -weights) == 0
