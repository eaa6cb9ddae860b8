import pytest
import torch
from align.exact.toy_worlds import asked, ended, moved, plain

from mathlm.align import ValueModel, answer_log_probabilities, target_log_probabilities
from mathlm.align.exact import World, world_of
from mathlm.errors import InputError
from mathlm.generate import score

WORLDS = pytest.mark.parametrize("make", [plain, ended, asked])


def everything(world):
    """Every prompt with every completion, as numbers."""
    P, Y = world.rewards.shape
    return torch.arange(P).repeat_interleave(Y), torch.arange(Y).repeat(P)


@WORLDS
def test_probabilities_sum_to_1_for_any_model(make):
    world = make()
    total = world.log_probabilities(moved(world)).exp().sum(-1)
    assert torch.allclose(total, torch.ones(len(total)), atol=1e-12, rtol=0)


@WORLDS
def test_the_table_says_what_the_model_says_of_each_text_alone(make):
    world, model = make(), moved(make())
    logp = world.log_probabilities(model)
    for y, completion in enumerate(world.completions):
        text = torch.cat([world.prompts[1], completion[completion >= 0]])
        row = {"ids": text[None, :-1], "targets": text[None, 1:]}
        alone = target_log_probabilities(model, row)[:, world.prompts.shape[1] - 1 :]
        assert abs(alone.sum() - logp[1, y]) < 1e-12


def test_each_prefix_is_read_once():
    world, rows = plain(), []
    model = moved(world)
    model.register_forward_pre_hook(lambda _, args: rows.append(args[0]))
    world.log_probabilities(model)
    assert [r.shape for r in rows] == [(2 * 3, 2)]


@WORLDS
def test_reading_by_table_equals_reading_each_row(make):
    world, model = make(), moved(make())
    batch = world.batch(*everything(world))
    for temperature in (1.0, 0.5):
        looked_up = world.read(model, batch, temperature=temperature)
        read = target_log_probabilities(model, batch, temperature=temperature)
        assert torch.allclose(looked_up, read, atol=1e-12, rtol=0)


@WORLDS
def test_gradients_by_table_equal_gradients_row_by_row(make):
    world, model = make(), moved(make())
    batch = world.batch(*everything(world))
    weight = torch.randn(len(batch["ids"]))
    by_table = torch.autograd.grad(
        (world.read(model, batch).sum(1) * weight).sum(), list(model.parameters())
    )
    by_row = torch.autograd.grad(
        (answer_log_probabilities(model, batch) * weight).sum(), list(model.parameters())
    )
    assert max((a - b).abs().max() for a, b in zip(by_table, by_row, strict=True)) < 1e-12


def test_wider_rows_with_nothing_asked_behind_are_read_too():
    world, model = ended(), moved(ended())
    batch = world.batch(*everything(world))
    wide = {
        "ids": torch.nn.functional.pad(batch["ids"], (0, 1)),
        "targets": torch.nn.functional.pad(batch["targets"], (0, 1), value=-100),
    }
    assert torch.equal(world.read(model, wide)[:, :-1], world.read(model, batch))


@pytest.mark.parametrize("make", [ended, asked])
def test_values_are_looked_up_at_their_prefixes(make):
    world, batch = make(), make().batch(*everything(make()))

    class Sums(torch.nn.Module):
        def forward(self, ids):
            return (ids * torch.arange(1, ids.shape[1] + 1)).cumsum(1).double()

    expected = Sums()(batch["ids"]).masked_fill(batch["targets"] == -100, 0.0)
    assert torch.equal(world.read_values(Sums(), batch), expected)


def test_values_are_read_without_dropout_and_the_mode_is_as_before():
    world, batch = ended(), ended().batch(*everything(ended()))
    model = torch.nn.Sequential(ValueModel(world.reference()), torch.nn.Dropout(0.5))
    torch.nn.init.normal_(model[0].head.weight)
    expected = world.read_values(model.eval(), batch)
    assert torch.equal(world.read_values(model.train(), batch), expected)
    assert model.training


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ids": [[2, 0]]}, "no prompt of the world"),
        ({"targets": [[2, 0]]}, "behind the end"),
    ],
)
def test_rows_of_another_world_are_refused(change, said):
    world = ended()
    batch = {"ids": torch.tensor([[0, 0]]), "targets": torch.tensor([[0, 0]])}
    batch |= {name: torch.tensor(rows) for name, rows in change.items()}
    with pytest.raises(InputError, match=said):
        world.read(world.model, batch)


def test_a_policy_starts_as_a_copy_of_the_reference():
    world = plain()
    policy = world.reference()
    assert torch.equal(world.log_probabilities(policy), world.logp_ref)
    assert policy is not world.model
    assert all(w.requires_grad for w in policy.parameters())


@WORLDS
def test_they_are_the_log_probabilities_of_generation(make):
    world, model = make(), moved(make())
    texts = [y[y >= 0] for y in world.completions]
    with torch.no_grad():
        scores = torch.stack([x.sum() for x in score(model, world.prompts[0], texts)])
        assert torch.allclose(scores, world.log_probabilities(model)[0], atol=1e-12, rtol=0)


def world_with(**changes):
    world = plain()
    fields = {n: getattr(world, n) for n in ("prompts", "completions", "logp_ref", "rewards")}
    return World(**fields | changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rewards": torch.zeros(2, 8)}, "rewards has shape"),
        ({"logp_ref": torch.zeros(2, 9)}, "sums to"),
        ({"prompts": torch.tensor([[1], [1]])}, "no two be equal"),
        ({"rewards": torch.full((2, 9), torch.nan)}, "NaN"),
        ({"completions": torch.zeros(9, 2, dtype=torch.int64)}, "occur twice"),
    ],
)
def test_worlds_that_do_not_fit_are_refused(changes, said, unchecked):
    with pytest.raises(InputError, match=said):
        world_with(
            **{n: x.double() if x.is_floating_point() else x for n, x in changes.items()}
        )


def test_a_world_of_tables_has_no_model_to_start_from():
    with pytest.raises(InputError, match="no reference model"):
        world_with().reference()


def test_a_model_with_more_tokens_than_the_completions_is_refused():
    world = plain()
    with pytest.raises(InputError, match="every token must have its completions"):
        world_of(world.model, world.prompts, torch.tensor([[0], [1]]), torch.zeros(2, 2))
