"""Two and three processes over gloo compute what one computes."""

import pytest
import torch
from train import parallel_run, rank_run

from mathlm.errors import InputError
from mathlm.train import checkpoints, distributed, load_checkpoint
from mathlm.train.distributed import RankError, answering, is_network_error

pytestmark = pytest.mark.slow


def test_ranks_with_unequal_numbers_of_targets_give_the_gradient_of_one_process(several):
    one = rank_run.step_of_unequal_ranks()
    expected = torch.tensor(one["gradient"])
    for rank in several:
        assert rank["step"]["loss"] == pytest.approx(one["loss"], rel=1e-12)
        gradient = torch.tensor(rank["step"]["gradient"])
        torch.testing.assert_close(gradient, expected, rtol=1e-12, atol=1e-15)


def test_every_rank_computes_the_same_bit_for_bit(several):
    names = ("step", "run", "unused", "checked")
    first = {name: several[0][name] for name in names}
    assert all({name: rank[name] for name in names} == first for rank in several)


def test_a_run_of_several_ranks_logs_the_losses_of_one(several):
    for record, own in zip(several[0]["run"], rank_run.whole_run(), strict=True):
        assert record == pytest.approx(own, rel=1e-12)


def test_a_weight_that_one_rank_uses_is_updated_on_all_and_an_idle_one_is_not(several):
    one = rank_run.unused_weight()
    assert several[0]["unused"] == one
    assert one["idle"] == [1.0, 1.0]
    assert one["spare"] != [1.0, 1.0]


@pytest.mark.parametrize("kind", ["sum", "ddp", "fsdp"])
def test_a_killed_rank_stops_the_others_and_no_checkpoint_is_written_without_it(groups, kind):
    group, run = groups[f"kill {kind}"], groups["folder"] / f"kill {kind}" / "saved"
    assert group["codes"][1] == -9
    assert group["codes"][0] > 0
    assert "rank 1 did not answer within 60 s at step 3" in group["errors"][0]
    assert [path.name for path in checkpoints(run)] == ["step_000001", "step_000002"]
    load_checkpoint(run, parallel_run.blocks_model())


@pytest.mark.parametrize("kind", ["sum", "fsdp"])
def test_a_signal_to_one_rank_stops_all_after_the_same_step(groups, kind):
    group, run = groups[f"term {kind}"], groups["folder"] / f"term {kind}" / "saved"
    assert group["codes"] == [143, 143]
    assert all("interrupted at step 3" in error for error in group["errors"])
    assert [path.name for path in checkpoints(run)] == ["step_000002", "step_000003"]
    load_checkpoint(run, parallel_run.blocks_model())


@pytest.mark.parametrize("kind", ["sum", "fsdp"])
def test_nan_on_one_rank_is_an_error_on_all_that_names_it(groups, kind):
    group = groups[f"nan {kind}"]
    assert group["codes"] == [1, 1]
    for error in group["errors"]:
        assert "non-finite loss at step 3, rank 1, micro-batch 0 (samples" in error
    assert "are named by rank 1" in group["errors"][0]


def test_a_step_without_targets_is_an_error_in_one_process():
    trainer = rank_run.unequal()
    trainer.data = lambda step: parallel_run.BATCH | {"targets": torch.full((2, 4), -100)}
    with pytest.raises(InputError, match="no target token contributes to the loss"):
        trainer.fit()


def test_ranks_without_a_gradient_add_nothing(monkeypatch):
    monkeypatch.setattr(distributed, "is_distributed", lambda: True)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda values: None)
    idle = torch.nn.Parameter(torch.ones(2))
    distributed.sum_gradients([idle])
    assert idle.grad is None


def test_a_tensor_that_cannot_be_sent_is_not_blamed_on_a_rank(monkeypatch):
    def refuse(tensor, source):
        raise RuntimeError("Invalid scalar type")

    monkeypatch.setattr(distributed, "is_distributed", lambda: True)
    monkeypatch.setattr(torch.distributed, "broadcast", refuse)
    with pytest.raises(RuntimeError, match="Invalid scalar type") as error:
        distributed.share_from_first(iter([torch.zeros(3, dtype=torch.int16)]))
    assert not isinstance(error.value, RankError)


GLOO = "[/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:12543"


def test_the_words_of_gloo_tell_that_a_rank_is_gone():
    assert is_network_error(RuntimeError(GLOO))
    assert is_network_error(torch.distributed.DistNetworkError("anything"))
    assert not is_network_error(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_network_error(RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo"))


def test_an_error_of_the_model_itself_is_not_blamed_on_a_rank():
    with pytest.raises(RuntimeError, match="shapes") as error, answering("", only_network=True):
        raise RuntimeError("shapes cannot be multiplied")
    assert not isinstance(error.value, RankError)
