"""Slices of surfaces that are known: a bowl, a network of relus, two valleys."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from lab.ingredients import landscape_study
from lab.ingredients.directions import random_direction, towards
from lab.ingredients.landscape import barrier, line, plane
from lab.ingredients.small_gpt import SIZES
from mathlm.errors import InputError, NonFiniteLossError

EMPTY: dict = {}


def bowl(model, batch):
    """Two targets, each half of ‖w - 1‖²: the mean is half of ‖w - 1‖² / 2."""
    return sum((p - 1).square().sum() for p in model.parameters()) / 2, 2


def network(c=1.0):
    """Two layers of relus; the first c times as large, the second 1/c times."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 5, bias=False), nn.ReLU(), nn.Linear(5, 2, bias=False))
    with torch.no_grad():
        net[0].weight.mul_(c)
        net[2].weight.div_(c)
    return net


def squared(net, batch):
    return net(batch["x"]).square().sum(), len(batch["x"])


def test_a_row_of_a_direction_is_as_long_as_the_row_of_weights():
    net = nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5), nn.Conv1d(2, 4, 3, bias=False))
    with torch.no_grad():
        net[0].weight[1] = 0.0
    for w, d in zip(net.parameters(), random_direction(net, 0), strict=True):
        own = w.flatten(1).norm(dim=1) if w.ndim > 1 else torch.zeros(len(w))
        torch.testing.assert_close(d.reshape(len(d), -1).norm(dim=1), own)


def test_directions_are_drawn_from_the_seed_alone():
    net = network()
    first, again, other = (random_direction(net, seed) for seed in (3, 3, 4))
    torch.randn(1)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.allclose(a, b) for a, b in zip(first, other, strict=True))


def test_a_slice_of_a_bowl_is_its_parabola():
    """From w = 0 along d = 1, four weights: 4 (x - 1)² / 2 over two targets."""
    model = nn.Linear(4, 1, bias=False)
    nn.init.zeros_(model.weight)
    xs = [-1.0, 0.0, 0.5, 1.0, 3.0]
    found = line(model, [torch.ones(1, 4)], xs, EMPTY, bowl)
    np.testing.assert_allclose(found, [(x - 1) ** 2 for x in xs], rtol=1e-12)


def test_a_plane_has_a_row_for_each_y():
    """From w = 0 along e₁ and 2 e₂: ((x - 1)² + (2 y - 1)²) / 4."""
    model = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(model.weight)
    first, second = [torch.tensor([[1.0, 0.0]])], [torch.tensor([[0.0, 2.0]])]
    xs, ys = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5])
    found = plane(model, first, second, xs, ys, EMPTY, bowl)
    np.testing.assert_allclose(found, ((xs - 1) ** 2 + (2 * ys[:, None] - 1) ** 2) / 4)


def test_networks_that_are_one_function_have_one_slice():
    """Rescaling changes the weights, not the function; plain directions would see it."""
    batch, xs = {"x": torch.randn(6, 3)}, np.linspace(-1, 1, 7)
    slices = [
        line(net, random_direction(net, 0), xs, batch, squared)
        for net in (network(), network(100.0))
    ]
    np.testing.assert_allclose(slices[1], slices[0], rtol=1e-10)
    plain = [
        line(net, [d.sign() for d in random_direction(net, 0)], xs, batch, squared)
        for net in (network(), network(100.0))
    ]
    assert plain[1][0] > 10 * plain[0][0]


def test_the_way_to_another_model_ends_there():
    a, b = network(), network(2.0)
    batch = {"x": torch.randn(6, 3)}
    found = line(a, towards(a, b), [0.0, 1.0], batch, squared)
    expected = [squared(m, batch)[0].item() / 6 for m in (a, b)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_model_is_left_as_it_was_also_after_an_error():
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).train()
    before = [p.detach().clone() for p in model.parameters()]
    away = [torch.full_like(p, 0.1) for p in model.parameters()]

    def breaks(model, batch):
        assert not model.training
        return torch.tensor(float("nan")), 1

    line(model, away, [0.3, 1e9], EMPTY, bowl)
    with pytest.raises(NonFiniteLossError, match=r"loss at \[0.3\] is nan: go less far"):
        line(model, away, [0.3], EMPTY, breaks)
    assert model.training
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), before, strict=True))


def test_a_barrier_is_the_height_over_the_chord():
    """Chord from 1 to 2 at the middle is 1.5."""
    assert barrier([1.0, 3.0, 2.0]) == pytest.approx(1.5)
    assert barrier([4.0, 1.0, 0.0]) == 0.0
    assert barrier([1.0, 2.5, 3.0, 4.0]) == pytest.approx(0.5)


@pytest.mark.parametrize("heights", [[1.0, 2.0], [1.0, float("nan"), 2.0], np.ones((1, 3))])
def test_a_path_that_has_no_barrier_is_refused(heights):
    with pytest.raises(InputError, match="three finite heights or more, got"):
        barrier(heights)


def test_directions_that_do_not_fit_are_refused():
    net, other = network(), nn.Linear(3, 5, bias=False)
    with pytest.raises(InputError, match=r"differ in their shapes: \[\(5, 3\), \(2, 5\)\]"):
        towards(net, other)
    with pytest.raises(InputError, match=r"directions of the shapes \[\(5, 3\), \(2, 5\)\]"):
        line(net, random_direction(other, 0), [0.0], EMPTY, bowl)
    with pytest.raises(InputError, match="at least one point"):
        line(net, random_direction(net, 0), [], EMPTY, bowl)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A very short study, with the function that trained its models."""
    path = tmp_path_factory.mktemp("study") / "landscape.json"
    torch.set_default_dtype(torch.float32)
    options = "--steps 4 --forks 0 3 --points 3 --side 2 --batch-size 1"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SIZES, "d_model", 32)
        found = landscape_study.main(f"{options} --record {path}".split())
    return found, json.loads(path.read_text())


def test_the_study_records_every_slice(study):
    found, record = study
    assert record["results"] == found
    assert {len(way) for ways in found["random"].values() for way in ways} == {3}
    assert np.shape(found["plane"]["loss"]) == (2, 2)
    assert set(found["between"]) == {"another start", "fork at 0", "fork at 3"}
    assert record["options"]["steps"] == 4


def test_all_ways_of_the_study_start_at_one_end_and_the_way_there_ends_at_it(study):
    found, _ = study
    here = found["from_start"][-1]
    starts = [way[0] for way in found["between"].values()]
    starts += [way[1] for way in found["random"]["end"]]
    np.testing.assert_allclose(starts, here, rtol=1e-5)
    assert found["from_start"][0] == pytest.approx(found["random"]["start"][0][1], rel=1e-5)
    assert found["from_start"][0] > here + 0.1


def test_runs_that_fork_late_end_near_each_other(monkeypatch):
    torch.set_default_dtype(torch.float32)
    monkeypatch.setitem(SIZES, "d_model", 32)
    ids = np.random.default_rng(0).integers(97, 101, 4000).astype(np.uint8)
    end, early, late = (
        landscape_study.trained(ids, 4, start=0, order=order, fork=fork)
        for order, fork in ((0, 0), (1, 0), (1, 3))
    )
    apart = [sum(d.square().sum() for d in towards(end, m)) for m in (early, late)]
    assert 0 < apart[1] < apart[0] / 2
