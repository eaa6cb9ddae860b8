import itertools

import pytest
import torch

from lab.probability import batches


def test_six_documents_can_be_cut_in_thirty_two_ways():
    found = [tuple((s.start, s.stop) for s in cut) for cut in batches.cuts(6)]
    assert len(set(found)) == 32
    assert all(cut[0][0] == 0 and cut[-1][1] == 6 for cut in found)
    assert all(a[1] == b[0] for cut in found for a, b in itertools.pairwise(cut))


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_batch_costs_what_its_documents_cost(side):
    model, documents = batches.small_model(), batches.lines()
    alone = [batches.score(model, [d], side) for d in documents]
    nats, count = batches.score(model, documents, side)
    assert count == sum(len(d) - 1 for d in documents) == sum(n for _, n in alone)
    assert nats == pytest.approx(sum(n for n, _ in alone), rel=1e-12)


def test_the_model_leaves_the_random_numbers_of_others_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    batches.small_model()
    assert (torch.get_rng_state() == before).all()
