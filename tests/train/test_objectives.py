"""Objectives: each against its definition, and the same however the batch is cut."""

import math

import pytest
import torch

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.functional import z_loss
from mathlm.models import (
    GPT,
    BertConfig,
    GPTConfig,
    MaskedBert,
    MultiTokenGPT,
    SentencePairs,
    Transformer,
    TransformerConfig,
)
from mathlm.train import (
    MaskedPairs,
    MultiToken,
    TokenLoss,
    describe,
    masked_diffusion,
    masked_token,
    next_sentence,
    next_token,
    prefix_token,
    read_masked,
    span_corruption,
)

V, T = 13, 9
SIZES = {"vocab_size": V, "context": 16, "d_model": 8, "n_heads": 2}


def far_from_uniform(model):
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.4)
    return model.eval()


def gpt(position="rope"):
    return far_from_uniform(GPT(GPTConfig(n_layers=2, position=position, **SIZES)))


def bert():
    return far_from_uniform(MaskedBert(BertConfig(n_layers=1, **SIZES)))


def ids(rows=4, length=T):
    return torch.randint(V, (rows, length))


def next_batch():
    targets = ids()
    targets[0, 1:], targets[2, ::2] = -100, -100
    return {"ids": ids(), "targets": targets}


def masked_batch():
    mask = torch.arange(T) < torch.tensor([9, 4, 7, 9])[:, None]
    return next_batch() | {"mask": mask}


def prefix_batch():
    prefix = torch.tensor([1, 4, 7, 9])
    seen = torch.arange(1, T + 1) < prefix[:, None]
    return {"ids": ids(), "targets": ids().masked_fill(seen, -100), "prefix": prefix}


def span_batch():
    real = torch.arange(T) < torch.tensor([9, 5, 7, 9])[:, None]
    return {"source": ids(), "source_mask": real} | {"ids": ids(), "targets": ids()}


def pair_batch():
    return masked_batch() | {"segments": (ids() > 6).long(), "follows": torch.randint(2, (4,))}


def pair_model():
    return far_from_uniform(SentencePairs(BertConfig(n_layers=1, **SIZES)))


def seq2seq():
    return far_from_uniform(Transformer(TransformerConfig(n_layers=1, **SIZES)))


def several():
    return far_from_uniform(MultiTokenGPT(GPTConfig(n_layers=1, **SIZES), heads=3))


CASES = {
    "next": (next_token, gpt, next_batch),
    "masked": (masked_token, bert, masked_batch),
    "prefix": (prefix_token, gpt, prefix_batch),
    "span": (span_corruption, seq2seq, span_batch),
    "pairs": (next_sentence, pair_model, pair_batch),
    "masked pairs": (MaskedPairs(2.5), pair_model, pair_batch),
    "several": (MultiToken(), several, next_batch),
    "smooth": (TokenLoss(label_smoothing=0.1, z=0.01), gpt, next_batch),
}
EVERY = pytest.mark.parametrize("name", CASES)


@EVERY
@pytest.mark.parametrize("cuts", [[1], [2], [1, 2, 3], [3]], ids=str)
def test_sums_and_gradients_do_not_depend_on_how_a_batch_is_cut(name, cuts):
    objective, make, batch = CASES[name][0], CASES[name][1], CASES[name][2]()
    model, total, number = make(), 0.0, 0
    whole, count = objective(model, batch)
    expected = torch.autograd.grad(whole, list(model.parameters()), allow_unused=True)
    parts = {key: value.tensor_split(cuts) for key, value in batch.items()}
    for i in range(len(cuts) + 1):
        loss, n = objective(model, {key: value[i] for key, value in parts.items()})
        loss.backward()
        total, number = total + loss.item(), number + n
    assert (total, number) == (pytest.approx(whole.item(), rel=1e-12), count)
    for p, g in zip(model.parameters(), expected, strict=True):
        assert p.grad is None if g is None else torch.allclose(p.grad, g, 1e-9, 1e-12)


@EVERY
def test_a_batch_that_asks_nothing_costs_nothing(name):
    objective, make, batch = CASES[name][0], CASES[name][1], CASES[name][2]()
    silent = {
        k: torch.full_like(v, -100) for k, v in batch.items() if k in ("targets", "follows")
    }
    model = make()
    loss, count = objective(model, batch | silent)
    loss.backward()
    assert (loss.item(), count) == (0.0, 0)
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


@EVERY
def test_ids_of_another_dtype_are_refused(name):
    objective, make, batch = CASES[name][0], CASES[name][1], CASES[name][2]()
    with pytest.raises(InputTypeError, match="token ids must be int64, got int32"):
        objective(make(), batch | {"ids": batch["ids"].int()})


# Documents of one row


def packed(first, second, padding=2):
    """[A‖B‖padding], and what stands for no target at the end of each."""
    row = torch.cat([first, second, torch.zeros(padding, dtype=torch.int64)])
    numbers = torch.tensor([0] * len(first) + [1] * len(second) + [-1] * padding)
    targets = torch.full_like(row, -100)
    targets[: len(first) - 1] = first[1:]
    targets[len(first) : len(first) + len(second) - 1] = second[1:]
    return {"ids": row[None], "targets": targets[None], "documents": numbers[None]}


@pytest.mark.parametrize("position", ["learned", "sinusoidal", "rope", "alibi", "relative"])
def test_a_packed_document_is_read_as_if_it_were_alone(position):
    model, first, second = gpt(position), ids(1, 5)[0], ids(1, 7)[0]
    together, count = next_token(model, packed(first, second))
    alone = [next_token(model, packed(x, x[:0], 0)) for x in (first, second)]
    assert count == 4 + 6 == sum(n for _, n in alone)
    expected = sum(loss.item() for loss, _ in alone)
    assert together.item() == pytest.approx(expected, rel=1e-12)


def test_no_gradient_crosses_from_one_document_to_another():
    """What B costs does not move the vectors of A: exactly, not nearly."""
    model = gpt()
    vectors = model.token_embedding(torch.arange(10)[None] % V).detach().requires_grad_()
    model.token_embedding.register_forward_hook(lambda *_: vectors)
    batch = packed(ids(1, 4)[0], ids(1, 6)[0], 0)
    batch["targets"][0, :4] = -100
    next_token(model, batch)[0].backward()
    assert not vectors.grad[0, :4].any()
    assert vectors.grad[0, 4:9].abs().sum(-1).all()


def test_without_numbers_of_documents_the_second_sees_the_first():
    model, batch = gpt(), packed(ids(1, 5)[0], ids(1, 7)[0])
    apart = next_token(model, batch)[0].item()
    batch.pop("documents")
    assert abs(next_token(model, batch)[0].item() - apart) > 1e-3


def test_padding_that_is_asked_for_is_refused():
    batch = packed(ids(1, 5)[0], ids(1, 5)[0])
    batch["targets"][0, 10] = 3
    with pytest.raises(InputError, match=r"padding at \[0, 10\] has a target"):
        next_token(gpt(), batch)
    with pytest.raises(InputError, match=r"documents \(1, 5\) must have the shape"):
        next_token(gpt(), batch | {"documents": batch["documents"][:, :5]})


# One by one


def test_bfloat16_logits_are_scored_in_float32():
    logits = (5 * torch.randn(4, T, V)).bfloat16()
    model = torch.nn.Module()
    model.forward = lambda ids: logits
    batch = next_batch()
    loss, _ = next_token(model, batch)
    model.forward = lambda ids: logits.double()
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(next_token(model, batch)[0].item(), rel=1e-5)


def test_only_hidden_tokens_are_asked_for_and_both_sides_are_seen():
    model, batch = bert(), masked_batch()
    batch["targets"] = torch.full_like(batch["targets"], -100)
    batch["targets"][3, 4] = 6
    expected = -model(batch["ids"][3:]).log_softmax(-1)[0, 4, 6].item()
    loss, count = masked_token(model, batch)
    assert (loss.item(), count) == (pytest.approx(expected, rel=1e-12), 1)
    batch["ids"][3, 8] = (batch["ids"][3, 8] + 1) % V
    assert abs(masked_token(model, batch)[0].item() - expected) > 1e-6


def test_padding_of_a_masked_text_changes_nothing():
    model, batch = bert(), masked_batch()
    batch["targets"] = batch["targets"].masked_fill(~batch["mask"], -100)
    loss = masked_token(model, batch)[0].item()
    batch["ids"] = torch.where(batch["mask"], batch["ids"], 3)
    assert masked_token(model, batch)[0].item() == pytest.approx(loss, rel=1e-12)


def test_a_prefix_of_one_token_is_the_next_token():
    model, batch = gpt(), next_batch()
    ones = batch | {"prefix": torch.ones(4, dtype=torch.int64)}
    assert prefix_token(model, ones) == next_token(model, batch)


def test_a_target_inside_the_prefix_is_refused():
    batch = prefix_batch()
    batch["targets"][1, 2] = 5
    with pytest.raises(InputError, match=r"target at \[1, 2\] lies in the prefix of 4 tokens"):
        prefix_token(gpt(), batch)
    batch["targets"][1, 2], batch["targets"][1, 3] = -100, 5  # the first behind the prefix
    prefix_token(gpt(), batch)


def test_padding_of_a_source_changes_nothing():
    model, batch = seq2seq(), span_batch()
    loss, count = span_corruption(model, batch)
    other = batch | {"source": torch.where(batch["source_mask"], batch["source"], 5)}
    assert count == 4 * T
    assert span_corruption(model, other)[0].item() == pytest.approx(loss.item(), rel=1e-12)


def test_a_pair_that_the_model_knows_nothing_of_costs_one_bit():
    model = pair_model()
    for p in model.follows.parameters():
        torch.nn.init.zeros_(p)
    loss, count = next_sentence(model, pair_batch())
    assert (loss.item(), count) == (pytest.approx(4 * math.log(2), rel=1e-12), 4)


def test_the_two_objectives_of_a_bert_add_up_to_the_sum_of_their_means():
    """Three tokens are hidden in every row, so a pair counts as three."""
    model, batch = pair_model(), pair_batch()
    batch["targets"] = torch.full((4, T), -100)
    batch["targets"][:, :3] = torch.randint(V, (4, 3))
    loss, count = MaskedPairs(3)(model, batch)
    tokens, pairs = model(batch["ids"], mask=batch["mask"], segments=batch["segments"])
    first = torch.nn.functional.cross_entropy(tokens[:, :3].mT, batch["targets"][:, :3])
    second = torch.nn.functional.cross_entropy(pairs, batch["follows"])
    assert count == 12
    assert loss.item() / count == pytest.approx((first + second).item(), rel=1e-12)


def test_a_model_without_a_head_for_pairs_is_refused():
    with pytest.raises(InputTypeError, match=r"logits of tokens and of pairs, .* got Tensor"):
        next_sentence(bert(), pair_batch())


def test_an_answer_that_is_neither_yes_nor_no_is_refused():
    batch = pair_batch() | {"follows": torch.tensor([0, 1, 2, 1])}
    with pytest.raises(InputError, match=r"target 2 at \[2\] is outside 0\.\.1"):
        next_sentence(pair_model(), batch)


# Several tokens ahead


def test_one_head_is_the_next_token():
    model, batch = several(), next_batch()
    model.further = model.further[:0]
    loss, count = MultiToken()(model, batch)
    expected, number = next_token(model.gpt, batch)
    assert (loss.item(), count) == (pytest.approx(expected.item(), rel=1e-12), number)


def test_each_head_is_asked_for_the_token_at_its_distance():
    """A text of T + 1 tokens: head i has T - i targets, the token i + 1 places ahead."""
    model, text = several(), ids(2, T + 1)
    loss, count = MultiToken()(model, {"ids": text[:, :-1], "targets": text[:, 1:]})
    logp = model(text[:, :-1]).log_softmax(-1)  # (B, T, H, V)
    places = [(b, t, i) for b in range(2) for i in range(3) for t in range(T - i)]
    expected = -sum(logp[b, t, i, text[b, t + i + 1]].item() for b, t, i in places)
    assert (loss.item(), count) == (pytest.approx(expected, rel=1e-12), len(places))


def test_no_head_is_asked_for_a_token_of_another_document():
    """Of two documents of 4 and 3 tokens the heads have 3 + 2, 2 + 1 and 1 targets."""
    _, count = MultiToken()(several(), packed(ids(1, 4)[0], ids(1, 3)[0]))
    assert count == 5 + 3 + 1


def test_heads_that_reach_behind_the_window_ask_nothing():
    batch = {name: value[:, :2] for name, value in next_batch().items()}
    assert MultiToken()(several(), batch)[1] == sum(
        int((batch["targets"][:, i:] >= 0).sum()) for i in range(2)
    )


def test_logits_without_heads_are_refused():
    with pytest.raises(InputError, match="need an axis of heads"):
        MultiToken()(gpt(), next_batch())


# Smoothing and the size of the logits


@pytest.mark.parametrize(
    ("read", "plain", "make", "batch"),
    [(None, next_token, gpt, next_batch), (read_masked, masked_token, bert, masked_batch)],
)
def test_without_smoothing_or_penalty_it_is_the_plain_objective(read, plain, make, batch):
    model, asked = make(), batch()
    objective = TokenLoss() if read is None else TokenLoss(read=read)
    assert objective(model, asked) == plain(model, asked)


def test_smoothing_and_penalty_add_what_they_say_at_targets_alone():
    model, batch = gpt(), next_batch()
    loss, count = TokenLoss(label_smoothing=0.2, z=0.5)(model, batch)
    logits, asked = model(batch["ids"]), batch["targets"] >= 0
    smooth = torch.nn.functional.cross_entropy(
        logits[asked], batch["targets"][asked], label_smoothing=0.2, reduction="sum"
    )
    expected = smooth + 0.5 * z_loss(logits)[asked].sum()
    assert (loss.item(), count) == (pytest.approx(expected.item(), rel=1e-12), asked.sum())


def test_the_penalty_alone_pulls_a_shifted_bias_back():
    """A cross-entropy has no gradient along a shift of all logits; the penalty has."""
    shift = torch.zeros(1, requires_grad=True)
    model = torch.nn.Module()
    model.forward = lambda ids: torch.zeros(*ids.shape, V) + shift
    plain, *_ = torch.autograd.grad(next_token(model, next_batch())[0], shift)
    pulled, *_ = torch.autograd.grad(TokenLoss(z=1.0)(model, next_batch())[0], shift)
    asked = int((next_batch()["targets"] >= 0).sum())
    assert abs(plain.item()) < 1e-12
    assert pulled.item() == pytest.approx(2 * math.log(V) * asked, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: TokenLoss(z=-1.0), "z=-1.0 must be at least 0"),
        (lambda: TokenLoss(z=math.nan), "z=nan must be at least 0"),
        (lambda: TokenLoss(label_smoothing=1.5), r"label_smoothing=1.5 is outside 0\.\.1"),
        (lambda: MaskedPairs(math.inf), "weight=inf must be at least 0 and finite"),
    ],
)
def test_weights_that_make_no_sense_are_refused(make, says):
    with pytest.raises(ConfigError, match=says):
        make()


def test_a_run_records_which_objective_it_had():
    assert describe(MaskedPairs(2.5)) == {"class": "MaskedPairs", "weight": 2.5}
    told = describe(TokenLoss(z=1e-4))
    assert told["read"] == "mathlm.train.read_causal"
    assert (told["class"], told["z"]) == ("TokenLoss", 1e-4)


def test_masked_diffusion_divides_by_the_level_of_each_row_and_counts_every_real_token():
    model, batch = bert(), masked_batch()
    batch["targets"] = batch["targets"].masked_fill(~batch["mask"], -100)
    batch["levels"] = torch.tensor([0.2, 0.5, 0.7, 1.0], dtype=torch.float64)
    loss, count = masked_diffusion(model, batch)
    logp = model(batch["ids"], mask=batch["mask"]).log_softmax(-1)
    expected = sum(
        -logp[b, t, y].item() / batch["levels"][b].item()
        for b, row in enumerate(batch["targets"].tolist())
        for t, y in enumerate(row)
        if y != -100
    )
    assert (loss.item(), count) == (pytest.approx(expected, rel=1e-12), 9 + 4 + 7 + 9)
    parts = [
        masked_diffusion(model, {k: v[i : i + 2] for k, v in batch.items()}) for i in (0, 2)
    ]
    assert sum(part.item() for part, _ in parts) == pytest.approx(expected, rel=1e-12)
    del batch["mask"]
    assert masked_diffusion(model, batch)[1] == 4 * T
