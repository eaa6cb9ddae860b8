"""One rank with tensors that know of a mesh: what the optimizers do with shards."""

import pytest
import torch
import torch.distributed as dist
from torch import nn

from mathlm.errors import NonFiniteLossError
from mathlm.optim import AdamW, clip_grad_norm, grad_norm
from mathlm.optim.clipping import (
    is_sharded,
    keep_part,
    local,
    local_parts,
    part_like,
    sum_over_shards,
    whole,
)
from mathlm.train.distributed import leave_group

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    """A process group of one, in which torch's sharded tensors work as in any."""
    from torch.distributed.device_mesh import init_device_mesh

    store = dist.FileStore(str(tmp_path_factory.mktemp("store") / "file"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    leave_group()


def sharded(mesh, values):
    from torch.distributed.tensor import Shard, distribute_tensor

    return distribute_tensor(values, mesh, [Shard(0)])


def weight(mesh, gradient):
    p = nn.Parameter(sharded(mesh, torch.zeros_like(gradient)))
    p.grad = sharded(mesh, gradient)
    return p


def test_a_shard_is_known_and_put_together(mesh):
    x = torch.arange(6.0).reshape(3, 2)
    part = sharded(mesh, x)
    assert is_sharded(part)
    assert not is_sharded(x)
    assert torch.equal(whole(part), x)
    assert torch.equal(local(part), x)
    assert local(x) is x is whole(x) is part_like(x, x)
    assert torch.equal(local(part_like(x, part)), x)


def test_a_list_is_looked_at_once_and_its_shards_taken(mesh):
    own, part = torch.zeros(3), sharded(mesh, torch.arange(3.0))
    alone, mixed = [own, own], [own, part]
    assert local_parts(alone) is alone
    first, second = local_parts(mixed)
    assert first is own
    assert not is_sharded(second)
    assert torch.equal(second, torch.arange(3.0))


def test_a_part_is_kept_in_place(mesh):
    part, own = sharded(mesh, torch.zeros(3)), torch.zeros(3)
    keep_part(part, torch.arange(3.0))
    keep_part(own, torch.arange(3.0))
    assert whole(part).tolist() == [0.0, 1.0, 2.0]
    assert own.tolist() == [0.0, 0.0, 0.0]


def test_the_norm_of_shards_and_others_together(mesh):
    """(3, 4) sharded and 12 not: norm 13."""
    plain = nn.Parameter(torch.zeros(1))
    plain.grad = torch.tensor([12.0])
    both = [weight(mesh, torch.tensor([3.0, 4.0])), plain]
    assert grad_norm(both).item() == pytest.approx(13.0, rel=1e-15)
    clip_grad_norm(both, 6.5)
    assert whole(both[0].grad).tolist() == pytest.approx([1.5, 2.0])
    assert plain.grad.item() == pytest.approx(6.0)


def test_the_norm_of_shards_has_their_precision(mesh):
    assert grad_norm([weight(mesh, torch.ones(4, dtype=torch.float32))]).dtype == torch.float32


def test_nan_in_a_shard_is_named_and_nothing_moves(mesh):
    p = weight(mesh, torch.tensor([1.0, torch.nan, torch.inf]))
    with pytest.raises(NonFiniteLossError, match="from 1 of 1 parameters, first of shape"):
        clip_grad_norm([p], 1.0)
    with pytest.raises(NonFiniteLossError, match="2 of 3 entries of the gradient"):
        AdamW([p]).step()
    assert whole(p.detach()).tolist() == [0.0, 0.0, 0.0]


def test_a_sum_is_over_the_ranks_of_the_mesh_and_no_others(mesh, monkeypatch):
    asked = []
    monkeypatch.setattr(dist, "all_reduce", lambda values, group: asked.append(group))
    sum_over_shards(torch.ones(1), [sharded(mesh, torch.ones(2))])
    assert asked == [mesh.get_group()]


def test_nothing_is_summed_without_shards():
    values = torch.ones(2)
    assert sum_over_shards(values, [torch.ones(3)]) is values
