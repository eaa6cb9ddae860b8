"""Three architectures of one body, in runs of seconds."""

import pytest
import torch

from lab.architectures.architectures import held_out, train
from lab.architectures.one_body import ArchitectureConfig, build
from mathlm.errors import ConfigError
from mathlm.models import GPT, MaskedBert, Transformer

KINDS = {"gpt": GPT, "bert": MaskedBert, "encoder-decoder": Transformer}


@pytest.fixture(autouse=True)
def single_precision(unchecked):
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(("kind", "model"), KINDS.items())
def test_the_bodies_have_one_size(kind, model):
    """Two blocks of 12 D² weights; the decoder's has another 4 D² that read the encoder."""
    made = build(ArchitectureConfig(kind=kind, width=16))
    assert type(made) is model
    blocks = [p for n, p in made.named_parameters() if p.ndim == 2 and ("W_" in n)]
    weights = sum(p.numel() for p in blocks)
    assert weights == (28 if kind == "encoder-decoder" else 24) * 16**2


@pytest.mark.parametrize("kind", KINDS)
def test_tables_and_maps_start_alike(kind):
    """Tables normal with D^-½ = 1/8; maps uniform, of variance 2 / (rows + columns)."""
    named = dict(build(ArchitectureConfig(kind=kind)).named_parameters())
    for name, p in named.items():
        if p.ndim == 2:
            table = "embedding" in name or "position" in name
            std = 1 / 8 if table else (2 / sum(p.shape)) ** 0.5
            assert p.std().item() == pytest.approx(std, rel=0.25 if p.numel() < 999 else 0.1)


def test_the_sentences_asked_about_are_not_trained_on():
    training, asked = ({tuple(row) for row in rows.tolist()} for rows in held_out())
    assert (len(training), len(asked)) == (900, 100)
    assert not training & asked


def test_a_gpt_translates_and_cannot_look_to_the_right():
    run = train(ArchitectureConfig(kind="gpt", steps=120, lr=1e-2))
    way = run.answers[120]["gpt"]
    assert way["translate"] > 0.9
    assert way["word on the right"] > 0.9
    assert way["word on the left"] < 0.25  # one word in ten by chance
    assert run.answers[120]["gpt, every word tried"]["word on the left"] > 0.9
    assert sum(run.targets) == 120 * 32 * 8  # every word but the first


@pytest.mark.slow
def test_a_bert_fills_words_on_either_side():
    run = train(ArchitectureConfig(kind="bert", published=True, steps=200))
    way = run.answers[200]["bert, one by one"]
    assert min(way["word on the left"], way["word on the right"]) > 0.9
    assert sum(run.targets) == 200 * 32  # 15 % of eight words are one


def test_an_encoder_decoder_learns():
    run = train(ArchitectureConfig(kind="encoder-decoder", steps=60), every=25)
    assert sorted(run.answers) == [25, 50, 60]
    assert sum(run.loss[-10:]) < 0.7 * sum(run.loss[:10])
    assert not run.model.training


def test_a_run_is_a_function_of_its_seed():
    runs = [train(ArchitectureConfig(steps=5, seed=seed)).loss for seed in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "rnn"}, "kind='rnn' is not one of gpt, bert, encoder-decoder"),
        ({"blocks": 3}, "blocks must be even"),
        ({"steps": 1}, "steps at least 2"),
        ({"batch": 0}, "batch at least 1"),
    ],
)
def test_runs_that_make_no_sense_are_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        ArchitectureConfig(**options)


@pytest.mark.parametrize(
    ("kind", "ways"),
    [
        ("gpt", ["gpt", "gpt, every word tried"]),
        ("bert", ["bert", "bert, one by one"]),
        ("encoder-decoder", ["encoder-decoder"]),
    ],
)
def test_a_model_is_asked_in_every_way_of_its_kind(kind, ways):
    assert list(train(ArchitectureConfig(kind=kind, steps=2)).answers[2]) == ways


def test_weights_are_counted_by_hand():
    gpt, bert = (
        sum(p.numel() for p in build(ArchitectureConfig(kind=kind)).parameters())
        for kind in ("gpt", "bert")
    )
    assert gpt == 26 * 64 + 11 * 64 + 2 * (12 * 64**2 + 13 * 64) + 2 * 64
    assert bert - gpt == 64**2 + 3 * 64 + 26 + 64  # head and segment
