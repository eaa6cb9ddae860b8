"""A reward is read at the last real token, and several rewards disagree."""

import pytest
import torch

from mathlm.adapt import add_lora, merge_lora, trainable, use_adapter
from mathlm.align import (
    RewardEnsemble,
    RewardModel,
    bradley_terry_loss,
    cautious_reward,
    ensemble_std,
    worst_case,
)
from mathlm.errors import (
    CheckpointError,
    CheckpointMismatchError,
    ConfigError,
    InputError,
    InputTypeError,
)
from mathlm.models import GPT, GPTConfig

V = 11
TEXTS = [[3, 1, 4, 1, 5], [9], [2, 6, 0, 5, 3, 0], [0, 0]]  # 0 is also the usual pad id
POSITIONS = ["rope", "learned", "alibi", "none"]


def body(seed=0, **choices):
    torch.manual_seed(seed)
    sizes = {"d_model": 16, "n_layers": 2, "n_heads": 2, "context": 16}
    model = GPT(GPTConfig(vocab_size=V, **(sizes | {"position": "rope"} | choices)))
    for p in model.parameters():
        p.data.mul_(5)  # uneven enough that each token matters
    return model.eval()


def reward_model(seed=0, **choices):
    return RewardModel(body(seed, **choices), std=1.0, seed=seed)


def padded(texts, side="right", extra=0, pad=0):
    width = max(map(len, texts)) + extra
    ids, mask = torch.full((len(texts), width), pad), torch.zeros(len(texts), width).bool()
    for i, text in enumerate(texts):
        where = slice(0, len(text)) if side == "right" else slice(width - len(text), width)
        ids[i, where], mask[i, where] = torch.tensor(text), True
    return ids, mask


def alone(model):
    return torch.cat([model(torch.tensor([text])) for text in TEXTS])


@pytest.mark.parametrize("position", POSITIONS)
def test_padding_changes_no_reward(position):
    """Its side, its amount and its id, and the same id inside a text: none is seen."""
    model = reward_model(position=position)
    expected = alone(model)
    for side in ("left", "right"):
        for extra in (0, 1, 7):
            for pad in (0, 5, 9):
                found = model(*padded(TEXTS, side, extra, pad))
                torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_each_token_of_a_text_is_seen_and_the_last_one_too():
    model = reward_model()
    text = torch.tensor([[3, 1, 4, 1, 5]])
    for i in range(5):
        other = text.clone()
        other[0, i] = 8
        assert (model(other) - model(text)).abs() > 1e-6


def test_the_reward_is_the_head_at_the_last_real_position():
    model = reward_model()
    ids, mask = padded(TEXTS)
    hidden = model.body.hidden(ids, mask)
    rows = [hidden[i, len(text) - 1] for i, text in enumerate(TEXTS)]
    expected = torch.stack(rows) @ model.head.weight[0]
    torch.testing.assert_close(model(ids, mask), expected, rtol=0, atol=1e-12)


def test_a_row_of_padding_is_an_error_that_names_it():
    ids, mask = padded(TEXTS)
    mask[2] = False
    with pytest.raises(InputError, match="row 2 is all padding"):
        reward_model()(ids, mask)


def test_a_mask_that_does_not_fit_is_refused(unchecked):
    ids, mask = padded(TEXTS)
    with pytest.raises(InputError, match=r"mask \(4, 5\) must have the shape of ids \(4, 6\)"):
        reward_model()(ids, mask[:, 1:])
    with pytest.raises(InputTypeError, match="mask must be bool"):
        reward_model()(ids, mask.long())


def test_at_the_start_all_texts_are_worth_the_same():
    model = RewardModel(body())
    rewards = model(*padded(TEXTS))
    assert rewards.tolist() == [0.0] * 4
    loss = bradley_terry_loss(rewards[:2], rewards[2:])
    assert loss.tolist() == pytest.approx([0.6931471805599453] * 2, abs=1e-15)


def test_the_head_is_drawn_by_its_seed():
    heads = [RewardModel(body(), std=1.0, seed=s).head.weight for s in (1, 1, 2)]
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])


def test_what_cannot_be_a_reward_model_is_refused(unchecked):
    with pytest.raises(ConfigError, match="std=-1"):
        RewardModel(body(), std=-1)
    with pytest.raises(InputTypeError, match="body is a RewardModel; expected a GPT"):
        RewardModel(reward_model())


def test_centring_moves_all_rewards_alike():
    model = reward_model()
    before = model(*padded(TEXTS)).detach()
    model.centre(before)
    torch.testing.assert_close(model(*padded(TEXTS)), before - before.mean())
    model.centre(model(*padded(TEXTS)).detach())
    assert model(*padded(TEXTS)).mean().abs() < 1e-12


def test_what_is_saved_rewards_alike(tmp_path):
    model = reward_model(norm="rms", activation="swiglu", bias=False)
    model.centre(torch.tensor([2.5]))
    model.save(tmp_path / "reward")
    loaded = RewardModel.load(tmp_path / "reward", dtype=torch.float64)
    assert torch.equal(loaded(*padded(TEXTS)), model(*padded(TEXTS)))
    with pytest.raises(CheckpointError, match="is there already"):
        model.save(tmp_path / "reward")


def test_a_folder_without_a_head_or_with_another_is_refused(tmp_path):
    model = reward_model(norm="rms", activation="swiglu", bias=False)
    model.save(tmp_path)
    other = RewardModel(body(d_model=32))
    with pytest.raises(CheckpointMismatchError, match=r"weight \(1,16\) ≠ \(1,32\)"):
        other.load_head(tmp_path)
    (tmp_path / "reward_head.safetensors").unlink()
    with pytest.raises(CheckpointMismatchError, match="holds no reward_head"):
        RewardModel.load(tmp_path)


def test_low_rank_updates_of_the_body_learn_and_can_be_merged():
    model = reward_model()
    add_lora(model.body, rank=2, seed=0)
    model.head.requires_grad_(True)
    ids, mask = padded(TEXTS)
    before = model(ids, mask).detach()
    step = torch.optim.SGD([*trainable(model).values()], lr=0.1)
    bradley_terry_loss(*model(ids, mask).view(2, 2)).sum().backward()
    step.step()
    after = model(ids, mask).detach()
    assert (after - before).abs().min() > 1e-6
    merge_lora(model.body)
    torch.testing.assert_close(model(ids, mask), after, rtol=1e-10, atol=1e-12)


def test_without_its_update_the_body_is_the_base():
    model = reward_model()
    ids, mask = padded(TEXTS)
    before = model(ids, mask).detach()
    add_lora(model.body, rank=2, seed=0)
    for name, p in model.named_parameters():
        if name.endswith("B.default"):
            p.data.fill_(0.3)
    assert (model(ids, mask) - before).abs().max() > 1e-6
    use_adapter(model.body, None)
    assert torch.equal(model(ids, mask), before)


def test_an_ensemble_is_the_mean_of_its_members():
    members = [reward_model(seed) for seed in range(3)]
    ensemble, (ids, mask) = RewardEnsemble(members), padded(TEXTS)
    each = torch.stack([m(ids, mask) for m in members])
    assert torch.equal(ensemble.members(ids, mask), each)
    torch.testing.assert_close(ensemble(ids, mask), each.sum(0) / 3)


def test_what_disagreement_costs_by_hand():
    """Members 1, 2, 6: mean 3, squared distances 4 + 1 + 9 = 14 over 2."""
    members = torch.tensor([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])
    std = 7.0**0.5
    assert ensemble_std(members).tolist() == pytest.approx([std, 0.0])
    assert worst_case(members).tolist() == [1.0, 5.0]
    assert cautious_reward(members, 0.5).tolist() == pytest.approx([3 - std / 2, 5.0])


def test_one_model_does_not_disagree():
    with pytest.raises(ConfigError, match="two or more"):
        RewardEnsemble([reward_model()])
    with pytest.raises(InputError, match="needs 2 or more"):
        ensemble_std(torch.zeros(1, 4))
    with pytest.raises(InputError, match="disagreement would be sought"):
        cautious_reward(torch.zeros(2, 4), -1.0)
