import numpy as np
import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import (
    IncrementalReader,
    PromptLookup,
    Proposal,
    RandomChoices,
    Sampler,
    drafts,
    generate,
    outcome_distribution,
    speculate,
    speculative_generate,
    token_probabilities,
)
from mathlm.generate import speculative as rounds
from mathlm.models import GPT, GPTConfig, Recurrent

FAMILIES = {
    "gpt2": {},
    "llama": {"n_kv_heads": 1, "norm": "rms", "activation": "swiglu", "position": "rope"},
    "window": {"position": "alibi", "window": 5},
}
EVERY = pytest.mark.parametrize("family", FAMILIES)


def make(seed, V=3, family="gpt2", **changes):
    torch.manual_seed(seed)
    sizes = {"vocab_size": V, "context": 60, "d_model": 16, "n_layers": 1, "n_heads": 2}
    model = GPT(GPTConfig(**sizes | FAMILIES[family] | changes)).eval()
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    model.language = seed
    return model


def prompt(V, *shape):
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(5))


class Table(IncrementalReader):
    """A reader of a language without a model: its logits are a function of the text."""

    def __init__(self, model, batch, capacity):
        self.model, self.text = model, []

    length = property(lambda self: len(self.text))
    ids = property(lambda self: torch.tensor([self.text], dtype=torch.int64))

    def read(self, ids, mask=None, last=True):
        rows = []
        for token in ids[0].tolist():
            self.text.append(token)
            rows.append(logits_of(self.model, self.text))
        return rows[-1][None] if last else torch.stack(rows)[None]

    def rewind(self, length):
        del self.text[length:]


def logits_of(model, text):
    """Normal numbers, others for each language and each text."""
    numbers = torch.Generator().manual_seed(hash((model.language, *text)) % 2**62)
    return torch.randn(model.config.vocab_size, generator=numbers)


@pytest.fixture
def tables(monkeypatch):
    """Tables are read in place of models."""
    monkeypatch.setattr(rounds, "IncrementalReader", Table)
    monkeypatch.setattr(drafts, "IncrementalReader", Table)


def law_of_the_target(model, ids, n, **options):
    """Every text of n tokens and its probability, from the chain rule."""
    law = {(): 1.0}
    for _ in range(n):
        longer = {}
        for text, mass in law.items():
            written = torch.tensor(text, dtype=torch.int64)
            logits = logits_of(model, [*ids.tolist(), *text])
            p = token_probabilities(logits, **options, prompt=ids, written=written)
            longer |= {(*text, i): mass * x for i, x in enumerate(p.tolist()) if x > 0}
        law = longer
    return law


def law_of_speculation(target, draft, ids, n, draft_length, **options):
    def run(choices):
        made = speculate(target, draft, ids, n, draft_length, choices, Sampler(**options))
        return tuple(torch.cat([done.tokens for done in made]).tolist())

    return outcome_distribution(run)


OPTIONS = {
    "plain": {},
    "temperature and top-k": {"temperature": 0.6, "top_k": 2},
    "top-p": {"top_p": 0.75},
    "penalties": {"repetition_penalty": 1.4, "frequency_penalty": 0.7, "top_k": 2},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_text_has_exactly_its_probability_under_the_target(options, tables):
    target, draft, ids = make(0), make(1), prompt(3, 3)
    law = law_of_speculation(target, draft, ids, 3, 2, **options)
    assert law == pytest.approx(law_of_the_target(target, ids, 3, **options), abs=1e-12)


def stubborn(ids, draft_length, choices):
    """A bad draft: token 2 each time, whatever the text."""
    return Proposal(ids.new_full((draft_length,), 2))


@pytest.mark.parametrize("draft", [PromptLookup(shortest=1), stubborn])
def test_draft_tokens_without_chance_leave_the_distribution_as_it_is(draft, tables):
    target, ids = make(0), torch.tensor([0, 1, 2, 0])
    law = law_of_speculation(target, draft, ids, 3, 2)
    assert law == pytest.approx(law_of_the_target(target, ids, 3), abs=1e-12)


def test_sampled_texts_are_distributed_as_those_of_the_target(tables):
    """Pearson's statistic with 8 degrees of freedom is below 26.1 with probability 0.999."""
    target, draft, ids = make(4), make(1), prompt(3, 3)
    new = speculative_generate(target, draft, ids.expand(250, -1), 2, 1, seed=0)[:, 3:]
    law = law_of_the_target(target, ids, 2)
    found = torch.tensor([(new == torch.tensor(text)).all(1).sum() for text in law])
    expected = 250 * torch.tensor(list(law.values()))
    assert ((found - expected) ** 2 / expected).sum() < 26.1


@EVERY
def test_at_temperature_zero_the_text_is_the_targets_own(family):
    target, draft, ids = make(0, 20, family), make(0, 20), prompt(20, 1, 7)
    expected = generate(target, ids, 9, 0.0)
    for proposer in (draft, PromptLookup(shortest=1)):
        found = speculative_generate(target, proposer, ids, 9, 3, 0.0)
        assert torch.equal(found, expected)


def rounds_of(target, draft, n, seed=0):
    choices = RandomChoices(np.random.default_rng(seed))
    return list(speculate(target, draft, prompt(9, 5), n, 3, choices))


def test_a_draft_that_is_the_target_is_always_right(tables):
    """Four tokens a round, and the last round holds what is left."""
    rounds = rounds_of(make(0, 9), make(0, 9), n=22)
    assert [done.accepted for done in rounds] == [3, 3, 3, 3, 3, 1]
    assert all(torch.allclose(done.chances, torch.ones(1)) for done in rounds)


def test_rounds_tell_what_the_target_says_of_the_text():
    target, draft = make(0, 9, "llama"), make(1, 9)
    rounds = rounds_of(target, draft, 12)
    text = torch.cat([prompt(9, 5), *(done.tokens for done in rounds)])
    assert len(text) == 17
    with torch.no_grad():
        p = target(text[None]).softmax(-1)[0]
    place = 4
    for done in rounds:
        kept = slice(place, place + len(done.tokens))
        assert torch.allclose(done.p[: len(done.tokens)], p[kept], rtol=1e-10, atol=1e-12)
        assert torch.equal(done.tokens[:-1], done.draft_tokens[: done.accepted])
        place += len(done.tokens)


def test_draft_tokens_are_accepted_as_often_as_the_overlap_of_both_models_says(tables):
    """Outcome less chance has mean 0 at each draft token, variance β (1 - β); 3 deviations."""
    target, draft = make(0, 9), make(1, 9)
    rounds = [done for seed in range(8) for done in rounds_of(target, draft, 50, seed)]
    beta = torch.cat([done.chances for done in rounds])
    assert len(beta) == sum(done.examined for done in rounds)
    surplus = sum(done.accepted for done in rounds) - beta.sum()
    assert surplus.abs() < 3 * (beta * (1 - beta)).sum().sqrt()


def test_rows_do_not_hear_of_each_other_nor_of_their_padding():
    target, draft, ids = make(0, 9), make(1, 9), prompt(9, 3, 6)
    mask = torch.tensor([[1] * 6, [0, 0, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]]).bool()
    together = speculative_generate(target, draft, ids, 4, 2, seed=3, mask=mask)
    assert torch.equal(together[:, :6], ids)
    for i in (0, 2):
        alone = ids[: i + 1, : 6 - i // 2 * 3]
        rows = speculative_generate(target, draft, alone, 4, 2, seed=3)
        assert torch.equal(together[i, 6:], rows[i, alone.shape[1] :])


def test_a_seed_fixes_the_text_and_another_gives_another(tables):
    target, draft, ids = make(0, 9), make(1, 9), prompt(9, 1, 4)
    first, again, other = (
        speculative_generate(target, draft, ids, 20, seed=seed) for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_rows_end_at_their_stop_sequences_as_those_of_generate_do():
    """At temperature 0; tokens of a round behind the stop are not part of the text."""
    target, ids = make(0, 9), prompt(9, 3, 5)
    text = generate(target, ids[:2], 8, 0.0)
    stop = [text[0, 7:9].tolist(), int(text[1, 10])]
    for pad in (None, 4):
        expected = generate(target, ids, 10, 0.0, stop=stop, pad=pad)
        found = speculative_generate(target, target, ids, 10, 4, 0.0, stop=stop, pad=pad)
        assert torch.equal(found, expected)


def test_no_new_tokens_are_the_prompt():
    ids = prompt(9, 2, 4)
    assert torch.equal(speculative_generate(make(0, 9), PromptLookup(), ids, 0), ids)


def test_models_in_training_are_evaluated_and_trained_on():
    target, draft = make(0, 9, dropout=0.5).train(), make(1, 9, dropout=0.5).train()
    found = speculative_generate(target, draft, prompt(9, 1, 4), 4, seed=0)
    assert target.training
    assert draft.training
    expected = speculative_generate(target.eval(), draft.eval(), prompt(9, 1, 4), 4, seed=0)
    assert torch.equal(found, expected)


def wrong_q(ids, draft_length, choices):
    return Proposal(ids.new_zeros(draft_length), torch.ones(draft_length, 4) / 4)


def undrawn(ids, draft_length, choices):
    return Proposal(ids.new_zeros(draft_length), torch.eye(9)[1:2].repeat(draft_length, 1))


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        (make(1, 8), "the draft has a vocabulary of 8 tokens and the target one of 9"),
        (make(1, 9, context=10), "together 15, longer than the context 10 of the draft"),
        (wrong_q, r"q of shape \(4, 4\) for 4 draft tokens, expected \(4, 9\)"),
        (
            undrawn,
            "draft token 0 of a round is token 0, which its own draft gives probability 0",
        ),
        (lambda ids, n, c: Proposal(ids.new_zeros(n + 1)), r"shape \(5,\), expected .* n <= 4"),
        (
            lambda ids, n, c: Proposal(ids.new_full((n,), 9)),
            r"draft token 9 at \[0\] is outside",
        ),
    ],
)
def test_drafts_that_do_not_fit_are_refused(draft, message):
    with pytest.raises(InputError, match=message):
        speculative_generate(make(0, 9), draft, prompt(9, 1, 5), 10)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((prompt(9, 2, 0), 5), {}, r"prompt has shape \(2, 0\)"),
        ((prompt(9, 1, 5), 56), {}, "sequence of 61 tokens, longer than the context 60"),
        ((prompt(9, 1, 5), -1), {}, "max_new_tokens=-1"),
        (
            (prompt(9, 1, 5), 5, 0),
            {},
            "draft_length=0 must be at least 1; without draft tokens, use gen",
        ),
        ((prompt(9, 1, 5), 5, 4, -0.5), {}, "temperature=-0.5 must be finite"),
        ((prompt(9, 1, 5), 5), {"stop": [[]]}, r"stop\[0\] is empty"),
        ((prompt(9, 1, 5), 5), {"pad": 9}, "pad=9 is outside 0..8"),
        ((prompt(9, 1, 5), 5), {"seed": -1}, "seed=-1 must be 0 or more"),
    ],
)
def test_what_cannot_be_continued_is_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        speculative_generate(make(0, 9), make(1, 9), *arguments, **options)


def test_models_that_cannot_take_back_a_draft_token_are_refused(unchecked):
    gpt, gru = make(0, 9), Recurrent(kind="gru", vocab_size=9, d_model=8, n_layers=1)
    with pytest.raises(
        InputTypeError, match="target is a Recurrent: rejected draft tokens can only"
    ):
        speculative_generate(gru, gpt, prompt(9, 1, 5), 5)
    with pytest.raises(InputTypeError, match="the draft is a Recurrent: give a GPT, which can"):
        speculative_generate(gpt, gru, prompt(9, 1, 5), 5)
    with pytest.raises(InputTypeError, match="the draft is a NoneType: give a GPT"):
        speculative_generate(gpt, None, prompt(9, 1, 5), 5)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (
            torch.ones(9),
            "q of draft token 0 sums to 9, not 1: the output would not be the target's",
        ),
        (
            torch.tensor([1.5, -0.5, *[0.0] * 7]),
            "draft token 0 gives token 1 the probability -0.5",
        ),
        (torch.tensor([0.5, *[0.0] * 8]), "q of draft token 0 sums to 0.5, not 1"),
        (torch.tensor([1.0, torch.nan, *[0.0] * 7]), "q of draft token 0 sums to nan"),
    ],
)
def test_what_draft_tokens_were_drawn_from_must_be_a_distribution(q, message):
    draft = lambda ids, n, choices: Proposal(ids.new_zeros(n), q.repeat(n, 1))  # noqa: E731
    with pytest.raises(InputError, match=message):
        speculative_generate(make(0, 9), draft, prompt(9, 1, 5), 10)


@pytest.mark.parametrize("answer", [3, None, Proposal([1]), Proposal(torch.tensor([1]), [1.0])])
def test_a_draft_that_gives_no_proposal_is_refused(answer, unchecked):
    with pytest.raises(InputTypeError, match=r"the draft gave .*, expected"):
        speculative_generate(make(0, 9), lambda *a: answer, prompt(9, 1, 5), 10)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[1, 2]], 5), {}, "ids is a list: give an int64 tensor"),
        ((prompt(9, 1, 5), 2.0), {}, "max_new_tokens=2.0 must be an integer"),
        ((prompt(9, 1, 5), 5, "4"), {}, "draft_length='4' must be an integer"),
        ((prompt(9, 1, 5), 5), {"pad": 1.0}, "pad=1.0 must be an integer"),
        ((prompt(9, 1, 5), 5), {"mask": [[True] * 5]}, "mask is a list: give a bool tensor"),
    ],
)
def test_arguments_of_another_kind_are_named(arguments, options, message, unchecked):
    with pytest.raises(InputTypeError, match=message):
        speculative_generate(make(0, 9), make(1, 9), *arguments, **options)


def test_one_text_is_checked_as_a_batch_is(unchecked):
    target, choices = make(0, 9), RandomChoices(np.random.default_rng(0))
    with pytest.raises(
        InputTypeError, match=r"ids is a list: give an int64 tensor \(tokens,\)"
    ):
        next(speculate(target, target, [1, 2], 4, 2, choices))
    with pytest.raises(InputTypeError, match="max_new_tokens='4' must be an integer"):
        next(speculate(target, target, prompt(9, 3), "4", 2, choices))
