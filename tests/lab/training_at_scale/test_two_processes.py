import pytest
import torch
from torch import nn

from lab.training_at_scale import one_step, two_processes, zero_demos
from mathlm.errors import MathLMError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("two")


@pytest.fixture(scope="module")
def found(folder):
    """What the two processes found, once for all tests."""
    return two_processes.run(folder)


def test_data_and_pipeline_parallelism_have_the_loss_and_gradient_of_one(found):
    for name in ("data_parallel", "pipeline"):
        assert found[name]["loss"] == pytest.approx(found[name]["loss_one"], rel=1e-12)
        assert found[name]["difference"] < 1e-12


def test_a_cut_block_is_the_whole(found):
    names = ("output", "input_gradient", "weight_gradient")
    assert max(found["tensor_parallel"][name] for name in names) < 1e-12
    assert (
        found["tensor_parallel"]["parameters_of_a_rank"]
        < 0.52 * (found["tensor_parallel"]["parameters"])
    )


def test_a_cut_sequence_and_experts_elsewhere_give_the_output_and_gradients_of_one(found):
    for name in ("context_parallel", "expert_parallel"):
        assert found[name]["output"] < 1e-12
        assert found[name]["gradient"] < 1e-12
    assert found["expert_parallel"]["sent_rows"] > 0


def test_every_stage_of_zero_is_adam_in_one_process(found):
    assert [stage["stage"] for stage in found["zero"]] == [0, 1, 2, 3]
    assert max(stage["difference"] for stage in found["zero"]) < 1e-12


def test_what_is_sent_is_what_theory_says_and_headers(found):
    """Messages are few and their headers below 300 bytes each."""
    for part in (found["data_parallel"], found["pipeline"], *found["zero"]):
        assert part["theory"] <= part["bytes"] < 1.02 * part["theory"]
    assert found["zero"][3]["theory"] == 1.5 * found["zero"][0]["theory"]


def test_the_trainer_gives_the_losses_and_norms_of_one_process(found):
    one = found["trainer"]["one"]
    for kind in ("sum", "ddp", "fsdp"):
        assert found["trainer"][kind]["losses"] == pytest.approx(one["losses"], rel=1e-9)
        assert found["trainer"][kind]["norms"] == pytest.approx(one["norms"], rel=1e-9)
    assert found["trainer"]["fsdp"]["held"] * 2 == found["trainer"]["ddp"]["held"]


def test_one_process_continues_what_two_saved(found, folder):
    torch.set_default_dtype(torch.float32)  # as in the two: the first weights are drawn so
    run = zero_demos.trainer(steps=5, folder=folder / "fsdp")
    assert run.resume() == 3
    straight = [record["loss"] for record in zero_demos.trainer(steps=5).fit()]
    assert [record["loss"] for record in run.fit()] == pytest.approx(straight, rel=1e-6)


def test_a_process_that_fails_says_why(tmp_path, monkeypatch):
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho no port is free >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(script))
    with pytest.raises(MathLMError, match="two processes failed: no port is free"):
        two_processes.run(tmp_path)


def test_the_step_of_one_process_is_what_two_are_held_against(found):
    torch.set_default_dtype(torch.float32)  # as in the two: the first weights are drawn so
    model, (ids, targets) = nn.Sequential(*one_step.layers()), one_step.batch()
    value = one_step.loss(model(ids), targets).item()
    assert value == pytest.approx(found["pipeline"]["loss_one"], rel=1e-12)
