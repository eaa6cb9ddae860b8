"""Log-probabilities of what is asked, whatever the batch, the mode and the head."""

from functools import partial

import pytest
import torch
from align.toy_chats import CHATS, V, chat, encoded, model

from mathlm.adapt import add_lora, add_prefix, add_prompt
from mathlm.align import ChatBatches, answer_logits, target_log_probabilities
from mathlm.errors import InputError
from mathlm.models import GPT


def batch(conversations=CHATS, **options):
    return next(iter(ChatBatches(encoded(conversations), 99, packed=False, **options)))


def of_all_logits(network, data, temperature=1.0):
    """The same from the logits of every place, gathered."""
    with torch.no_grad():
        logp = (network.eval()(data["ids"]) / temperature).log_softmax(-1)
    targets = data["targets"]
    taken = logp.gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    return taken.where(targets >= 0, 0.0)


@pytest.mark.parametrize("temperature", [0.5, 1, 2.0])
@pytest.mark.parametrize("position", ["rope", "learned"])
def test_they_are_the_log_softmax_of_the_logits_divided(temperature, position):
    network, data = model(position=position), batch()
    found = target_log_probabilities(network, data, temperature=temperature)
    expected = of_all_logits(network, data, temperature)
    torch.testing.assert_close(found.detach(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"position": "alibi"},
        {"position": "sinusoidal"},
        {"position": "none"},
        {"window": 3},
        {"n_kv_heads": 1, "qk_norm": True, "norm": "rms"},
    ],
    ids=str,
)
def test_they_are_the_same_for_other_kinds_of_models(options):
    """Rows that begin alike, with a prompt that is longer than a window."""
    network = model(**options)
    data = batch([*CHATS, chat("abcdef", "gc"), chat("abcdef", "gh", "a", "b")])
    found = target_log_probabilities(network, data).detach()
    torch.testing.assert_close(found, of_all_logits(network, data), rtol=0, atol=1e-12)


def test_dividing_log_probabilities_is_another_number():
    """The mistake that the temperature's place invites; it is off by more than rounding."""
    network, data = model(), batch()
    wrong = target_log_probabilities(network, data) / 2.0
    right = target_log_probabilities(network, data, temperature=2.0)
    assert (wrong - right).abs().max() > 0.1


def test_a_ragged_batch_gives_what_each_row_gives_alone():
    network = model(position="learned")
    together = target_log_probabilities(network, batch())
    for turns, row in zip(CHATS, together, strict=True):
        [alone] = target_log_probabilities(network, batch([turns]))
        torch.testing.assert_close(row[: len(alone)], alone, rtol=0, atol=1e-12)
        assert (row[len(alone) :] == 0).all()


def test_where_nothing_is_asked_it_is_exactly_zero():
    data = batch()
    found = target_log_probabilities(model(), data)
    asked = data["targets"] != -100
    assert (found[~asked] == 0).all()
    assert (found[asked] < 0).all()


def test_padding_and_tokens_behind_the_last_answer_change_no_bit():
    network = model()
    rows = [target_log_probabilities(network, batch(pad_id=pad)) for pad in (0, V - 1)]
    assert torch.equal(rows[0], rows[1])


def test_dropout_is_off_and_the_mode_is_as_before():
    network = model(dropout=0.5)
    expected = target_log_probabilities(network, batch())
    network.train()
    network.blocks[0].eval()
    found = target_log_probabilities(network, batch())
    assert torch.equal(found, expected)
    assert (network.training, network.blocks[0].training) == (True, False)


def loss_and_gradient(network, data):
    network.zero_grad()
    loss = target_log_probabilities(network, data).square().sum()
    loss.backward()
    return loss.detach(), [p.grad.clone() for p in network.parameters() if p.grad is not None]


class Wrapped(GPT):
    """A model whose forward pass is its own: its logits are all made."""

    def forward(self, ids, **given):
        return super().forward(ids, **given)


@pytest.mark.parametrize("tied", [True, False])
def test_gradients_are_those_through_the_logits_of_every_place(tied):
    network = model(tie_embeddings=tied)
    other = Wrapped(network.config)
    other.load_state_dict(network.state_dict())
    ours, theirs = (loss_and_gradient(m, batch()) for m in (network, other))
    for a, b in zip([ours[0], *ours[1]], [theirs[0], *theirs[1]], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-13)


def test_the_head_is_asked_where_something_is_asked_only():
    network, data, rows = model(), batch(), []
    network.head.register_forward_hook(lambda _, inputs, out: rows.append(out.shape))
    target_log_probabilities(network, data)
    assert rows == [(int((data["targets"] != -100).sum()), V)]


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")  # ids have no gradient
@pytest.mark.parametrize("kind", ["full_backward_hook", "full_backward_pre_hook"])
def test_a_hook_on_the_gradient_of_the_model_is_not_passed_by(kind):
    network, seen = model(), []
    getattr(network, f"register_{kind}")(lambda *passed: seen.append(len(passed)))
    batch = {"ids": torch.tensor([[1, 2]]), "targets": torch.tensor([[-100, 3]])}
    target_log_probabilities(network, batch).sum().backward()
    assert len(seen) == 1


@pytest.mark.parametrize("kind", ["forward_hook", "forward_pre_hook"])
def test_a_hook_on_the_model_is_not_passed_by(kind):
    network, seen = model(), []
    getattr(network, f"register_{kind}")(lambda *_: seen.append(1))
    target_log_probabilities(network, batch())
    assert seen == [1]


def test_packed_documents_are_kept_apart():
    network = model()
    packed = next(iter(ChatBatches(encoded(), 99)))
    alone = target_log_probabilities(network, batch())
    found = target_log_probabilities(network, packed)
    for number, row in enumerate(alone):
        mine = found[packed["documents"] == number]
        torch.testing.assert_close(mine, row[: len(mine)], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "ahead", [add_prompt, partial(add_prefix, gated=False)], ids=["prompt", "prefix"]
)
def test_what_stands_before_every_text_is_read_too(ahead):
    network = ahead(model(context=28), 2, tokens=[V - 1, V - 2])
    found = target_log_probabilities(network, batch()).detach()
    torch.testing.assert_close(found, of_all_logits(network, batch()), rtol=0, atol=1e-12)
    assert (found - target_log_probabilities(model(context=28), batch())).abs().max() > 1e-3


def test_a_low_rank_update_of_the_head_is_used():
    network = add_lora(model(tie_embeddings=False), 2, targets="head", seed=0)
    torch.nn.init.normal_(network.head.B["default"])
    expected = of_all_logits(network, batch())
    found = target_log_probabilities(network, batch())
    torch.testing.assert_close(found.detach(), expected, rtol=0, atol=1e-12)


def test_half_precision_is_taken_in_32_bits():
    """Log-probabilities of 16 bits would be off by a thousandth."""
    network, data = model().to(torch.bfloat16), batch()
    found = target_log_probabilities(network, data)
    assert found.dtype == torch.float32
    assert answer_logits(network, data).dtype == torch.float32


def test_a_batch_in_which_nothing_is_asked_has_zeros_and_no_gradient():
    network, data = model(), batch()
    nothing = data | {"targets": torch.full_like(data["targets"], -100)}
    found = target_log_probabilities(network, nothing)
    found.sum().backward()
    assert (found == 0).all()
    assert all(p.grad is None or (p.grad == 0).all() for p in network.parameters())


@pytest.mark.parametrize("temperature", [0, -1.0, float("inf"), float("nan")])
def test_a_temperature_that_is_none_is_refused(temperature):
    with pytest.raises(InputError, match=r"temperature=.* must be a positive, finite number"):
        target_log_probabilities(model(n_layers=1), batch(), temperature=temperature)


def test_targets_of_another_shape_are_refused():
    data = batch()
    wrong = {"ids": data["ids"], "targets": data["targets"][:, :-1]}
    with pytest.raises(InputError, match=r"ids .* and targets .* must have one shape"):
        target_log_probabilities(model(n_layers=1), wrong)


def test_a_target_outside_the_vocabulary_is_refused():
    data = batch()
    wrong = data | {"targets": data["targets"].clone()}
    wrong["targets"][0, 5] = V
    with pytest.raises(InputError, match=f"{V}"):
        target_log_probabilities(model(n_layers=1), wrong)
