import pytest
import torch

from mathlm.errors import InputError
from mathlm.models import Recurrent, gradient_reach


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_reach_is_the_gradient_of_central_differences(kind):
    model = Recurrent(kind=kind, vocab_size=7, d_model=4)
    ids = torch.randint(7, (1, 6))
    x, far = model.token_embedding(ids[:, :-1]).detach(), 3  # input 3 steps before the last

    def loss(shift):
        moved = x.clone()
        moved[0, 4 - far] += shift
        logits = model.head(model.layers(moved, None, None)[0][0, -1])
        return -logits.log_softmax(-1)[ids[0, -1]].item()

    differences = [(loss(e) - loss(-e)) / 2e-6 for e in 1e-6 * torch.eye(4)]
    expected = torch.tensor(differences).norm().item()
    assert gradient_reach(model, ids)[far].item() == pytest.approx(expected, rel=1e-5)


def test_reach_is_the_mean_over_sequences():
    model, ids = Recurrent(kind="gru", vocab_size=7, d_model=4), torch.randint(7, (3, 5))
    each = torch.stack([gradient_reach(model, row[None]) for row in ids])
    torch.testing.assert_close(gradient_reach(model, ids), each.mean(0))
    assert all(p.grad is None for p in model.parameters())


def test_one_token_has_no_input_to_reach():
    with pytest.raises(InputError, match=r"shape \(2, 1\), expected \(batch, tokens\) with 2"):
        gradient_reach(Recurrent(vocab_size=7, d_model=4), torch.zeros(2, 1, dtype=torch.int64))


@pytest.mark.parametrize("ids", [[[7, 0]], [[0, 7]], [[-1, 0]]])
def test_ids_outside_the_vocabulary_are_refused(ids):
    with pytest.raises(InputError, match=r"is outside 0\.\.6"):
        gradient_reach(Recurrent(vocab_size=7, d_model=4), torch.tensor(ids))
