"""A GPT with a prefix that all see: which token may know of which, and everything else."""

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.models import GPT, GPTConfig

V, T = 13, 7


@pytest.fixture(params=["learned", "rope", "alibi", "relative"])
def model(request):
    config = GPTConfig(
        vocab_size=V, context=16, d_model=8, n_layers=2, n_heads=2, position=request.param
    )
    gpt = GPT(config)
    for p in gpt.parameters():
        torch.nn.init.normal_(p, std=0.4)
    return gpt.eval()


def influence(model, prefix):
    """True at (t, s) if the logits at t depend on the token at s."""
    ids = torch.randint(V, (1, T))
    vectors = model.token_embedding(ids).detach().requires_grad_()
    hook = model.token_embedding.register_forward_hook(lambda *_: vectors)
    logits = model(ids, prefix=torch.tensor([prefix]))[0]
    rows = [torch.autograd.grad(z @ torch.randn(V), vectors, retain_graph=True) for z in logits]
    hook.remove()
    return torch.stack([g[0][0].abs().sum(-1) > 0 for g in rows])


@pytest.mark.parametrize("prefix", [0, 1, 3, 6, 7])
def test_tokens_of_the_prefix_see_all_of_it_and_the_others_what_was_before(model, prefix):
    """M[t, s] is s ≤ t, or s among the first n."""
    t, s = torch.arange(T)[:, None], torch.arange(T)
    assert torch.equal(influence(model, prefix), (s <= t) | (s < prefix))


@pytest.mark.parametrize("prefix", [0, 1])
def test_a_prefix_of_one_token_or_none_is_the_causal_order(model, prefix):
    ids = torch.randint(V, (2, T))
    logits = model(ids, prefix=torch.full((2,), prefix))
    assert torch.allclose(logits, model(ids), rtol=1e-12, atol=1e-12)


def test_each_row_has_its_own_prefix_and_padding_changes_nothing(model):
    ids, lengths = torch.randint(V, (3, T)), torch.tensor([2, 5, 4])
    alone = [model(ids[i : i + 1], prefix=lengths[i : i + 1])[0] for i in range(3)]
    for left in (0, 3):
        padded = torch.nn.functional.pad(ids, (left, 3 - left), value=1)
        mask = torch.nn.functional.pad(torch.ones(3, T, dtype=torch.bool), (left, 3 - left))
        together = model(padded, mask=mask, prefix=lengths)[:, left : left + T]
        assert torch.allclose(together, torch.stack(alone), rtol=1e-10, atol=1e-12)


@torch.no_grad()
def test_what_follows_a_prefix_can_be_read_one_by_one(model):
    ids = torch.randint(V, (2, T))
    whole, cache = model(ids, prefix=torch.tensor([4, 4])), model.new_cache(2)
    parts = [model(ids[:, :4], prefix=torch.tensor([4, 4]), cache=cache)]
    parts += [model(ids[:, t : t + 1], cache=cache) for t in range(4, T)]
    assert torch.allclose(torch.cat(parts, 1), whole, rtol=1e-10, atol=1e-12)


@torch.no_grad()
def test_a_prefix_that_does_not_fit_is_refused(model):
    ids, cache = torch.randint(V, (2, T)), model.new_cache(2)
    model(ids, cache=cache)
    cases = [
        (
            {"prefix": torch.tensor([8, 1])},
            InputError,
            r"prefix length 8 at \[0\] is outside 0..7",
        ),
        ({"prefix": torch.tensor([-1, 1])}, InputError, r"prefix length -1 at \[0\]"),
        ({"prefix": torch.tensor([1])}, InputError, r"prefix \(1,\) must be \(2,\)"),
        ({"prefix": torch.ones(2)}, InputTypeError, "prefix lengths must be int64"),
        (
            {"prefix": torch.tensor([1, 1]), "cache": cache},
            InputError,
            "no cached tokens, got 7",
        ),
    ]
    for how, error, says in cases:
        with pytest.raises(error, match=says):
            model(ids, **how)


def test_a_window_and_a_prefix_are_refused_together():
    config = GPTConfig(vocab_size=V, context=16, d_model=8, n_layers=1, n_heads=2, window=3)
    with pytest.raises(InputError, match="no window, got 3"):
        GPT(config)(torch.randint(V, (1, T)), prefix=torch.tensor([2]))
