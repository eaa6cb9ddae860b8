"""Attribution: sums that must come out, and a model whose mechanism is known."""

import pytest
import torch

from lab.interpretability.induction_by_hand import induction_by_hand
from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import (
    gradient_times_input,
    integrated_gradients,
    record,
    swap_estimates,
    tap_gradients,
)
from mathlm.layers import tap
from mathlm.models import GPT, GPTConfig

SIZES = {"vocab_size": 11, "context": 8, "d_model": 8, "n_layers": 2, "n_heads": 2}
KINDS = {
    "gpt2": {"norm": "layer", "bias": True, "position": "learned"},
    "llama": {"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False},
}
IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
OTHER = torch.tensor([[3, 7, 4, 8, 5], [1, 2, 6, 0, 3]])


def perturbed(kind="llama"):
    model = GPT(GPTConfig(**SIZES, **KINDS[kind])).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.3)
    return model


def last_logit(logits):
    """A number that depends on all tokens of a row."""
    return logits[:, -1, 7]


def moved(model, vectors):
    """The number with other vectors in the place of the embeddings, without any tap."""
    layout_ids = torch.arange(vectors.shape[1])
    x, terms = vectors, {}
    if model.config.position == "rope":
        terms = {"rotation": model.position(layout_ids[None])}
    for block in model.blocks:
        x = block(x, **terms)
    return model.head(model.final_norm(x))[:, -1, 7]


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_in_the_embedding_is_that_of_finite_differences(kind):
    model = perturbed(kind)
    value, slope = tap_gradients(model, IDS, last_logit, ["embedding"])["embedding"]
    step = 1e-6 * torch.randn_like(value)
    found = moved(model, value + step) - moved(model, value - step)
    torch.testing.assert_close(found / 2, (slope * step).sum((1, 2)), rtol=1e-6, atol=1e-12)


def test_gradients_at_several_taps_come_from_one_pass():
    names = ["blocks.1.attention.heads", "embedding", "blocks.0.resid_mid"]
    model = perturbed()
    found = tap_gradients(model, IDS, last_logit, names)
    assert list(found) == names
    for name in names:
        assert found[name][1].shape == found[name][0].shape
        torch.testing.assert_close(found[name][0], record(model, IDS)[name])


def test_the_parameters_get_no_gradient():
    model = perturbed()
    gradient_times_input(model, IDS, last_logit)
    assert all(p.grad is None for p in model.parameters())


def test_frozen_models_and_switched_off_gradients_are_no_hindrance():
    model = perturbed()
    free = gradient_times_input(model, IDS, last_logit)
    model.requires_grad_(False)
    with torch.no_grad():
        assert gradient_times_input(model, IDS, last_logit).equal(free)


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_the_same_in_inference_mode(kind):
    def results():
        ids, mask = IDS.clone(), torch.ones_like(IDS, dtype=torch.bool)
        slope = gradient_times_input(model, ids, last_logit, mask)
        way = integrated_gradients(model, ids, last_logit, OTHER, tolerance=None, mask=mask)
        return slope, way.scores, way.gap

    model = perturbed(kind)
    free = results()
    with torch.inference_mode():
        inside = results()
        assert all(map(torch.equal, inside, free))


def test_a_number_linear_in_the_value_is_shared_out_exactly():
    model = perturbed()
    pair = tap_gradients(model, IDS, last_logit, ["final_norm"])["final_norm"]
    torch.testing.assert_close((pair[0] * pair[1]).sum((1, 2)), last_logit(model(IDS)).detach())


@pytest.mark.parametrize("kind", KINDS)
def test_integrated_gradients_close_the_gap_as_steps_grow(kind):
    model = perturbed(kind)
    gaps = [
        integrated_gradients(model, IDS, last_logit, OTHER, steps=m, tolerance=None).gap.abs()
        for m in (2, 24)
    ]
    assert (gaps[1] < gaps[0] / 20).all()
    difference = last_logit(model(IDS)) - last_logit(model(OTHER))
    found = integrated_gradients(model, IDS, last_logit, OTHER, steps=24)
    torch.testing.assert_close(found.value - found.baseline, difference.detach())
    torch.testing.assert_close(found.scores.sum(1), difference.detach(), rtol=0.02, atol=0)


def test_the_midpoint_rule_is_exact_for_a_square():
    """∫ 2 (b + α w) · w dα = |x|² - |b|², and the midpoint rule is exact for lines."""
    model = perturbed()

    class Square(torch.nn.Module):
        def forward(self, ids, mask=None, taps=None):
            taps["embedding"] = model.token_embedding(ids)
            return taps["embedding"].square()

    found = integrated_gradients(
        Square(), IDS, lambda y: y.sum((1, 2)), OTHER, steps=1, tolerance=1e-12
    )
    x, b = (model.token_embedding(ids).detach() for ids in (IDS, OTHER))
    torch.testing.assert_close(found.scores, (x.square() - b.square()).sum(-1))


def test_tokens_that_do_not_differ_and_those_that_come_later_get_nothing():
    model = perturbed()
    found = integrated_gradients(
        model, IDS, lambda z: z[:, 2, 7], OTHER, steps=4, tolerance=None
    )
    assert (found.scores[IDS == OTHER] == 0).all()
    assert (found.scores[:, 3:] == 0).all()
    assert found.scores[0, 1] != 0


def test_rows_do_not_depend_on_their_neighbours():
    model = perturbed()
    free = {"tolerance": None, "steps": 11}
    both = integrated_gradients(model, IDS, last_logit, OTHER, **free).scores
    alone = integrated_gradients(model, IDS[1:], last_logit, OTHER[1:], **free).scores
    torch.testing.assert_close(both[1:], alone, rtol=1e-10, atol=1e-12)


def test_a_baseline_of_vectors_broadcasts():
    model = perturbed("gpt2")
    start = record(model, OTHER)["embedding"]
    by_ids = integrated_gradients(model, IDS, last_logit, OTHER, steps=4, tolerance=None)
    by_vectors = integrated_gradients(model, IDS, last_logit, start, steps=4, tolerance=None)
    assert by_ids.scores.equal(by_vectors.scores)
    zero = integrated_gradients(
        model, IDS, last_logit, torch.zeros(()), steps=4, tolerance=None
    )
    assert zero.scores.shape == (2, 5)


def test_a_way_too_coarse_is_refused_with_its_numbers():
    with pytest.raises(InputError, match=r"row \d: scores sum to .* changes by .* 1 steps"):
        integrated_gradients(
            perturbed(), IDS, last_logit, torch.zeros(()), steps=1, tolerance=1e-6
        )
    with pytest.raises(InputError, match="changes by 0"):
        integrated_gradients(perturbed(), IDS, last_logit, IDS)


def test_the_estimate_of_a_swap_is_exact_behind_the_last_norm():
    model = perturbed()
    other = {"final_norm": record(model, OTHER)["final_norm"]}
    found = swap_estimates(model, IDS, last_logit, other)["final_norm"].sum((1, 2))
    difference = last_logit(model(OTHER)) - last_logit(model(IDS))
    torch.testing.assert_close(found, difference.detach())


def test_in_the_circuit_by_hand_the_guess_is_laid_to_the_token_that_is_copied():
    """0 5 3 7 | 5 3: the guess 7 is copied from position 3, and by head (1, 0) alone."""
    model = induction_by_hand(10, 6)
    ids = torch.tensor([[0, 5, 3, 7, 5, 3]])
    other = torch.tensor([[0, 5, 3, 9, 5, 3]])
    found = integrated_gradients(
        model, ids, lambda z: z[:, -1, 7] - z[:, -1, 9], other, steps=16
    )
    torch.testing.assert_close(
        found.scores, torch.tensor([[0.0, 0, 0, 24, 0, 0]]), rtol=0.01, atol=1e-6
    )
    heads = {"blocks.1.attention.heads": record(model, other)["blocks.1.attention.heads"]}
    changes = swap_estimates(model, ids, lambda z: z[:, -1, 7], heads)
    by_head = changes["blocks.1.attention.heads"][0].sum((1, 2))
    assert by_head[0] < -1
    assert by_head[1] == 0


def test_names_that_do_not_exist_are_refused_with_the_near_ones():
    with pytest.raises(InputError, match=r"'blocks.1.resid_past'.*blocks\.1\.resid_post"):
        tap_gradients(perturbed(), IDS, last_logit, ["blocks.1.resid_past"])


def test_values_that_the_output_does_not_depend_on_are_refused():
    class Aside(torch.nn.Module):
        def forward(self, ids, mask=None, taps=None):
            x = tap(taps, "embedding", torch.ones(2, 5, 3))
            tap(taps, "aside", x + 1)
            return x

    with pytest.raises(InputError, match="does not depend on aside"):
        tap_gradients(Aside(), IDS, lambda z: z.sum((1, 2)), ["aside"])


@pytest.mark.parametrize(
    ("metric", "error", "said"),
    [
        (lambda z: z[:, -1], InputError, r"\(2,\), got \(2, 11\)"),
        (lambda z: 1.0, InputError, "got float"),
        (lambda z: z[:, -1, 7].detach(), InputTypeError, "no gradient"),
        (lambda z: z[:, -1, 7] / 0, InputError, "finite"),
    ],
    ids=["many numbers", "no tensor", "detached", "infinite"],
)
def test_metrics_that_are_not_one_number_a_row_are_refused(metric, error, said):
    with pytest.raises(error, match=said):
        gradient_times_input(perturbed(), IDS, metric)


def test_texts_of_other_length_and_baselines_of_other_shape_are_refused():
    model = perturbed()
    with pytest.raises(InputError, match=r"\(2, 4\) and the text \(2, 5\)"):
        integrated_gradients(model, IDS, last_logit, OTHER[:, 1:])
    with pytest.raises(InputError, match=r"\(3,\) does not broadcast to \(2, 5, 8\)"):
        integrated_gradients(model, IDS, last_logit, torch.zeros(3))
    with pytest.raises(InputError, match=r"\(2, 5, 8\) in this run and \(2, 4, 8\)"):
        swap_estimates(model, IDS, last_logit, {"embedding": torch.zeros(2, 4, 8)})
    with pytest.raises(InputError, match="steps=0"):
        integrated_gradients(model, IDS, last_logit, OTHER, steps=0)


MASK = torch.tensor([[True] * 5, [False, False, True, True, True]])


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing_and_gets_nothing(kind):
    """The second row is the text of its last three tokens, whose places count from 0."""
    model, free = perturbed(kind), {"steps": 11, "tolerance": None}
    products = gradient_times_input(model, IDS, last_logit, MASK)[1]
    path = integrated_gradients(model, IDS, last_logit, OTHER, mask=MASK, **free).scores[1]
    short = IDS[1:, 2:], OTHER[1:, 2:]
    expected = gradient_times_input(model, short[0], last_logit)[0]
    way = integrated_gradients(model, short[0], last_logit, short[1], **free).scores[0]
    torch.testing.assert_close(products[2:], expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(path[2:], way, rtol=1e-10, atol=1e-12)
    assert (products[:2] == 0).all()
    assert (path[:2] == 0).all()


def test_the_row_that_does_not_close_is_named():
    """In the first row nothing but one late token changes, in the second nothing at all."""
    other = torch.stack([OTHER[0], IDS[1]])
    with pytest.raises(InputError, match=r"row 1: .* changes by 0"):
        integrated_gradients(perturbed(), IDS, last_logit, other, steps=24, tolerance=1.0)


@pytest.mark.usefixtures("unchecked")
def test_values_that_are_none_of_a_run_are_refused():
    model = perturbed()
    value = record(model, OTHER)["embedding"]
    with pytest.raises(InputError, match="80 NaN or infinite"):
        swap_estimates(model, IDS, last_logit, {"embedding": value * torch.nan})
    with pytest.raises(InputTypeError, match=r"other\['embedding'\] is a list"):
        swap_estimates(model, IDS, last_logit, {"embedding": value.tolist()})
    with pytest.raises(InputError, match="no tap is named"):
        swap_estimates(model, IDS, last_logit, {})
    with pytest.raises(InputTypeError, match="baseline is a float"):
        integrated_gradients(model, IDS, last_logit, 0.0)


@pytest.mark.usefixtures("unchecked")
def test_half_a_step_is_refused():
    with pytest.raises(InputError, match=r"steps=2\.5 must be a whole number"):
        integrated_gradients(perturbed(), IDS, last_logit, OTHER, steps=2.5)


@pytest.mark.usefixtures("unchecked")
def test_names_and_values_of_another_kind_are_refused():
    model = perturbed()
    value = record(model, OTHER)["embedding"]
    with pytest.raises(InputTypeError, match="names='embedding' is one name: give a list"):
        tap_gradients(model, IDS, last_logit, "embedding")
    with pytest.raises(InputTypeError, match="other is a Tensor: give a dict by name"):
        swap_estimates(model, IDS, last_logit, value)
    for wrong, found in ((value.float(), "float32 on cpu"), (value.to("meta"), "on meta")):
        with pytest.raises((InputError, InputTypeError), match=found):
            swap_estimates(model, IDS, last_logit, {"embedding": wrong})


@pytest.mark.parametrize("tolerance", [-0.1, float("nan")])
def test_a_tolerance_that_nothing_could_meet_is_refused(tolerance):
    with pytest.raises(InputError, match=r"tolerance=.* must be 0 or more"):
        integrated_gradients(perturbed(), IDS, last_logit, OTHER, tolerance=tolerance)


def test_a_model_without_embedded_tokens_has_no_way_to_them():
    class Aside(torch.nn.Module):
        def forward(self, ids, mask=None, taps=None):
            return tap(taps, "aside", torch.ones(2, 5, 3))

    with pytest.raises(InputError, match="no tap 'embedding'; near are aside"):
        integrated_gradients(Aside(), IDS, lambda z: z.sum((1, 2)), OTHER)
