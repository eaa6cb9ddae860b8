"""Training a dictionary, and measuring it."""

import logging

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from mathlm.errors import ConfigError, DataError, InputError, InputTypeError
from mathlm.interpret import (
    SparseAutoencoder,
    SparseReconstruction,
    VectorBatches,
    dictionary_report,
    matched_cosine,
    resample_idle,
    top_contexts,
    train_dictionary,
)
from mathlm.optim import Adam


def sums(vectors, features=24, width=12, share=0.08):
    """Vectors that are sums of few of some known directions, and the directions."""
    true = torch.nn.functional.normalize(torch.randn(features, width), dim=1)
    on = torch.rand(vectors, features) < share
    return (on * (0.5 + torch.rand(vectors, features))) @ true, true


@pytest.mark.parametrize(("active", "price"), [(2, 0.0), (None, 0.3)], ids=["largest", "price"])
def test_known_directions_are_found(active, price):
    x, true = sums(4000, features=30, width=24, share=0.05)
    model = SparseAutoencoder(24, 60, active=active, patience=1000)
    model.center(x)
    before = matched_cosine(model.directions.detach(), true)
    train_dictionary(model, x, SparseReconstruction(price), steps=250, batch_size=128, lr=3e-2)
    found = matched_cosine(model.directions.detach(), true)
    assert (before > 0.9).double().mean() == 0
    assert (found > 0.9).double().mean() > 0.9


def test_the_loss_is_the_one_written_by_hand():
    model = SparseAutoencoder(3, 5).eval()
    x = torch.randn(4, 3)
    output, f, _ = model(x)
    loss, count = SparseReconstruction(0.7)(model, {"x": x})
    by_hand = sum(((a - b) ** 2).sum() for a, b in zip(x, output, strict=True)) + 0.7 * f.sum()
    assert count == 4
    torch.testing.assert_close(loss, by_hand)


def test_the_revival_term_gives_idle_features_a_gradient_and_others_none():
    model, x = SparseAutoencoder(6, 8, active=1, patience=3).train(), torch.randn(1, 6)
    model.idle[3] = 2  # and one more, by the vector that is read
    with torch.no_grad():
        model.threshold[3] = 2.0 - model.scores(x)[0, 3]  # idle, but it would speak
        used = model.encode(x)[0].argmax()
        model.threshold[used] += 5.0
    with_term, _ = SparseReconstruction(0.0, 1.0)(model, {"x": x})
    model.idle.fill_(0)
    without, _ = SparseReconstruction(0.0, 0.0)(model, {"x": x})
    grads = [torch.autograd.grad(loss, model.encoder)[0] for loss in (with_term, without)]
    changed = (grads[0] - grads[1]).norm(dim=1) > 1e-12
    assert changed.nonzero().flatten().tolist() == [3]


def test_each_vector_comes_once_in_an_epoch_and_steps_do_not_depend_on_each_other():
    data = VectorBatches(torch.arange(12.0).unsqueeze(1), batch_size=4)
    steps = [data(step)["x"].flatten().tolist() for step in range(6)]
    for epoch in (steps[:3], steps[3:]):
        assert sorted(i for step in epoch for i in step) == list(range(12))
    assert steps[:3] != steps[3:]
    fresh = VectorBatches(torch.arange(12.0).unsqueeze(1), batch_size=4)
    assert fresh(4)["x"].flatten().tolist() == steps[4]


def test_training_in_parts_goes_on_with_the_same_data_and_step_sizes():
    x, _ = sums(256)
    weights = []
    for resample in ((), (7,)):  # no feature is idle then
        torch.manual_seed(1)
        model = SparseAutoencoder(12, 24, patience=10**9)
        history = train_dictionary(
            model, x, SparseReconstruction(0.1), steps=12, batch_size=64, resample=resample
        )
        weights.append(model.encoder.detach().clone())
        assert [row["step"] for row in history] == list(range(1, 13))
    torch.testing.assert_close(*weights, rtol=0, atol=0)


def test_idle_features_get_directions_of_vectors_and_no_moments(caplog):
    x, _ = sums(200)
    model = SparseAutoencoder(12, 24, patience=50)
    optimizer = Adam(model.parameters())
    model(x).output.square().sum().backward()
    optimizer.step()
    model.idle.fill_(0)
    model.idle[[2, 5]] = 50
    kept = model.encoder.detach().clone()
    with caplog.at_level(logging.INFO):
        assert resample_idle(model, x, optimizer) == 2
    assert "2 of 24 features were idle" in caplog.text
    centered = torch.nn.functional.normalize(x - model.offset.detach(), dim=1)
    assert (model.directions[[2, 5]] @ centered.mT).amax(1).allclose(torch.ones(2))
    assert torch.equal(model.encoder[:2], kept[:2])
    assert model.idle.max() == 0
    assert (optimizer.state[model.encoder]["m"][[2, 5]] == 0).all()
    assert (optimizer.state[model.decoder]["v"][:, [2, 5]] == 0).all()
    assert (optimizer.state[model.decoder]["v"][:, 0] != 0).any()


def test_without_idle_features_nothing_is_drawn():
    model = SparseAutoencoder(12, 24)
    before = model.encoder.detach().clone()
    assert resample_idle(model, sums(10)[0]) == 0
    assert torch.equal(model.encoder, before)


def test_badly_coded_vectors_are_drawn():
    model = SparseAutoencoder(4, 4, patience=1)
    with torch.no_grad():
        model.threshold.fill_(-1e9)  # nothing is active
    x = torch.eye(4) * torch.tensor([1e-3, 1e-3, 5.0, 1e-3])
    model.idle[0] = 1
    resample_idle(model, x)
    torch.testing.assert_close(model.directions[0].detach(), torch.eye(4)[2])


def test_the_report_is_that_of_its_definition():
    x, _ = sums(500)
    model = SparseAutoencoder(12, 24, active=3).eval().requires_grad_(False)
    f, output = model.encode(x), model(x).output
    report = dictionary_report(model, x, batch_size=64)
    assert report.explained == pytest.approx(
        1 - float((x - output).square().sum() / (x - x.mean(0)).square().sum()), abs=1e-12
    )
    assert report.active == pytest.approx(float((f > 0).sum(1).double().mean()), abs=1e-12)
    assert report.unused == int((f.amax(0) == 0).sum())


def test_the_scale_of_an_output_that_is_halved_is_a_half():
    model = SparseAutoencoder(2, 2)
    with torch.no_grad():
        model.encoder.copy_(torch.eye(2) / 2)
        model.decoder.copy_(torch.eye(2))
    assert dictionary_report(model, torch.rand(9, 2)).scale == pytest.approx(0.5, abs=1e-12)


def test_pairs_agree_with_the_best_assignment_where_that_is_clear():
    true = torch.randn(10, 30)
    order = torch.randperm(14)
    found = torch.cat((3.0 * true + 0.3 * torch.randn(10, 30), torch.randn(4, 30)))[order]
    cosines = torch.nn.functional.cosine_similarity(true[:, None], found[None], dim=-1).numpy()
    rows, columns = linear_sum_assignment(cosines, maximize=True)
    np.testing.assert_allclose(matched_cosine(found, true), cosines[rows, columns], atol=1e-12)


def test_a_found_direction_is_paired_once_and_its_sign_counts():
    one = torch.tensor([[1.0, 0.0]])
    assert matched_cosine(one, torch.tensor([[2.0, 0.0], [1.0, 1.0]])).tolist() == [1.0, 0.0]
    assert matched_cosine(-one, one).tolist() == [-1.0]
    near = torch.tensor([[1.0, 0.0], [0.8, 0.6]])  # both nearest to the first of the axes
    torch.testing.assert_close(matched_cosine(torch.eye(2), near), torch.tensor([1.0, 0.6]))


def test_top_contexts_are_one_place_in_each_text():
    features = torch.tensor([[0.0, 3.0, 2.9], [0.0, 0.0, 0.0], [5.0, 0.0, 1.0]])
    assert top_contexts(features, 5) == [(2, 0, 5.0), (0, 1, 3.0)]
    assert top_contexts(features, 1) == [(2, 0, 5.0)]


def test_bad_input_is_refused():
    model, x = SparseAutoencoder(12, 24), sums(20)[0]
    with pytest.raises(DataError, match="20 vectors, but a step takes 256"):
        train_dictionary(model, x, SparseReconstruction(), steps=1)
    with pytest.raises(ConfigError, match=r"resample=\(5, 5\) must rise"):
        train_dictionary(model, x, SparseReconstruction(), steps=9, resample=(5, 5))
    with pytest.raises(ConfigError, match="sparsity=-1"):
        SparseReconstruction(-1.0)
    with pytest.raises(InputError, match="of the 3 vectors all are equal"):
        dictionary_report(model, torch.ones(3, 12))
    with pytest.raises(InputError, match="found has a row of length 0"):
        matched_cosine(torch.zeros(1, 2), torch.ones(1, 2))
    with pytest.raises(InputError, match="of the 3 vectors some hold NaN or infinity"):
        dictionary_report(model, torch.full((3, 12), torch.nan))
    with pytest.raises(InputError, match="count=0 must be positive"):
        top_contexts(torch.ones(2, 3), 0)
    with pytest.raises(InputError, match=r"features \(1, 1\) some finite"):
        top_contexts(torch.full((1, 1), torch.nan), 1)


@pytest.mark.usefixtures("unchecked")
def test_directions_of_other_widths_are_refused():
    with pytest.raises(InputError, match=r"found is \(2, 3\), true \(2, 4\): widths differ"):
        matched_cosine(torch.ones(2, 3), torch.ones(2, 4))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("x", "error", "said"),
    [
        (torch.ones(2, 3, 12), InputError, r"\(2, 3, 12\) must be \(N, D\): x.flatten"),
        (torch.ones(0, 12), InputError, r"\(0, 12\) must be"),
        (torch.full((3, 12), torch.nan), InputError, "of the 3 vectors some hold NaN"),
        ([[1.0] * 12], InputTypeError, "vectors are a list"),
    ],
    ids=["texts", "none", "nan", "list"],
)
def test_what_is_no_table_of_vectors_is_refused_everywhere(x, error, said):
    model = SparseAutoencoder(12, 24)
    for use in (
        lambda: dictionary_report(model, x),
        lambda: train_dictionary(model, x, SparseReconstruction(), steps=1, batch_size=1),
        lambda: resample_idle(model, x),
        lambda: matched_cosine(torch.ones(1, 12), x),
    ):
        with pytest.raises(error, match=said):
            use()


@pytest.mark.usefixtures("unchecked")
def test_batches_and_places_that_are_no_whole_numbers_are_refused():
    model, x = SparseAutoencoder(12, 24), sums(20)[0]
    for size in (0, 2.5):
        with pytest.raises(ConfigError, match=f"batch_size={size} must be positive"):
            dictionary_report(model, x, batch_size=size)
    with pytest.raises(InputError, match=r"features \(3,\) some finite numbers \(B, T\)"):
        top_contexts(torch.ones(3), 2)
    with pytest.raises(InputError, match=r"count=1\.5 must be"):
        top_contexts(torch.ones(2, 3), 1.5)


def test_vectors_too_long_to_be_squared_are_refused():
    with pytest.raises(InputError, match="some are too long to be squared"):
        dictionary_report(SparseAutoencoder(2, 2), torch.tensor([[1e200, 0.0], [0.0, 1.0]]))


def test_vectors_are_drawn_by_the_square_of_their_loss_and_begin_small():
    """Losses 1 and 2 are drawn 1 : 4; of 600 draws the share 0.8 has a deviation of 0.016."""
    model = SparseAutoencoder(2, 601, patience=1)
    with torch.no_grad():
        model.threshold.fill_(-1e9)  # nothing is active, so that a loss is a squared length
        model.encoder[0] = torch.tensor([3.0, 4.0])
    model.idle[1:] = 1
    assert resample_idle(model, torch.tensor([[1.0, 0.0], [0.0, 2**0.5]])) == 600
    share = (model.directions[1:, 1] > 0.5).double().mean().item()
    assert share == pytest.approx(0.8, abs=0.06)
    lengths = model.encoder[1:].detach().norm(dim=1)
    torch.testing.assert_close(lengths, torch.full((600,), 5 / 5))  # a fifth of the one left


@pytest.mark.parametrize("length", [1e-42, 1e-30, 1e-14, 1e-7, 1.0, 1e9, 1e25, 1e38])
def test_the_length_of_a_direction_does_not_matter_however_small_or_large(length):
    """Cosines of a vector with the axes are its entries over its length, here 3/5 and 4/5."""
    found, true = torch.tensor([[0.6, 0.8]]).float(), torch.eye(2).float()
    expected = torch.tensor([0.0, 0.8]).float()
    rough = 2e-3 if length < 1e-38 else 1e-6  # such a float has few digits
    for pair in ((length * found, true), (found, length * true)):
        torch.testing.assert_close(matched_cosine(*pair), expected, rtol=rough, atol=0)
