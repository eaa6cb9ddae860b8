"""A reference: another model than the policy, and the same one ever after."""

import pytest
import torch
from align.toy_chats import CHATS, encoded, model
from align.toy_pairs import batches

from mathlm.adapt import adapter_names, add_lora, add_prefix, use_adapter
from mathlm.align import DPO, ChatBatches, Reference, require_other
from mathlm.align import target_log_probabilities as read
from mathlm.errors import InputError, InputTypeError
from mathlm.optim import AdamW
from mathlm.train import Trainer, TrainerConfig


def batch():
    return next(iter(ChatBatches(encoded(CHATS), 99, packed=False)))


def trained(network, data, steps=3):
    parameters = [p for p in network.parameters() if p.requires_grad]
    config = TrainerConfig(steps=steps)
    Trainer(network, DPO(), data, AdamW(parameters, lr=0.05), config).fit()
    return network


def test_its_temperature_divides_the_logits():
    reference = Reference(model(n_layers=1))
    found = reference.log_probabilities(batch(), temperature=2.0)
    assert torch.equal(found, read(reference.model, batch(), temperature=2.0))
    assert (found - reference.log_probabilities(batch())).abs().max() > 0.01


def lora(**options):
    return add_lora(model(**options), 2, targets="all-linear", seed=1)


def prefixed():
    return add_prefix(model(), 2, seed=1)


@pytest.mark.parametrize("make", [model, lora, prefixed])
def test_it_says_what_the_policy_said_before_it_was_trained(make):
    policy = make()
    before = read(policy, batch()).detach()
    reference = Reference.of(policy)
    sha256 = reference.sha256
    trained(policy, batches(policy))
    assert torch.equal(reference.log_probabilities(batch()), before)
    assert reference.sha256 == sha256
    assert (read(policy, batch()) - before).abs().max() > 1e-3


def test_a_reference_of_low_rank_updates_shares_the_base():
    """Only what is trained is copied; the base stands in memory once."""
    policy = lora()
    reference = Reference.of(policy)
    own = {p.data_ptr() for p in policy.parameters()}
    copied = [p for p in reference.model.parameters() if p.data_ptr() not in own]
    assert sum(p.numel() for p in copied) == sum(
        p.numel() for p in policy.parameters() if p.requires_grad
    )
    use_adapter(reference.model, None)
    assert adapter_names(policy) == ["default"]
    assert all(p.requires_grad for n, p in policy.named_parameters() if ".A." in n)


def test_an_update_that_was_trained_before_is_part_of_the_reference():
    """Preferences on top of a tuned adapter: the base alone would be another model."""
    policy = lora()
    trained(policy, batches(policy))
    expected = read(policy, batch()).detach()
    assert torch.equal(Reference.of(policy).log_probabilities(batch()), expected)


def test_a_base_with_its_update_off_is_a_reference_too():
    """It shares frozen weights only, and says what the model said without the update."""
    policy = lora()
    base = use_adapter(Reference.of(policy).model, None)
    reference = Reference(base, policy=policy)
    torch.testing.assert_close(
        reference.log_probabilities(batch()), read(model(), batch()), rtol=0, atol=1e-12
    )


def test_a_policy_is_not_its_own_reference():
    policy = model()
    with pytest.raises(InputError, match="policy passed as its own reference"):
        Reference(policy, policy=policy)
    assert all(p.requires_grad for p in policy.parameters())
    with pytest.raises(InputError, match="policy passed as its own reference"):
        require_other(policy, Reference(policy))


@pytest.mark.parametrize("share", ["parameter", "storage"])
def test_a_reference_that_would_be_trained_is_refused(share):
    policy, other = model(), model(seed=1)
    if share == "parameter":
        other.token_embedding = policy.token_embedding
    else:
        other.token_embedding.weight.data = policy.token_embedding.weight.data
    with pytest.raises(InputError, match=r"token_embedding.weight of the policy is trained"):
        Reference(other, policy=policy)


def test_a_frozen_part_may_be_shared():
    policy, other = model(), model(seed=1)
    policy.final_norm.requires_grad_(False)
    other.final_norm = policy.final_norm
    require_other(policy, Reference(other, policy=policy))


def test_it_is_frozen_without_dropout_and_without_gradient():
    reference = Reference(model(dropout=0.5).train())
    found = [reference.log_probabilities(batch()) for _ in range(2)]
    assert torch.equal(found[0], found[1])
    assert not found[0].requires_grad
    assert not any(p.requires_grad for p in reference.model.parameters())
    assert not any(module.training for module in reference.model.modules())


def test_another_weight_is_another_hash():
    reference = Reference(model())
    before = reference.sha256
    reference.model.head.weight.data[0, 0] += 1e-9
    assert reference.sha256 != before
    assert Reference(model()).sha256 == before


@pytest.mark.usefixtures("unchecked")
def test_a_model_in_place_of_a_reference_is_refused():
    with pytest.raises(InputTypeError, match="the reference is a GPT: give"):
        batches(model()).with_reference(model())
