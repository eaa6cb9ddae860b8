import numpy as np
import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import ModelDraft, PromptLookup, RandomChoices, Sampler
from mathlm.models import GPT, GPTConfig

CHOICES = RandomChoices(np.random.default_rng(0))


def make(**changes):
    sizes = {"vocab_size": 9, "context": 40, "d_model": 16, "n_layers": 1, "n_heads": 2}
    model = GPT(GPTConfig(**sizes | changes)).eval()
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return model


def lookup(text, draft_length=3, **options):
    ids = torch.tensor([ord(c) for c in text])
    proposal = PromptLookup(**options)(ids, draft_length, CHOICES)
    assert proposal.q is None
    return "".join(map(chr, proposal.tokens.tolist()))


def test_what_followed_the_longest_equal_run_is_copied():
    """At the end stands "the ca"; "a" alone was seen last in "has", "the ca" in "the cat"."""
    assert lookup("the cat has been the ca") == "t h"


def test_of_equally_long_runs_the_latest_is_taken():
    assert lookup("ab1 ab2 ab") == "2 a"


@pytest.mark.parametrize(("longest", "expected"), [(2, "2"), (3, "1")])
def test_no_more_tokens_are_compared_than_asked_for(longest, expected):
    assert lookup("xab1 ab2 xab", draft_length=1, longest=longest) == expected


def test_a_run_that_reaches_the_end_is_copied_again_and_again():
    assert lookup("abcabc", draft_length=7) == "abcabca"
    assert lookup("aaa", draft_length=2) == "aa"


@pytest.mark.parametrize("text", ["a", "ab", "abcdb", "abcd"])
def test_nothing_is_drafted_where_nothing_is_repeated(text):
    assert lookup(text) == ""


def test_one_equal_token_is_enough_where_one_is_asked_for():
    assert lookup("abcdb", shortest=1) == "cdb"


def test_impossible_lengths_of_a_run_are_refused():
    with pytest.raises(InputError, match="shortest=3 and longest=2"):
        PromptLookup(longest=2, shortest=3)
    with pytest.raises(InputError, match="shortest=0"):
        PromptLookup(shortest=0)


@pytest.mark.parametrize("sampler", [Sampler(), Sampler(0.7, 4), Sampler(0.0)])
def test_draft_tokens_of_a_model_come_with_what_they_were_drawn_from(sampler):
    model, ids = make(), torch.randint(9, (6,))
    tokens, q = ModelDraft(model, sampler=sampler)(ids, 4, CHOICES)
    with torch.no_grad():
        logits = model(torch.cat((ids, tokens))[None])[0, 5:-1]
    assert torch.allclose(q, sampler.probabilities(logits), rtol=1e-12, atol=1e-12)
    assert (q.gather(1, tokens[:, None]) > 0).all()


@pytest.mark.parametrize("family", [{}, {"position": "rope", "n_kv_heads": 1, "window": 3}])
def test_what_a_draft_has_read_before_changes_nothing(family):
    """Texts that go on, end in other tokens, are shorter, or have nothing in common."""
    model = make(**family)
    draft, texts = ModelDraft(model), torch.randint(9, (4, 12))
    texts[1, :7] = texts[0, :7]
    for text in (texts[0, :8], texts[0], texts[1], texts[1, :3], texts[2], texts[3, :1]):
        seen = draft(text, 3, RandomChoices(np.random.default_rng(1)))
        fresh = ModelDraft(model)(text, 3, RandomChoices(np.random.default_rng(1)))
        assert torch.equal(seen.tokens, fresh.tokens)
        assert torch.allclose(seen.q, fresh.q, rtol=1e-12, atol=1e-12)


def test_penalties_hear_of_the_draft_tokens_before():
    model, ids = make(), torch.randint(9, (6,))
    sampler = Sampler(repetition_penalty=1.5, presence_penalty=1.0, frequency_penalty=0.5)
    tokens, q = ModelDraft(model, sampler=sampler, given=4)(ids, 3, CHOICES)
    text = torch.cat((ids, tokens))
    with torch.no_grad():
        logits = model(text[None])[0]
    for i in range(3):
        expected = sampler.probabilities(logits[5 + i], text[:4], text[4 : 6 + i])
        assert torch.allclose(q[i], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("unchecked")
def test_lengths_of_a_run_are_integers():
    with pytest.raises(InputTypeError, match="longest='a' must be an integer"):
        PromptLookup("a")
