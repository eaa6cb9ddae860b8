"""The GPT on one page is the model of the package: same weights, same numbers, same text."""

from dataclasses import asdict

import pytest
import torch
from torch.testing import assert_close

from mathlm import text
from mathlm.generate import generate
from mathlm.models import GPT, PRESETS, GPTConfig, one_page_gpt
from mathlm.train import next_token

SMALL = one_page_gpt.Config(
    vocab_size=11, d_model=16, n_layers=3, n_heads=4, n_kv_heads=2, d_ff=24, rope_base=100.0
)
LLAMA = {"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False}


@pytest.fixture
def pair():
    """The model of the package and the one on a page, of the same weights."""
    model = GPT(GPTConfig(context=32, **LLAMA, **asdict(SMALL))).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    page = one_page_gpt.GPT(SMALL)
    page.load_state_dict(model.state_dict())
    return model, page


def ids_of(length, rows=3):
    return torch.randint(SMALL.vocab_size, (rows, length))


def test_logits_are_those_of_the_package(pair):
    model, page = pair
    ids = ids_of(20)
    assert_close(page(ids), model(ids), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("parts", [(7, 1, 1), (1, 8), (4, 5)])
def test_logits_with_a_cache_are_those_without(pair, parts):
    _, page = pair
    ids, cache = ids_of(9), [one_page_gpt.KVCache() for _ in page.blocks]
    read = [page(part, cache) for part in ids.split(parts, 1)]
    assert_close(torch.cat(read, 1), page(ids), rtol=1e-12, atol=1e-12)


def test_the_likeliest_text_is_that_of_the_package(pair):
    model, page = pair
    ids = ids_of(5)
    assert torch.equal(page.generate(ids, 20, 0.0), generate(model, ids, 20, temperature=0))


def test_loss_and_gradients_are_those_of_the_package(pair):
    model, page = pair
    ids = ids_of(12)
    total, count = next_token(model, {"ids": ids[:, :-1], "targets": ids[:, 1:]})
    (total / count).backward()
    page.loss(ids).backward()
    assert_close(page.loss(ids), total / count, rtol=1e-12, atol=1e-12)
    ours = dict(page.named_parameters())
    for name, weight in model.named_parameters():
        assert_close(ours[name].grad, weight.grad, rtol=1e-9, atol=1e-12)


def test_drawn_tokens_have_the_probabilities_of_the_logits(pair):
    _, page = pair
    ids = ids_of(4, rows=1)
    drawn = page.generate(ids.expand(20_000, -1), 1, temperature=2.0)[:, -1]
    found = drawn.bincount(minlength=SMALL.vocab_size) / len(drawn)
    expected = (page(ids)[0, -1] / 2).softmax(-1)
    assert_close(found, expected, rtol=0, atol=5 * 0.5 / len(drawn) ** 0.5)


def test_it_starts_as_spread_as_the_package_does():
    torch.manual_seed(0)
    config = one_page_gpt.Config(
        vocab_size=500, d_model=64, n_layers=2, n_heads=2, n_kv_heads=2
    )
    page = dict(one_page_gpt.GPT(config).named_parameters())
    model = GPT(GPTConfig(**LLAMA, **asdict(config)))
    for name, weight in model.named_parameters():
        assert_close(page[name].std(), weight.std(), rtol=0.05, atol=0)


def test_its_sizes_are_those_of_the_preset():
    preset = asdict(PRESETS["smollm2-135m"])
    sizes = {**asdict(one_page_gpt.Config()), **LLAMA, "tie_embeddings": True}
    assert {name: preset[name] for name in sizes} == sizes


@pytest.mark.slow
def test_it_writes_what_the_real_smollm2_writes():
    torch.set_default_dtype(torch.float32)
    model = GPT.from_pretrained(text.pretrained.find("smollm2"))
    page = one_page_gpt.GPT(one_page_gpt.Config())
    page.load_state_dict(model.state_dict())
    ids = torch.randint(model.config.vocab_size, (1, 8))
    assert torch.equal(page.generate(ids, 8, 0.0), generate(model, ids, 8, temperature=0))
