"""The second rank of two, which nobody answers: what it keeps of a tensor, without traffic."""

import pytest
import torch
import torch.distributed as dist

from mathlm.optim.clipping import keep_part, local, part_like

pytestmark = pytest.mark.slow

ROWS = torch.arange(6.0).reshape(3, 2)  # two for the first rank, one for the second


@pytest.fixture(scope="module")
def half():
    """Zeros of which this rank holds the last row."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    yield distribute_tensor(torch.zeros(3, 2), mesh, [Shard(0)], src_data_rank=None)
    dist.destroy_process_group()


def test_a_tensor_is_cut_as_another_is(half):
    found = part_like(ROWS, half)
    assert found.placements == half.placements
    assert local(found).tolist() == [[4.0, 5.0]]


def test_of_a_whole_tensor_the_own_row_is_kept(half):
    keep_part(half, ROWS)
    assert local(half).tolist() == [[4.0, 5.0]]
