"""The log-probability of an answer, against a loop over exactly its tokens."""

import pytest
import torch
from align.toy_chats import CHATS, END, NAMED, TOKENIZER, V, chat, encoded, model

from mathlm.align import ChatBatches, answer_log_probabilities
from mathlm.errors import InputError

ROWS = [turns for turns in CHATS if len(turns) == 2]


def batch(conversations=ROWS, **options):
    return next(iter(ChatBatches(encoded(conversations), 99, packed=False, **options)))


class Says(torch.nn.Module):
    """A model that returns the same logits for any text."""

    def __init__(self, logits):
        super().__init__()
        self.logits = logits

    def forward(self, ids):
        return self.logits


def by_hand(network, turns):
    """Σ log p of each token of the answer and of the end, one call of the model for each."""
    question, answer = turns
    prompt = NAMED.encode([question], TOKENIZER, answer=True).ids.tolist()
    total = 0.0
    for token in (*TOKENIZER.encode(answer.content), END):
        logits = network(torch.tensor([prompt]))[0, -1]
        total += logits.log_softmax(-1)[token].item()
        prompt.append(token)
    return total


def test_it_is_the_sum_over_exactly_the_tokens_of_the_answer_and_its_end():
    network = model(n_layers=1)
    found = answer_log_probabilities(network, batch())
    expected = [by_hand(network, turns) for turns in ROWS]
    torch.testing.assert_close(found, torch.tensor(expected), rtol=0, atol=1e-12)


def test_neither_padding_nor_other_rows_change_it():
    """Not by one bit, whatever stands at padding."""
    network = model(n_layers=1)
    rows = [answer_log_probabilities(network, batch(pad_id=pad)) for pad in (0, END, V - 1)]
    assert torch.equal(rows[0], rows[1])
    assert torch.equal(rows[0], rows[2])
    alone = [answer_log_probabilities(network, batch([turns])) for turns in ROWS]
    torch.testing.assert_close(torch.cat(alone), rows[0], rtol=0, atol=1e-12)


def test_logits_at_the_prompt_get_no_gradient():
    """The loss depends on |y| rows of logits, and on no other, bit for bit."""
    network, data = model(n_layers=1), batch()
    logits = network(data["ids"]).detach().requires_grad_()
    answer_log_probabilities(Says(logits), data).sum().backward()
    moved = logits.grad.abs().amax(-1) > 0
    assert torch.equal(moved, data["targets"] != -100)
    lengths = [len(TOKENIZER.encode(answer.content)) + 1 for _, answer in ROWS]
    assert moved.sum(1).tolist() == lengths


def test_packed_rows_are_read_if_they_hold_one_conversation():
    network, data = model(n_layers=1), encoded([chat("ab", "cd")])
    padded, packed = (next(iter(ChatBatches(data, 1, packed=p))) for p in (False, True))
    first, second = (answer_log_probabilities(network, b) for b in (padded, packed))
    torch.testing.assert_close(first, second, rtol=0, atol=1e-12)


def test_rows_of_several_conversations_are_refused():
    packed = next(iter(ChatBatches(encoded([chat("a", "b")] * 2), 1)))
    with pytest.raises(InputError, match=r"row 0 holds the documents 0 to 1; give rows of one"):
        answer_log_probabilities(model(n_layers=1), packed)
