"""Models shared out by DDP and FSDP are the models of one process."""

from types import SimpleNamespace

import pytest
import torch
from train import parallel_run
from train.tiny_runs import tiny_model

from mathlm.errors import ConfigError
from mathlm.models import Transformer, TransformerConfig
from mathlm.train import distribute, load_checkpoint, unwrap
from mathlm.train.parallel import (
    Applied,
    Sharded,
    apply,
    blocks,
    check_kind,
    dealt,
    kind_of,
    passes,
    reduce_unused,
)

KINDS = pytest.mark.parametrize("kind", ["sum", "ddp", "fsdp"])
pytestmark = pytest.mark.slow


def near(found, expected, rtol=1e-12):
    found, expected = torch.tensor(found), torch.tensor(expected)
    assert (found - expected).norm() <= rtol * expected.norm()


@KINDS
@pytest.mark.parametrize("cut", ["step", "cut"])
def test_loss_and_gradient_are_those_of_one_process(several, kind, cut):
    """4 targets on one rank and 1 on another; with three ranks one has no row at all."""
    one = parallel_run.unequal_step("sum")
    for rank in several:
        found = rank["checked"][kind][cut]
        assert found["loss"] == pytest.approx(one["loss"], rel=1e-12)
        near(found["gradient"], one["gradient"])


@KINDS
def test_the_norm_of_the_gradient_is_that_of_one_process(several, kind):
    one = parallel_run.five_steps("sum")
    norms = [record["grad_norm"] for record in one["history"]]
    assert max(norms) > 0.5  # some steps are clipped
    found = several[0]["checked"][kind]["run"]["history"]
    assert [record["grad_norm"] for record in found] == pytest.approx(norms, rel=1e-9)


@KINDS
def test_the_weights_after_five_clipped_steps_are_those_of_one_process(several, kind):
    one = parallel_run.five_steps("sum")
    near(several[0]["checked"][kind]["run"]["weights"], one["weights"], 1e-9)


@KINDS
def test_the_weights_of_single_precision_are_those_of_one_process(several, kind):
    near(several[0]["checked"][kind]["float32"], parallel_run.single_precision("sum"), 1e-5)


@KINDS
def test_evaluation_counts_each_sample_once(several, kind):
    one = parallel_run.evaluation("sum")
    assert [rank["checked"][kind]["evaluation"] for rank in several] == pytest.approx(
        [one] * len(several), rel=1e-12
    )


@KINDS
def test_a_weight_that_the_objective_uses_on_one_rank_is_updated_on_all(several, kind):
    one = parallel_run.spare_weight("sum")
    assert one != [1.0, 1.0]
    assert [rank["checked"][kind]["spare"] for rank in several] == [pytest.approx(one)] * len(
        several
    )


@KINDS
def test_a_step_without_targets_is_the_same_error_on_every_rank_and_none_waits(several, kind):
    said = {rank["checked"][kind]["silent"] for rank in several}
    assert said == {"no target token contributes to the loss at step 1"}


@pytest.mark.parametrize("name", parallel_run.RULES)
def test_every_optimizer_works_on_shards(two, name):
    near(two["optimizers"]["fsdp"][name], parallel_run.optimizers("sum")[name], 1e-9)


@pytest.mark.parametrize("fused", [0, 1])
def test_muon_gathers_what_is_sharded(two, fused):
    near(two["Muon"]["fsdp"][1 - fused], parallel_run.muon("sum", bool(fused)), 1e-9)


@pytest.fixture(scope="module")
def straight():
    """The run of one process that was never stopped."""
    torch.set_default_dtype(torch.float64)
    run = parallel_run.trainer("sum", steps=6, **parallel_run.EVALUATED)
    run.fit()
    return run


@pytest.mark.parametrize(
    "pair",
    ["sum to fsdp", "ddp to fsdp", "fsdp to ddp", "fsdp to fsdp", "one to ddp", "one to fsdp"],
)
def test_a_run_continues_under_another_kind_and_another_number_of_ranks(two, pair, straight):
    found = two["checkpoints"][pair]
    near(found["weights"], parallel_run.state(straight.model), 1e-6)
    for record, expected in zip(found["history"], straight.history, strict=True):
        assert record == pytest.approx(expected, rel=1e-6)  # with the losses held out
    near(found["averages"], parallel_run.flat(straight.averages.values), 1e-6)


@KINDS
def test_one_process_continues_a_run_of_two(groups, kind, straight):
    found = parallel_run.resumed("sum", groups["folder"] / "two" / "saved" / kind)
    near(found["weights"], parallel_run.state(straight.model), 1e-6)


def test_one_process_reads_the_model_of_a_sharded_run(groups):
    model, other = parallel_run.blocks_model(), parallel_run.blocks_model()
    assert load_checkpoint(groups["folder"] / "two" / "saved" / "fsdp", model)["step"] == 3
    load_checkpoint(groups["folder"] / "two" / "saved" / "ddp", other)
    near(parallel_run.state(model), parallel_run.state(other), 1e-9)


def reduced(reduce_grads, parts):
    """What a group of torch before 2.13 finds in its gradients when it reduces them."""
    seen = []
    own = SimpleNamespace(reduce_grads=reduce_grads, fsdp_params=parts)
    own.post_backward = lambda *unused: seen.extend(
        part.unsharded_param.grad for part in parts if hasattr(part, "_unsharded_param")
    )
    reduce_unused(
        SimpleNamespace(_get_fsdp_state=lambda: SimpleNamespace(_fsdp_param_group=own))
    )
    own.post_backward()
    return [None if grad is None else grad.tolist() for grad in seen]


def part(grad=None, accumulated=None, trained=True):
    weight = torch.nn.Parameter(torch.ones(2), requires_grad=trained)
    weight.grad = grad
    names = ("unsharded_param", "_unsharded_param", "unsharded_accumulated_grad")
    return SimpleNamespace(**dict(zip(names, (weight, weight, accumulated), strict=True)))


def test_a_weight_that_a_rank_did_not_use_is_reduced_as_zeros():
    used, kept = part(torch.tensor([1.0, 2.0])), part(accumulated=torch.ones(2))
    parts = [used, part(), kept, part(trained=False), SimpleNamespace()]
    assert reduced(True, parts) == [[1.0, 2.0], [0.0, 0.0], None, None]
    assert reduced(False, [part()]) == [None]  # gradients of a micro-batch wait


def test_one_process_gets_its_model_back():
    model = tiny_model()
    assert all(distribute(model, kind) is model for kind in ("sum", "ddp", "fsdp"))
    check_kind(model, "fsdp")


def test_an_unknown_kind_is_refused(unchecked):
    with pytest.raises(
        ConfigError, match="parallel='zero' is not known; it is one of sum, ddp"
    ):
        distribute(tiny_model(), "zero")


def test_a_model_that_is_not_distributed_as_asked_is_refused(monkeypatch):
    monkeypatch.setattr("mathlm.train.parallel.is_distributed", lambda: True)
    with pytest.raises(
        ConfigError, match="parallel='ddp' but the model is distributed as 'sum'"
    ):
        check_kind(tiny_model(), "ddp")


def test_the_model_inside_is_found_and_computed_with():
    model = tiny_model()
    whole = Sharded(model)
    assert unwrap(whole) is model
    assert kind_of(whole) == "fsdp"
    assert apply(whole, lambda m, x: (m, x), 3) == (model, 3)
    assert apply(model, lambda m, x: (m, x), 3) == (model, 3)
    assert unwrap(Applied(model)) is model


def test_blocks_are_the_members_of_the_outermost_lists():
    model = parallel_run.blocks_model()
    sizes = {"vocab_size": 5, "context": 4, "d_model": 4, "n_heads": 2}
    both = Transformer(TransformerConfig(**sizes, n_layers=2, n_decoder_layers=3))
    assert blocks(model) == list(model.blocks)
    assert len(blocks(both)) == 5
    assert blocks(tiny_model()) == []


def ranks_of(monkeypatch, n, deal):
    """What each of ``n`` ranks is dealt."""
    found = []
    for r in range(n):
        monkeypatch.setattr("mathlm.train.parallel.ranks", lambda: n)
        monkeypatch.setattr("mathlm.train.parallel.rank", lambda r=r: r)
        found.append(deal())
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, 4, 13])
def test_every_batch_is_counted_once_and_every_rank_has_as_many_passes(monkeypatch, n, count):
    batches = [{"x": torch.tensor(i)} for i in range(count)]
    found = ranks_of(monkeypatch, n, lambda: list(dealt(batches)))
    assert sorted(i for rank in found for i, _, counts in rank if counts) == list(range(count))
    assert {len(rank) for rank in found} == {-(-count // n)}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 5, 6])
def test_every_micro_batch_weighs_once_and_every_rank_has_as_many(monkeypatch, n, count):
    parts = [{"x": torch.tensor(i)} for i in range(count)]
    found = ranks_of(monkeypatch, n, lambda: passes(Sharded(tiny_model()), parts))
    weighed = [int(part["x"]) for rank in found for part, weight in rank if weight]
    assert sorted(weighed) == list(range(count))
    assert {len(rank) for rank in found} == {-(-count // n)}


def test_summed_gradients_need_no_weightless_passes(monkeypatch):
    found = ranks_of(monkeypatch, 3, lambda: passes(tiny_model(), [{}, {}]))
    assert [len(rank) for rank in found] == [1, 1, 0]
