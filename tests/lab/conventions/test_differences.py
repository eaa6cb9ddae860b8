"""The rules of the table, compared with the libraries that are installed for tests."""

import math
import re
from pathlib import Path

import nbformat
import pytest
import torch

from lab.conventions import differences as d
from mathlm import align, functional, optim


def values(row):
    return {who: d.alternatives(value) for who, value in row().values.items()}


def test_every_line_has_a_value_of_ours_and_a_section():
    rows = [row() for row in d.TABLE]
    assert all("mathlm" in row.values and set(row.values) <= set(d.WHO) for row in rows)
    assert d.table().count("\n") == len(rows) + 1
    assert {len(row.cells()) for row in rows} == {7}


def test_every_line_leads_to_a_section_of_the_page():
    page = Path(__file__).resolve().parents[3] / "book" / "04-conventions.ipynb"
    prose = [c.source for c in nbformat.read(page, as_version=4).cells if c.cell_type != "code"]
    heads = re.findall(r"^#+ (.*)$", "\n".join(prose), re.MULTILINE)
    anchors = {re.sub(r"[^a-z]+", "-", head.lower()) for head in heads}
    assert {row().section for row in d.TABLE} <= anchors


def test_ties_by_hand():
    """Least bytes ab, greatest cd, first seen bc."""
    found = values(d.ties_of_merges)
    assert (found["mathlm"], found["transformers"]) == ({"ab"}, {"ab"})
    assert found["courses and papers"] == {"cd", "bc"}


def test_transformers_moves_labels():
    loss = pytest.importorskip("transformers.loss.loss_utils").ForCausalLMLoss
    ids, logits = torch.tensor([[5, 6, 7, 8]]), torch.randn(1, 4, 9)
    right = torch.nn.functional.cross_entropy(logits[0, :-1], ids[0, 1:])
    torch.testing.assert_close(loss(logits, ids, 9).double(), right, rtol=1e-6, atol=0)
    counted = loss(logits, ids, 9, num_items_in_batch=6)
    torch.testing.assert_close(counted.double(), right / 2, rtol=1e-6, atol=0)


def test_layers_of_gpt2_hold_inputs_by_outputs():
    layer = pytest.importorskip("transformers.pytorch_utils").Conv1D(3, 2)
    x = torch.randn(4, 2)
    torch.testing.assert_close(layer(x), d.conv1d(x, layer.weight) + layer.bias)


def test_transformers_pairs_halves():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    cos, sin = functional.rotary_table(5, 8)
    q = torch.randn(1, 1, 5, 8)
    theirs, _ = llama.apply_rotary_pos_emb(q, q, cos.repeat(1, 2)[None], sin.repeat(1, 2)[None])
    torch.testing.assert_close(theirs, functional.rotate_half_split(q, cos, sin))


def test_turning_backwards_is_turning_by_negative_angles():
    """Weights of the one are read by the other only with the sign of every sine turned."""
    (cos, sin), q, k = functional.rotary_table(5, 8), torch.randn(5, 8), torch.randn(5, 8)
    ways = functional.rotate_half_split, d.backwards
    forth, back = (turn(q, cos, sin) @ turn(k, cos, sin).T for turn in ways)
    assert not torch.allclose(forth, back)
    torch.testing.assert_close(d.backwards(q, cos, -sin), ways[0](q, cos, sin))
    torch.testing.assert_close(forth.diagonal(), back.diagonal())


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("gelu", functional.gelu),
        ("gelu_new", functional.gelu_tanh),
        ("quick_gelu", d.quick_gelu),
    ],
)
def test_forms_of_gelu(name, ours):
    activations = pytest.importorskip("transformers.activations")
    x = torch.linspace(-4, 4, 33)
    torch.testing.assert_close(activations.get_activation(name)(x), ours(x))


def test_warm_up_of_transformers():
    optimization = pytest.importorskip("transformers.optimization")
    schedule = optimization._get_cosine_schedule_with_warmup_lr_lambda
    options = {"num_warmup_steps": 4, "num_training_steps": 20, "num_cycles": 0.5}
    assert [schedule(t, **options) for t in range(4)] == [d.from_zero(t, 4) for t in range(4)]
    early = optim.warmup_cosine(peak=1.0, warmup=3, steps=20)
    assert [early(t) for t in range(4)] == [d.from_zero(t + 1, 4) for t in range(4)]


def test_the_biased_epsilon_is_that_of_adam_epsilon_hat():
    early = d._first_step(optim.AdamEpsilonHat, lr=1.0)
    assert early == pytest.approx(d.adam_first_step(1e-6, 1e-8, corrected=False), rel=1e-12)
    by_torch = d._first_step(torch.optim.Adam, lr=1.0)
    assert by_torch == pytest.approx(d.adam_first_step(1e-6, 1e-8, corrected=True), rel=1e-9)


def test_the_spread_of_trl():
    """trl.trainer.utils.nanstd, and 1e-4 outside of the root."""
    pytest.importorskip("trl")
    from trl.trainer.utils import nanstd

    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.5]])
    theirs = (rewards - rewards.mean()) / (nanstd(rewards, dim=1) + 1e-4)
    torch.testing.assert_close(align.group_advantages(rewards, correction=1), theirs)


def test_what_is_never_drawn_is_a_share_of_one_over_e():
    assert d.unread(10**6, 10**6) == pytest.approx(math.exp(-1), rel=1e-6)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(1000, (200, 1000), generator=generator)
    unread = 1 - torch.stack([row.unique().numel() / torch.tensor(1000.0) for row in drawn])
    assert abs(unread.mean() - d.unread(1000, 1000)) < 3 * unread.std() / 200**0.5


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("(1, 3); (1, 2) in GPT-2", {"(1, 3)", "(1, 2)"}),
        ("16,384 (PaLM); 9,216 pairs seen", {"16,384", "9,216"}),
        ("0.333, start", {"0.333"}),
        ("1.4997, ε = 10⁻⁴", {"1.4997"}),
        ("○○● prompts; ●○○ completions", {"○○●", "●○○"}),
    ],
)
def test_values_are_read_without_their_names(value, found):
    assert d.alternatives(value) == found


def test_agreement_by_hand():
    row = d.Difference("x", "x", "", {"mathlm": "1", "torch": "1; 2", "trl": "2"}, "")
    assert [d.agreement(row, who) for who in d.WHO[:4]] == ["same", "both", None, "other"]
