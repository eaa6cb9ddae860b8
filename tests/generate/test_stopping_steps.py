import pytest
import torch
from generate.test_decoding import make

from mathlm.errors import InputError
from mathlm.generate import Step, generate, score, stream


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"temperature": 0.9, "top_p": 0.8}])
def test_the_steps_are_what_generate_returns(options):
    model, ids = make(), torch.randint(30, (3, 5))
    steps = [step.tokens for step in stream(model, ids, 12, seed=2, **options)]
    assert torch.equal(
        torch.stack(steps, 1), generate(model, ids, 12, seed=2, **options)[:, 5:]
    )


def test_log_probabilities_are_those_of_the_model_reading_the_text():
    model, ids = make("llama").eval(), torch.randint(30, (2, 5))
    steps = list(stream(model, ids, 9, 0.7, top_k=8, seed=0))
    y = torch.stack([step.tokens for step in steps], 1)
    expected = model(torch.cat((ids, y), 1))[:, 4:-1].log_softmax(-1).gather(2, y[..., None])
    found = torch.stack([step.log_probabilities for step in steps], 1)
    torch.testing.assert_close(found, expected[..., 0].detach(), rtol=0, atol=1e-12)


def test_their_sum_is_the_score_of_each_row_up_to_its_stop():
    model, ids = make(), torch.randint(30, (4, 5))
    steps = list(stream(model, ids, 30, 1.5, seed=1, stop=[3, [4, 5]]))
    lengths = torch.tensor([step.live for step in steps]).sum(0)
    assert len(set(lengths.tolist())) > 1
    y = torch.stack([step.tokens for step in steps], 1)
    total = torch.stack([step.log_probabilities for step in steps]).sum(0)
    found = score(model, list(ids), [row[:n] for row, n in zip(y, lengths, strict=True)])
    expected = torch.stack([logp.sum().detach() for logp in found])
    torch.testing.assert_close(total, expected, rtol=0, atol=1e-12)


def test_the_drawn_log_probability_is_that_of_the_truncated_distribution():
    """By hand: of 1/2, 1/4, 1/4 the two that top-k keeps are 2/3 and 1/3."""
    logits = torch.tensor([[2.0, 1.0, 1.0]]).log()
    p = torch.tensor([[2 / 3, 1 / 3, 0.0]])
    step = Step(torch.tensor([1]), logits, p, (True,), (None,))
    torch.testing.assert_close(step.log_probabilities, torch.tensor([0.25]).log())
    torch.testing.assert_close(step.drawn_log_probabilities, torch.tensor([1 / 3]).log())


def test_the_likeliest_token_was_certain_to_be_taken():
    step = next(stream(make(), torch.zeros(2, 1, dtype=torch.long), 1, 0.0))
    assert step.drawn_log_probabilities.tolist() == [0, 0]
    assert torch.equal(step.probabilities.argmax(-1), step.tokens)
    assert step.probabilities.sum() == 2


def test_alternatives_are_the_likeliest_tokens_in_their_order():
    logits = torch.tensor([[1.0, 4.0, 1.0, 2.0]]).log()
    ids, p = Step(torch.tensor([1]), logits, None, (True,), (None,)).alternatives(2)
    assert ids.tolist() == [[1, 3]]
    torch.testing.assert_close(p, torch.tensor([[0.5, 0.25]]))


@pytest.mark.parametrize("count", [0, 5])
def test_a_number_of_alternatives_that_is_not_there_is_refused(count):
    step = Step(torch.tensor([1]), torch.zeros(1, 4), None, (True,), (None,))
    with pytest.raises(InputError, match=rf"count={count} is outside 1\.\.4"):
        step.alternatives(count)


def test_a_row_that_has_stopped_adds_nothing():
    step = Step(torch.tensor([1, 1]), torch.zeros(2, 4), None, (True, False), (None, "stop"))
    assert step.log_probabilities[1] == 0
    assert step.log_probabilities[0] < -1


def test_half_precision_is_told_in_float32():
    model = make().bfloat16()
    step = next(stream(model, torch.zeros(1, 3, dtype=torch.long), 1, seed=0))
    assert step.log_probabilities.dtype == torch.float32
    assert abs(step.model_log_probabilities.exp().sum() - 1) < 1e-5


def test_the_model_is_in_its_own_mode_between_the_steps_and_without_dropout_inside():
    model, ids = make(dropout=0.9).train(), torch.zeros(1, 1, dtype=torch.long)
    steps = []
    for step in stream(model, ids, 8, 0.0):
        assert model.training
        steps.append(step.tokens)
    model.eval()
    assert torch.equal(torch.stack(steps, 1), generate(model, ids, 8, 0.0)[:, 1:])


def test_two_streams_at_once_leave_the_mode_as_it_was():
    model, ids = make().train(), torch.zeros(1, 1, dtype=torch.long)
    first, second = stream(model, ids, 5), stream(model, ids, 5)
    next(first), next(second)
    first.close()
    second.close()
    assert model.training


def test_what_a_user_does_to_a_step_changes_nothing_that_follows():
    model, ids = make(), torch.zeros(2, 3, dtype=torch.long)
    found = []
    for step in stream(model, ids, 6, 0.0):
        found.append(step.tokens.clone())
        step.tokens.fill_(0)
    assert torch.equal(torch.stack(found, 1), generate(model, ids, 6, 0.0)[:, 3:])


def test_gradients_are_recorded_between_the_steps_and_not_inside():
    model = make()
    for step in stream(model, torch.zeros(1, 1, dtype=torch.long), 2):
        assert torch.is_grad_enabled()
        assert not step.logits.requires_grad


def test_arguments_are_checked_before_the_first_step():
    with pytest.raises(InputError, match="temperature=-1"):
        stream(make(), torch.zeros(1, 1, dtype=torch.long), 5, -1.0)
