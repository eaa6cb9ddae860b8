"""Texts that a policy writes, as rows."""

import pytest
import torch
from align.toy_policies import END, PROMPTS, V, policy

from mathlm.align import TextSampler, completions_of, roll_out, rollout_batch
from mathlm.align.policy.rollouts import ended, without_end
from mathlm.errors import ConfigError, InputError
from mathlm.generate import generate

X = torch.tensor


def test_rows_by_hand():
    """Prompts of 2 and 1 tokens; the second completion is its end alone."""
    batch = rollout_batch([X([1, 2]), X([3])], [X([4, 5]), X([0])], [False, True])
    assert batch["ids"].tolist() == [[1, 2, 4, 5], [3, 0, 0, 0]]
    assert batch["targets"].tolist() == [[-100, 4, 5, -100], [0, -100, -100, -100]]
    assert batch["lengths"].tolist() == [2, 1]
    assert batch["finished"].tolist() == [False, True]
    assert [y.tolist() for y in completions_of(batch)] == [[4, 5], [0]]


@pytest.mark.parametrize(("x", "y", "says"), [
    ([], [1], "prompt 0 has no token"), ([1], [], "completion 0 has no token"),
])  # fmt: skip
def test_texts_without_a_token_are_refused(x, y, says):
    with pytest.raises(InputError, match=says):
        rollout_batch([X(x, dtype=torch.int64)], [X(y, dtype=torch.int64)])


def test_a_rollout_is_what_generation_writes():
    """Of prompts of one length, with the same seed, up to the end of each row."""
    model, prompts = policy(), torch.tensor([[1, 2], [3, 4], [5, 6]])
    batch = roll_out(model, list(prompts), 6, seed=3, stop=[END], temperature=0.8)
    text = generate(model, prompts, 6, 0.8, seed=3, stop=[END], pad=END)[:, 2:]
    for ours, theirs, whole in zip(completions_of(batch), text, batch["finished"], strict=True):
        assert ours.tolist() == theirs[: len(ours)].tolist()
        assert bool(whole) == (END in theirs.tolist())


def test_a_part_of_the_rows_is_drawn_as_within_the_whole():
    model = policy()
    whole = roll_out(model, PROMPTS, 5, seed=1, stop=[END])
    part = roll_out(model, PROMPTS[1:], 5, seed=1, stop=[END], first_row=1)
    ours = [y.tolist() for y in completions_of(part)]
    assert ours == [y.tolist() for y in completions_of(whole)][1:]


def test_an_end_at_once_is_a_completion_of_one_token():
    model = policy()
    with torch.no_grad():
        model.token_embedding.weight.zero_()
    first = model.eval()(X([[1]]))[0, -1]
    assert torch.allclose(first, torch.zeros(V))  # all tokens are equally likely
    batch = roll_out(model, [X([1])] * 200, 3, stop=[END])
    ends = batch["lengths"] == 1
    assert ends.any()
    assert batch["finished"][ends].all()


def test_without_ends_every_text_is_complete():
    batch = roll_out(policy(), PROMPTS, 4)
    assert batch["finished"].all()
    assert (batch["lengths"] == 4).all()


@pytest.mark.parametrize(("y", "stop", "end", "rest"), [
    ([4, 0], (0,), True, [4]), ([4, 5], (0,), False, [4, 5]), ([0], (0,), True, []),
    ([4, 5, 6], ((5, 6), 6), True, [4]), ([0, 4], (0,), False, [0, 4]), ([4], (), True, [4]),
])  # fmt: skip
def test_ends(y, stop, end, rest):
    assert ended(X(y), stop) is end
    assert without_end(X(y), stop).tolist() == rest


@pytest.mark.parametrize(("options", "says"), [
    ({"max_new_tokens": 0}, "max_new_tokens=0 must be positive"),
    ({"max_new_tokens": 3, "temperature": 0}, "temperature=0 must be positive and finite"),
])  # fmt: skip
def test_a_sampler_that_draws_nothing_is_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        TextSampler(**options)
