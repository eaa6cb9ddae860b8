"""Ways of tuning and their measures, on models of two layers."""

import json
import math

import numpy as np
import pytest
import torch
from torch.nn.utils import parameters_to_vector

from lab.fine_tuning import (
    fine_tuning,
    fine_tuning_chats,
    fine_tuning_smollm2,
    fine_tuning_study,
)
from lab.fine_tuning.fine_tuning_chats import Sizes, parts, spread
from lab.fine_tuning.fine_tuning_line import between, second_order, spectra
from lab.fine_tuning.fine_tuning_measures import answer_loss, old_loss
from lab.fine_tuning.fine_tuning_methods import LADDER, METHODS
from lab.fine_tuning.fine_tuning_own_texts import OwnTexts
from lab.fine_tuning.fine_tuning_run import run, samples, training
from lab.fine_tuning.fine_tuning_search import search, stopped
from lab.fine_tuning.fine_tuning_tasks import task
from mathlm.models import GPT, GPTConfig
from mathlm.text import Bytes, ChatFormat, Message
from mathlm.text.corpora.instructions import same_prompt

TEXT = "What is here said was said before, and will be said again. " * 12
TALKS = [
    [Message("user", f"What is {n}?"), Message("assistant", f"It is {n}{n} or {n * n}.")]
    for n in range(12)
]
SIZES = Sizes(rows=1, context=60, held_out=2, old=2, own=2, length=6, tokens=4)


@pytest.fixture
def model():
    torch.manual_seed(1)
    config = GPTConfig(
        vocab_size=256, context=144, d_model=64, n_layers=2, n_heads=2, norm="rms",
        bias=False, activation="swiglu", position="rope", tie_embeddings=True, d_ff=72,
    )  # fmt: skip
    return GPT(config).eval()


@pytest.fixture
def tiny(model, monkeypatch):
    monkeypatch.setattr(
        fine_tuning_chats, "parts", lambda: (TALKS[:8], TALKS[8:10], TALKS[10:])
    )
    format = ChatFormat.named()
    return task(model, Bytes(format.special), format, (TEXT, TEXT[60:]), SIZES)


class Fixed(GPT):
    """A model that says the same whatever it reads."""

    def __init__(self, logits):
        super().__init__(GPTConfig(vocab_size=2, context=8, d_model=2, n_layers=1, n_heads=1))
        self.logits = logits

    def forward(self, ids, **options):
        return self.logits


def one_by_one(model, encoded):
    """Surprise of every answer token, each conversation read alone."""
    found = []
    for chat in encoded.chats:
        logp = model(torch.from_numpy(chat.ids)[None])[0].log_softmax(-1)
        for t in np.flatnonzero(chat.mask):
            found.append((-float(logp[t - 1, chat.ids[t]]), int(chat.ids[t])))
    return found


@torch.no_grad()
def test_the_loss_of_answers_is_that_of_each_conversation_alone(tiny):
    batches, end = tiny.data(0), tiny.measures.end
    alone = one_by_one(tiny.base, batches.encoded)
    found = answer_loss(tiny.base, list(batches), end)
    assert found["answers"] == pytest.approx(np.mean([x for x, _ in alone]), rel=1e-12)
    ends = [x for x, token in alone if token == end]
    assert found["end"] == pytest.approx(np.mean(ends), rel=1e-12)
    assert len(ends) == 8


@torch.no_grad()
def test_the_error_of_answers_counts_conversations_not_tokens():
    """Two conversations with the losses (1, 1) and (3, 3): mean 2, error √(2² + 2²) / 4."""
    probability = torch.tensor([[1.0, 1.0, 3.0, 3.0]]).neg().exp()
    logits = torch.stack((probability.log(), (1 - probability).log()), -1)

    targets = torch.zeros(1, 4, dtype=torch.int64)
    documents = torch.tensor([[0, 0, 1, 1]])
    batch = {"ids": targets, "targets": targets, "documents": documents}
    found = answer_loss(Fixed(logits), [batch], end=1)
    assert (found["answers"], found["answers_se"]) == pytest.approx((2, math.sqrt(8) / 4))


def test_old_text_is_counted_in_bits_of_bytes():
    """Two symbols alike, each of 4 bytes: a bit for each token is 1/4 bit for each byte."""
    ids = torch.zeros(1, 6, dtype=torch.int64)
    found = old_loss(Fixed(torch.zeros(1, 6, 2)), [{"ids": ids, "targets": ids}], size=24)
    assert found == pytest.approx(0.25)


@torch.no_grad()
def test_the_divergence_on_own_texts_is_unbiased():
    """Weighed with their probabilities, all texts give the divergence of the definition."""
    config = GPTConfig(vocab_size=3, context=4, d_model=8, n_layers=1, n_heads=1)
    p, q = GPT(config).eval(), GPT(config).eval()
    for model in (p, q):
        model.head.weight.normal_()
    texts = torch.cartesian_prod(torch.tensor([0]), torch.arange(3), torch.arange(3))
    logp, logq = (m(texts[:, :-1]).log_softmax(-1) for m in (p, q))
    of_text = [x.gather(2, texts[:, 1:, None]).sum((1, 2)) for x in (logp, logq)]
    exact = (of_text[0].exp() * (of_text[0] - of_text[1])).sum() / 2
    pairs = [OwnTexts(texts[[i, i]], logp[[i, i]]).divergence(q)["kl"] for i in range(9)]
    assert float(of_text[0].exp() @ torch.tensor(pairs)) == pytest.approx(float(exact))


def test_a_model_is_where_its_own_texts_say_it_is(tiny):
    assert tiny.measures(tiny.base)["kl"] == 0


def test_no_question_is_in_two_parts():
    asked = [{same_prompt(c[0].content) for c in part} for part in parts()]
    assert all(asked)
    assert len(asked[0] | asked[1] | asked[2]) == sum(map(len, asked))


def test_old_windows_are_spread_from_the_first_to_the_last_whole_one():
    """Of 20 windows the numbers 18 k / 10, rounded down; the last one is left out."""
    batches = spread(np.arange(101), 11, 5, 101)
    starts = torch.cat([batch["ids"][:, 0] for batch in batches]).tolist()
    assert starts == [0, 5, 15, 25, 35, 45, 50, 60, 70, 80, 90]


COUNTS = {  # d 64, 2 layers, feed-forward 72: maps of 64 × 64 (four) and 64 × 72 (three)
    "full": 256 * 64 + 2 * (4 * 64 * 64 + 3 * 64 * 72 + 2 * 64) + 64,
    "last block": 4 * 64 * 64 + 3 * 64 * 72 + 2 * 64 + 64,
    "norms": 5 * 64,
    "markers": 4 * 64,
    "LoRA 4": 4 * 2 * (4 * 128 + 3 * 136),
    "LoRA 16, markers": 16 * 2 * (4 * 128 + 3 * 136) + 4 * 64,
    "bottleneck 16": 4 * (2 * 64 * 16 + 16 + 64),
    "gated prefix 16": 2 * 16 * 2 * 64 + 2 * 2,
    "prefix 16": 2 * 16 * 2 * 64,
    "prompt 16": 16 * 64,
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_method_trains_as_many_numbers_as_its_formula_says(tiny, name):
    assert run(tiny, name, 1e-3, 1, ())[1]["trained"] == COUNTS[name]


@pytest.mark.parametrize("name", [n for n in METHODS if n not in ("prefix 16", "prompt 16")])
def test_a_method_begins_as_its_base(tiny, name):
    model, _ = training(tiny, name, 1e-3, 4, 0)
    ids = torch.arange(40)[None]
    assert torch.equal(model.eval()(ids), tiny.base(ids))


def test_only_the_rows_of_the_markers_move(tiny):
    model, found = run(tiny, "markers", 0.1, 3, (1, 3))
    moved = (model.token_embedding.weight != tiny.base.token_embedding.weight).any(1)
    assert set(moved.nonzero().flatten().tolist()) == set(tiny.markers)
    assert [row["step"] for row in found["curve"]] == [1, 3]
    assert found["curve"][1]["end"] < found["curve"][0]["end"]


def test_a_run_leaves_the_base_and_depends_on_its_seed_alone(tiny):
    before = tiny.base.head.weight.clone()
    first, second = (run(tiny, "LoRA 4", 1e-2, 2, (2,), 3)[1]["curve"] for _ in range(2))
    assert first == second
    assert run(tiny, "LoRA 4", 1e-2, 2, (2,), 4)[1]["curve"] != first
    assert torch.equal(tiny.base.head.weight, before)


def test_a_pull_to_the_start_stays_nearer_to_it(tiny):
    far, near = (run(tiny, n, 3e-3, 6, (6,))[0] for n in ("full", "towards start 0.1"))
    start = parameters_to_vector(tiny.base.parameters())
    a, b = ((parameters_to_vector(m.parameters()) - start).norm() for m in (far, near))
    assert b < 0.9 * a


@pytest.mark.parametrize("start", [1e-3, 3e-2])
def test_the_search_ends_between_two_worse_step_sizes(start):
    """The best is 1e-2, above or below the first that is tried."""
    loss = {x: abs(math.log10(x) + 2) for x in LADDER}
    tried = []

    def once(step_size):
        tried.append(step_size)
        return {"curve": [{"choice": loss[step_size]}], "step_size": step_size}

    best, runs = search(once, start)
    assert best == 1e-2
    assert {3e-3, 1e-2, 3e-2} < set(tried)
    assert [r["step_size"] for r in runs] == sorted(tried)


def test_early_stopping_keeps_the_best_before_its_patience_ends():
    assert stopped([3.0, 2.0, 2.5, 2.1, 1.0]) == 1
    assert stopped([3.0, 2.0, 2.5, 1.9, 2.0]) == 3


def test_the_ends_of_the_line_are_both_models(tiny, model):
    other = GPT(model.config)
    ids = torch.arange(9)[None]
    assert torch.equal(between(model, other, 0.0)(ids), model(ids))
    torch.testing.assert_close(between(model, other, 1.0)(ids), other(ids))


def test_slope_and_curvature_are_those_of_finite_differences(tiny):
    base, tuned = tiny.base, GPT(tiny.base.config)
    batch = tiny.measures.old[0]
    h, size = 1e-4, batch["targets"].numel() * math.log2(math.e)
    low, mid, high = (
        old_loss(between(base, tuned, t), [batch], 1) / size for t in (-h, 0.0, h)
    )
    found = second_order(base, tuned, [batch])
    assert found["slope"] == pytest.approx((high - low) / (2 * h), rel=1e-5)
    assert found["curvature"] == pytest.approx((high - 2 * mid + low) / h**2, rel=1e-3)


@torch.no_grad()
def test_the_spectrum_of_a_change_of_rank_one_has_one_value(model):
    other = GPT(model.config)
    other.load_state_dict(model.state_dict())
    u, v = torch.randn(64), torch.randn(64)
    other.blocks[1].attention.W_q.weight.add_(torch.outer(u, v))
    found = spectra(model, other)
    row = found["blocks.1.attention.W_q.weight"]
    assert row["norm"] == pytest.approx(float(u.norm() * v.norm()))
    assert row["energy"][1] == pytest.approx(1)
    assert row["effective_rank"] == pytest.approx(1, abs=1e-6)
    assert found["blocks.0.attention.W_q.weight"]["norm"] == 0


def test_samples_end_with_the_mark_of_an_end(tiny):
    found = samples(tiny.base, tiny, "And", 5)
    assert list(found) == [*tiny.questions, "And"]
    assert all(len(text) > 0 for text in found.values())


def no_samples(*arguments):
    return {"question": "answer"}


def test_a_study_reads_what_it_has_and_records_all(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(fine_tuning_study, "plays", lambda: tiny)
    monkeypatch.setattr(fine_tuning_study, "samples", no_samples)
    monkeypatch.setattr(fine_tuning_study, "METHODS", {"full": METHODS["full"]})
    monkeypatch.setattr(fine_tuning_study, "SEEDS", (0, 1))
    monkeypatch.setattr(fine_tuning_study, "line", lambda *models: [])
    monkeypatch.setattr(fine_tuning_study, "OFTEN", (100,))
    path = tmp_path / "record.json"
    argv = ["--pieces", str(tmp_path / "p"), "--steps", "4", "--long", "10"]
    first = fine_tuning_study.main(argv)
    found = fine_tuning_study.main([*argv, "--record", str(path)])
    record = json.loads(path.read_text())
    assert record["methods"] == found["methods"] == first
    assert {"base", "line", "bends", "spectra", "long", "tenth"} <= set(record)


def test_smollm2_is_studied_the_same_way(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(fine_tuning_smollm2, "smollm2", lambda: tiny)
    monkeypatch.setattr(fine_tuning_smollm2, "samples", no_samples)
    sizes = {"full": (1e-4, 1e-3), "prompt 16": (1e-2,)}
    monkeypatch.setattr(fine_tuning_smollm2, "STEP_SIZES", sizes)
    path = tmp_path / "record.json"
    fine_tuning_smollm2.main(
        ["--pieces", str(tmp_path / "p"), "--steps", "3", "--record", str(path)]
    )
    methods = json.loads(path.read_text())["methods"]
    assert len(methods["full"]["search"]) == 2
    assert "spectra" in methods["full"]["search"][0]
    assert methods["prompt 16"]["final"]["step"] == 3


def test_a_live_run_measures_three_times(tiny):
    found = fine_tuning.live(["markers"], 6, {"markers": 0.1}, tiny)
    assert [row["step"] for row in found["markers"]["curve"]] == [1, 2, 6]
    assert found["base"]["kl"] == 0
