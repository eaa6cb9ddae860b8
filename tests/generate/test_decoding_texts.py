"""From texts of different lengths to what a model writes behind each."""

import pytest
import torch

from mathlm.generate import generate
from mathlm.models import GPT, GPTConfig, Recurrent, RecurrentConfig
from mathlm.text import ByteBPE, Bytes

TEXTS = ["To be, or not to be", "O", "Now is the winter"]
NEW = 8


def make(position):
    model = GPT(
        GPTConfig(
            vocab_size=256, context=64, d_model=16, n_layers=2, n_heads=4, position=position
        )
    )
    for p in model.parameters():
        p.data += 0.2 * torch.randn_like(p)
    return model


def alone(model, tokenizer, texts, **options):
    """The new tokens of each text, which the model reads by itself."""
    prompts = [torch.tensor([tokenizer.encode(text)]) for text in texts]
    return [generate(model, p, NEW, **options)[0, p.shape[1] :].tolist() for p in prompts]


@pytest.mark.parametrize("position", ["learned", "rope", "alibi", "relative", "none"])
@pytest.mark.parametrize("padding", ["left", "right"])
def test_a_padded_batch_is_continued_as_each_text_alone(position, padding):
    model, tokenizer = make(position), Bytes()
    ids, mask = map(torch.from_numpy, tokenizer(TEXTS, padding=padding))
    written = model.generate(ids, NEW, temperature=0, mask=mask)
    assert written[:, ids.shape[1] :].tolist() == alone(model, tokenizer, TEXTS, temperature=0)


def test_without_the_mask_padding_is_read():
    """So that the test above could fail."""
    model, tokenizer = make("rope"), Bytes()
    ids, _ = map(torch.from_numpy, tokenizer(TEXTS, padding="left"))
    written = model.generate(ids, NEW, temperature=0)[:, ids.shape[1] :].tolist()
    assert written != alone(model, tokenizer, TEXTS, temperature=0)


def test_text_follows_text_when_padding_is_on_the_left():
    model, tokenizer = make("rope"), Bytes()
    ids, mask = tokenizer(TEXTS, padding="left")
    written = model.generate(
        torch.from_numpy(ids), NEW, mask=torch.from_numpy(mask), temperature=0
    )
    for text, row, real in zip(TEXTS, written, mask, strict=True):
        told = tokenizer.decode(row[ids.shape[1] - real.sum() :].tolist())
        assert told.startswith(text)


def test_the_id_on_padding_changes_nothing():
    model, tokenizer = make("rope"), ByteBPE.train(TEXTS, 256)
    rows = [
        model.generate(torch.from_numpy(b.ids), NEW, mask=torch.from_numpy(b.mask), seed=1)
        for b in (tokenizer(TEXTS, padding="left", pad_id=i) for i in (0, 101))
    ]
    assert torch.equal(rows[0][:, -NEW:], rows[1][:, -NEW:])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"temperature": 0},
        {"temperature": 0.7, "top_k": 5, "top_p": 0.9, "seed": 3},
        {"seed": 3, "min_p": 0.1, "stop": [7], "cache": False},
    ],
)
@pytest.mark.parametrize("kind", ["gpt", "recurrent"])
def test_the_method_is_the_function(kind, options):
    sizes = RecurrentConfig(vocab_size=256, d_model=8)
    model = make("rope") if kind == "gpt" else Recurrent(sizes)
    ids = torch.randint(256, (2, 5))
    options = {"seed": 0} | options
    assert torch.equal(
        model.generate(ids, NEW, **options), generate(model, ids, NEW, **options)
    )


def test_arguments_of_the_method_have_the_places_of_those_of_the_function():
    model, ids = make("rope"), torch.randint(256, (2, 5))
    given = NEW, 0.7, 5, 0.9, 3
    assert torch.equal(model.generate(ids, *given), generate(model, ids, *given))
