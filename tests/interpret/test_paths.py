"""Path patching, against runs in which all that is not on the path is held by hand."""

import pytest
import torch

from mathlm.adapt import add_prefix
from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import (
    At,
    Steered,
    Watched,
    activation_patching,
    patch,
    path_patch,
    path_patching,
    record,
    stream_contributions,
)
from mathlm.models import GPT, GPTConfig

SIZES = {"vocab_size": 11, "context": 8, "d_model": 8, "n_layers": 3, "n_heads": 4}
KINDS = {
    "gpt2": {"norm": "layer", "bias": True, "position": "learned"},
    "llama": {"norm": "rms", "position": "rope", "bias": "qkv", "n_kv_heads": 2},
}
IDS = torch.tensor([[7, 1, 4, 8, 5], [9, 0, 6, 5, 3]])
OTHER = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
ENDS = ["logits", "blocks.2.attention.q", "blocks.2.attention.k", "blocks.2.attention.v",
        "blocks.1.feed_forward_out"]  # fmt: skip


def perturbed(kind="llama"):
    """A GPT whose weights are large enough for every part to matter."""
    model = GPT(GPTConfig(**SIZES | KINDS[kind])).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.3)
    return model


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def margin(logits):
    """Of token 2 before token 7 at the last position, of each row."""
    return logits[:, -1, 2] - logits[:, -1, 7]


@torch.no_grad()
def held(model, layer, head, receiver, receiving):
    """By the definition: one head speaks as in the other run, all else is held."""
    own, other = record(model, IDS), record(model, OTHER)[f"blocks.{layer}.attention.heads"]
    reached = {}

    def hold(name, value):
        if name == f"blocks.{layer}.attention.heads":
            value = own[name].clone()
            value[:, head] = other[:, head]
        elif name.endswith(("attention.heads", "feed_forward_out")):
            reached[name] = value  # what it would say, were it not held
            value = own[name]
        reached.setdefault(name, value)
        return value

    logits = model(IDS, taps=Watched(hold))
    if receiver == "logits":
        return logits
    return patch(model, IDS, {receiver: At(value=reached[receiver], heads=receiving)})


@pytest.mark.parametrize(
    ("kind", "receiver"),
    [("llama", end) for end in ENDS] + [("gpt2", ENDS[0]), ("gpt2", ENDS[4])],
)
def test_a_path_is_a_run_in_which_all_else_is_held(kind, receiver):
    model = perturbed(kind)
    receiving = [0, 3] if ".attention." in receiver else None
    for layer, head in ((0, 1), (1, 2)):
        sender = [f"blocks.{layer}.attention.heads.{head}"]
        found = path_patch(model, IDS, OTHER, sender, receiver, receiving)
        close(found, held(model, layer, head, receiver, receiving))
        assert (found - model(IDS)).abs().max() > 1e-6


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_all_senders_into_the_logits_are_the_other_run(kind):
    model = perturbed(kind)
    close(path_patch(model, IDS, OTHER, [*stream_contributions(model, IDS)]), model(OTHER))


@pytest.mark.parametrize("part", ["q", "k", "v"])
def test_all_senders_into_a_value_are_the_value_of_the_other_run(part):
    model, name = perturbed(), f"blocks.1.attention.{part}"
    below = [
        n
        for n in stream_contributions(model, IDS)
        if not n.startswith(("blocks.1", "blocks.2"))
    ]
    expected = patch(model, IDS, {name: record(model, OTHER)[name]})
    close(path_patch(model, IDS, OTHER, below, name), expected)


@torch.no_grad()
def test_a_head_that_nobody_reads_has_no_path():
    """Head 2 of block 0 writes to feature 5 only, which the queries of block 2 do not read."""
    model = perturbed()
    model.blocks[0].attention.W_o.weight[:, 4:6] = 0.0
    sender = ["blocks.0.attention.heads.2"]
    model.blocks[0].attention.W_o.weight[5, 4:6] = 1.0
    model.blocks[2].attention_norm.gamma[5] = 0.0
    model.blocks[2].attention_norm.eps = 1e12  # the scale is the same for all vectors
    close(path_patch(model, IDS, OTHER, sender, "blocks.2.attention.q"), model(IDS))
    assert (path_patch(model, IDS, OTHER, sender) - model(IDS)).abs().max() > 1e-3


@pytest.mark.parametrize("receiver", ENDS)
def test_the_table_is_one_path_for_each_head(receiver):
    model = perturbed()
    found = path_patching(model, OTHER, IDS, margin, receiver)
    layers = {"logits": 3}.get(receiver, 2)
    assert found.shape == (layers, 4)
    for layer, head in ((0, 3), (layers - 1, 1)):
        sender = [f"blocks.{layer}.attention.heads.{head}"]
        expected = margin(path_patch(model, IDS, OTHER, sender, receiver)).mean()
        torch.testing.assert_close(found[layer, head], expected, rtol=1e-12, atol=1e-12)


def test_paths_that_are_not_there_are_refused():
    model, head = perturbed(), ["blocks.1.attention.heads.0"]
    with pytest.raises(InputError, match=r"'blocks.1.attention.q' is not behind 'blocks.1.att"):
        path_patch(model, IDS, OTHER, head, "blocks.1.attention.q")
    with pytest.raises(
        InputError, match=r"no sender 'blocks.1.attention.heads.4'; near it are blocks.1.att"
    ):
        path_patch(model, IDS, OTHER, ["blocks.1.attention.heads.4"])
    with pytest.raises(InputError, match=r"receiver='blocks.3.attention.q' must .* 0 to 2"):
        path_patch(model, IDS, OTHER, head, "blocks.3.attention.q")
    with pytest.raises(InputError, match="no head is in front of"):
        path_patching(model, OTHER, IDS, margin, "blocks.0.attention.v")
    with pytest.raises(InputError, match="no sender: give"):
        path_patch(model, IDS, OTHER, [])


def test_heads_and_lengths_that_do_not_fit_are_refused():
    model, head = perturbed(), ["blocks.1.attention.heads.0"]
    with pytest.raises(InputError, match=r"'logits' has no heads, got heads=\[1\]"):
        path_patch(model, IDS, OTHER, head, heads=[1])
    with pytest.raises(InputError, match="asks for head 4: there are 4"):
        path_patch(model, IDS, OTHER, head, "blocks.2.attention.k", [4])
    with pytest.raises(InputError, match=r"\(2, 4\) and .*\(2, 5\) must .* as many tokens"):
        path_patch(model, IDS, OTHER[:, :4], head)


@pytest.mark.usefixtures("unchecked")
def test_a_sender_is_heard_once_and_names_are_a_list():
    model, name = perturbed(), "blocks.0.attention.heads.1"
    with pytest.raises(InputError, match="a sender twice"):
        path_patch(model, IDS, OTHER, [name, name])
    with pytest.raises(InputTypeError, match="is one name: give a list"):
        path_patch(model, IDS, OTHER, name)


def test_a_network_does_not_hear_itself():
    with pytest.raises(InputError, match=r"not behind 'blocks.1.feed_forward'"):
        path_patch(
            perturbed(), IDS, OTHER, ["blocks.1.feed_forward"], "blocks.1.feed_forward_out"
        )


def test_heads_may_be_done_in_any_number_at_once(monkeypatch):
    model = perturbed()
    together = path_patching(model, OTHER, IDS, margin)
    monkeypatch.setattr("mathlm.interpret.paths.AT_ONCE", 50)  # five heads of ten tokens
    torch.testing.assert_close(path_patching(model, OTHER, IDS, margin), together)


def test_every_head_of_many_layers_is_a_sender(monkeypatch):
    """24 of them, five at a time."""
    monkeypatch.setattr("mathlm.interpret.paths.AT_ONCE", 50)
    model = GPT(GPTConfig(**SIZES | {"n_layers": 6})).eval()
    found = path_patching(model, OTHER, IDS, margin)
    last = margin(path_patch(model, IDS, OTHER, ["blocks.5.attention.heads.3"])).mean()
    assert found.shape == (6, 4)
    torch.testing.assert_close(found[5, 3], last, rtol=1e-12, atol=1e-12)


def test_a_prefix_is_refused():
    model = add_prefix(perturbed(), 2)
    with pytest.raises(InputError, match="a prefix or a prompt"):
        path_patch(model, IDS, OTHER, ["token_embedding"])
    with pytest.raises(InputError, match="a prefix or a prompt before every text"):
        activation_patching(model, OTHER, IDS, margin)


@pytest.mark.usefixtures("unchecked")
def test_a_sender_that_is_not_there_is_named_with_those_near_it():
    model = perturbed()
    with pytest.raises(InputError, match=r"near it are .*blocks.1.attention.heads.3"):
        path_patch(model, IDS, OTHER, ["blocks.1.attention.head.3"])
    for wrong in (3, (n for n in ["token_embedding"]), [0]):
        with pytest.raises(InputTypeError, match="give a list of names"):
            path_patch(model, IDS, OTHER, wrong)


def test_paths_through_a_steered_model_are_refused():
    steered = Steered(perturbed(), {"blocks.2.resid_mid": torch.ones(8)})
    with pytest.raises(InputError, match=r"the model is steered at blocks.2.resid_mid"):
        path_patch(steered, IDS, OTHER, ["token_embedding"])
