import pytest
import torch
from align.exact.toy_worlds import ended, moved, standard

from mathlm.align import TextSampler
from mathlm.align.exact import TableSampler
from mathlm.errors import ConfigError, InputError


def prompts(world, each):
    return [x for x in world.prompts for _ in range(each)]


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_it_writes_what_the_sampler_of_texts_writes(temperature):
    world, model = ended(), moved(ended())
    asked = prompts(world, 20)
    drawn = TableSampler(world, temperature)(model, asked, seed=5)
    written = TextSampler(3, temperature, stop=[2])(model, asked, seed=5)
    for name in ("targets", "lengths", "finished"):
        assert torch.equal(
            drawn[name], written[name][:, :3] if name == "targets" else written[name]
        )
    real = drawn["targets"] != -100
    assert torch.equal(drawn["ids"][real], written["ids"][:, :3][real])


def test_a_row_depends_on_its_number_and_not_on_its_neighbours():
    world, model = ended(), moved(ended())
    asked, sampler = prompts(world, 10), TableSampler(ended())
    all_rows = sampler(model, asked, seed=3)["completion_index"]
    last = sampler(model, asked[12:], seed=3, first_row=12)["completion_index"]
    assert torch.equal(all_rows[12:], last)


def test_completions_come_as_often_as_they_are_likely():
    world, model = ended(), moved(ended())
    drawn = TableSampler(world)(model, prompts(world, 4000), seed=0)["completion_index"]
    counts = torch.stack([x.bincount(minlength=15) for x in drawn.chunk(2)])
    expected = 4000 * world.log_probabilities(model).exp()
    chi2 = ((counts - expected).square() / expected).sum()
    assert chi2 < 2 * 14 + 5 * (2 * 28) ** 0.5


def test_another_prompt_is_refused():
    with pytest.raises(InputError, match="none of the world's"):
        TableSampler(standard())(standard().model, [torch.tensor([5])], seed=0)


def test_a_temperature_of_0_is_refused():
    with pytest.raises(ConfigError, match="temperature"):
        TableSampler(standard(), 0)
