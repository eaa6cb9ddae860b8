"""Tables of patched runs, against one patched run for each entry."""

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import At, Steered, activation_patching, patch, record, recovered
from mathlm.models import GPT, Bert, BertConfig, GPTConfig

SIZES = {"vocab_size": 11, "context": 8, "d_model": 8, "n_layers": 3, "n_heads": 4}
KINDS = {
    "gpt2": {"norm": "layer", "bias": True, "position": "learned"},
    "llama": {"norm": "rms", "position": "rope", "bias": "qkv", "n_kv_heads": 2},
    "alibi": {"position": "alibi", "window": 3},
}
CLEAN = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
CORRUPT = torch.tensor([[7, 1, 4, 8, 5], [9, 0, 6, 5, 3]])
STREAM = ["resid_pre", "attention_out", "resid_mid", "feed_forward_out", "resid_post"]


def perturbed(kind="llama"):
    """A GPT whose weights are large enough for every part to matter."""
    model = GPT(GPTConfig(**SIZES | KINDS[kind])).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.3)
    return model


def margin(logits):
    """Of token 2 before token 7 at the last position, of each row."""
    return logits[:, -1, 2] - logits[:, -1, 7]


PLACES = [(0, 0), (0, 3), (1, 2), (2, 3)]


def some_entries(model, site, part):
    """Entries of the table at PLACES, each by a patched run of its own."""
    clean, found = record(model, CLEAN), []
    for i, j in PLACES:
        name = f"blocks.{i}.{site}"
        value = At(value=clean[name], **{part: [j]})
        found.append(margin(patch(model, CORRUPT, {name: value})).mean())
    return torch.stack(found)


@pytest.mark.parametrize(
    ("kind", "site"),
    [("llama", site) for site in STREAM] + [("gpt2", "resid_mid"), ("alibi", "resid_pre")],
)
def test_each_position_is_a_patched_run(kind, site):
    model = perturbed(kind)
    found = activation_patching(model, CLEAN, CORRUPT, margin, site)
    assert found.shape == (3, 5)
    expected = some_entries(model, site, "positions")
    entries = torch.stack([found[place] for place in PLACES])
    torch.testing.assert_close(entries, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "part"),
    [("llama", part) for part in ("q", "k", "v", "weights", "heads")]
    + [("gpt2", "heads"), ("alibi", "weights")],
)
def test_each_head_is_a_patched_run(kind, part):
    model, site = perturbed(kind), f"attention.{part}"
    found = activation_patching(model, CLEAN, CORRUPT, margin, site)
    assert found.shape == (3, 4)
    expected = some_entries(model, site, "heads")
    entries = torch.stack([found[place] for place in PLACES])
    torch.testing.assert_close(entries, expected, rtol=1e-12, atol=1e-12)


def test_places_may_be_done_in_any_number_at_once(monkeypatch):
    model = perturbed()
    together = activation_patching(model, CLEAN, CORRUPT, margin)
    monkeypatch.setattr(
        "mathlm.interpret.causal_tracing.AT_ONCE", 20
    )  # two places of ten tokens
    torch.testing.assert_close(activation_patching(model, CLEAN, CORRUPT, margin), together)


def test_some_layers_are_rows_of_the_table():
    model = perturbed()
    every = activation_patching(model, CLEAN, CORRUPT, margin, "resid_mid")
    some = activation_patching(model, CLEAN, CORRUPT, margin, "resid_mid", [2, 0])
    assert torch.equal(some, every[[2, 0]])


@torch.no_grad()
def test_behind_the_last_block_only_the_last_position_matters_and_it_brings_all_back():
    model = perturbed()
    table = activation_patching(model, CLEAN, CORRUPT, margin, "resid_post", [2])
    share = recovered(table, margin(model(CLEAN)).mean(), margin(model(CORRUPT)).mean())
    expected = torch.tensor([[0.0, 0.0, 0.0, 0.0, 1.0]])
    torch.testing.assert_close(share, expected, rtol=1e-9, atol=1e-9)


def test_in_front_of_the_first_block_only_other_tokens_matter():
    """Of the first pair the tokens at positions 0 and 3 differ."""
    model = perturbed()
    found = activation_patching(model, CLEAN[:1], CORRUPT[:1], margin, layers=[0])[0]
    same = margin(model(CORRUPT[:1])).detach()
    torch.testing.assert_close(found[[1, 2, 4]], same.expand(3), rtol=1e-12, atol=1e-12)
    assert (found[[0, 3]] - same).abs().min() > 1e-3


@pytest.mark.parametrize("site", STREAM)
def test_positions_in_front_of_the_first_difference_are_as_patched_one_by_one(site):
    """The rows share two and one first tokens: position 1 differs in the second row alone."""
    model, corrupt = perturbed(), torch.tensor([[3, 1, 0, 8, 5], [9, 0, 6, 5, 3]])
    clean = record(model, CLEAN)[f"blocks.1.{site}"]
    found = activation_patching(model, CLEAN, corrupt, margin, site, layers=[1])[0]
    for j in range(5):
        values = {f"blocks.1.{site}": At(value=clean, positions=[j])}
        expected = margin(patch(model, corrupt, values)).mean()
        torch.testing.assert_close(found[j], expected, rtol=1e-12, atol=1e-12)
    same = activation_patching(model, CLEAN, CLEAN, margin, site)
    torch.testing.assert_close(same, margin(model(CLEAN)).mean().expand(3, 5))


def test_a_share_is_a_quarter_by_hand():
    assert recovered(3.0, 6.0, 2.0) == 0.25
    with pytest.raises(InputError, match="2 in the clean run and 2 in the other"):
        recovered(1.0, 2.0, 2.0)


def test_what_cannot_be_traced_is_refused():
    model = perturbed()
    with pytest.raises(InputError, match=r"\(2, 4\) and .* \(2, 5\) must .* as many tokens"):
        activation_patching(model, CLEAN[:, :4], CORRUPT, margin)
    with pytest.raises(InputError, match=r"site='resid' is not one of resid_pre"):
        activation_patching(model, CLEAN, CORRUPT, margin, "resid")
    with pytest.raises(InputError, match=r"layers=\[3\] must be some of 0 to 2"):
        activation_patching(model, CLEAN, CORRUPT, margin, layers=[3])
    with pytest.raises(InputError, match="metric gives nan"):
        activation_patching(model, CLEAN, CORRUPT, lambda z: margin(z) * torch.nan)
    with pytest.raises(InputTypeError, match="Bert is not a GPT"):
        activation_patching(Bert(BertConfig(**SIZES)).eval(), CLEAN, CORRUPT, margin)


@pytest.mark.usefixtures("unchecked")
def test_prompts_and_metrics_that_are_no_tensors_are_refused():
    model = perturbed()
    with pytest.raises(InputTypeError, match=r"ids must be a tensor \(B, T\), got list"):
        activation_patching(model, CLEAN.tolist(), CORRUPT, margin)
    with pytest.raises(InputTypeError, match="metric gives a float: expected a tensor"):
        activation_patching(model, CLEAN, CORRUPT, lambda logits: float(logits[0, -1, 2]))


def test_a_metric_may_count_right_answers():
    found = activation_patching(
        perturbed(), CLEAN, CORRUPT, lambda z: z[:, -1].argmax(-1) == 3, layers=[0]
    )
    assert set((2 * found).flatten().tolist()) <= {0.0, 1.0, 2.0}


def test_a_share_needs_one_number_of_each_run():
    model = perturbed()
    with pytest.raises(InputError, match=r"is \(2,\), expected one number: take the mean"):
        recovered(torch.ones(3, 5), margin(model(CLEAN)), margin(model(CORRUPT)))
    assert recovered(3.0, torch.tensor(6.0, requires_grad=True), 2.0) == 0.25


@pytest.mark.parametrize(
    "metric", [lambda z: z[:, :, 2], lambda z: z[-1, -1, :7]], ids=["all", "some"]
)
def test_a_metric_of_more_than_a_number_a_row_is_refused(metric):
    """Such as one that forgets to say at which position: its mean would be another number."""
    with pytest.raises(
        InputError, match=r"of logits \(2, 5, 11\): expected .* one a row, \(2,\)"
    ):
        activation_patching(perturbed(), CLEAN, CORRUPT, metric)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "layers", [2, [0.0], [True], "01"], ids=["int", "float", "bool", "text"]
)
def test_layers_that_are_no_list_of_whole_numbers_are_refused(layers):
    with pytest.raises(
        InputTypeError, match=r"asks for layers .* give a list of whole numbers"
    ):
        activation_patching(perturbed(), CLEAN, CORRUPT, margin, layers=layers)


def test_a_steered_model_is_refused_as_its_vector_would_be_lost_on_the_way():
    steered = Steered(perturbed(), {"blocks.2.resid_mid": torch.ones(8)})
    with pytest.raises(InputError, match=r"the model is steered at blocks.2.resid_mid"):
        activation_patching(steered, CLEAN, CORRUPT, margin)


@pytest.mark.usefixtures("unchecked")
def test_shares_of_what_is_no_finite_number_are_refused():
    with pytest.raises(InputError, match="patched holds NaN"):
        recovered(torch.tensor([1.0, torch.nan]), 2.0, 1.0)
    with pytest.raises(InputTypeError, match="a metric is a list: expected a number"):
        recovered([1.0], 2.0, 1.0)
    with pytest.raises(InputTypeError, match="a metric is a str"):
        recovered(1.0, "2", 1.0)
