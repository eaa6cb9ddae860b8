"""The grader of the project: the solution passes, and each planted fault has its sentence."""

import re

import pytest
import torch

from lab.policy_optimization import project_solution as solution
from lab.policy_optimization.project import END, grade, precision
from mathlm.align import exact

ADVANTAGES, LOSS = solution.group_advantages, solution.grpo_loss


def centered(r, dim=1):
    return r - r.mean(dim, keepdim=True)


def in_place(r):
    r -= r.mean(1, keepdim=True)
    return r / (r.square().mean(1, keepdim=True).sqrt() + 1e-4)


FAULTY_ADVANTAGES = {
    "not centered": lambda r: r / r.std(1, correction=0, keepdim=True),
    "not divided by the spread": centered,
    "leave-one-out baseline": lambda r: 4 / 3 * centered(r),
    "those of all groups together": lambda r: (r - r.mean()) / r.std(correction=0),
    "run over the prompts": lambda r: centered(r, 0) / r.std(0, correction=0),
    r"division by N - 1": lambda r: centered(r) / r.std(1, keepdim=True),
    "division is by the variance": lambda r: centered(r) / r.var(1, correction=0, keepdim=True),
    r"equal rewards give NaN \(0/0\)": lambda r: (
        centered(r) / r.std(1, correction=0, keepdim=True)
    ),
    "changes the rewards in place": in_place,
    r"must be a tensor of shape \(3, 4\), got \(3,\)": lambda r: r.mean(1),
    "something is not written yet": lambda r: (_ for _ in ()).throw(NotImplementedError),
    "raised TypeError": lambda: None,
}


@pytest.mark.parametrize("sentence", FAULTY_ADVANTAGES)
def test_a_fault_of_the_advantages_is_named(sentence):
    report = grade(FAULTY_ADVANTAGES[sentence])
    assert matches(report, sentence), report


def matches(report, sentence):
    """Whether a fault of a report says so."""
    return any(re.search(sentence, said) for said in report.faults)


def faulty_loss(gain="min", k=lambda u: torch.expm1(-u) + u, sign=1, price=1, mean="tokens"):
    """The published loss with one of its parts changed."""

    def loss(logp, logp_old, logp_ref, advantages, mask, clip=0.2, beta=0.04):
        rho, A = (logp - logp_old).exp(), advantages[:, None]
        if gain == "reference":
            rho = (logp - logp_ref).exp()
        if gain == "sequence":
            rho = ((logp - logp_old) * mask).sum(1, keepdim=True).exp().expand_as(logp)
        cut = rho.clamp(1 - clip, 1 + clip) * A
        gains = {"free": rho * A, "cut": cut, "max": torch.maximum(rho * A, cut)}
        gained = gains.get(gain, torch.minimum(rho * A, cut))
        each = (price * beta * k(logp - logp_ref) - sign * gained) * (mask | (mean == "padded"))
        means = {
            "tokens": each.sum(1) / mask.sum(1),
            "padded": each.mean(1),
            "width": each.sum(1) / mask.shape[1],
            "sum": each.sum(1),
            "all": (each.sum() / mask.sum()).expand(len(mask)),
        }
        return means[mean]

    return loss


FAULTY_LOSSES = {
    "k₃ is the wrong way up": faulty_loss(k=lambda u: torch.expm1(u) - u),
    "the estimate is k₁": faulty_loss(k=lambda u: u),
    "the estimate is k₂": faulty_loss(k=lambda u: u.square() / 2),
    "the divergence is missing": faulty_loss(price=0),
    "the divergence is subtracted": faulty_loss(price=-1),
    "the sign of the gain is wrong": faulty_loss(sign=-1),
    "the ratio is not clipped": faulty_loss(gain="free"),
    "the minimum is missing": faulty_loss(gain="cut"),
    "the maximum is taken": faulty_loss(gain="max"),
    "that of π to the reference": faulty_loss(gain="reference"),
    "that of the whole completion": faulty_loss(gain="sequence"),
    "the tokens are added up": faulty_loss(mean="sum"),
    "padding counts": faulty_loss(mean="padded"),
    "divided by the width of the batch": faulty_loss(mean="width"),
    "all tokens of the batch have one mean": faulty_loss(mean="all"),
    "a gradient reaches logp_old": faulty_loss(),
    "no gradient reaches logp": lambda logp, *rest: (
        LOSS(logp.detach(), *rest) + 0 * rest[0].sum()
    ),
    "are both arguments used": lambda *a: LOSS(*a[:5], clip=0.2, beta=0.5),
}


@pytest.mark.parametrize("sentence", FAULTY_LOSSES)
def test_a_fault_of_the_loss_is_named(sentence):
    report = grade(ADVANTAGES, FAULTY_LOSSES[sentence])
    assert matches(report, f"(?i){sentence}"), report


def ends_at(pick):
    """A policy that says what a rule picks, so that nothing has to be trained."""

    class Known(torch.nn.Module):
        """Next tokens of a listed policy of the small world."""

        def __init__(self, world):
            super().__init__()
            with precision(torch.float64):
                double = exact.standard_world(vocabulary=4, prompts=2)
                table = exact.next_token_table(double, pick(double))  # (P, N, V)
            self.table, self.bias = table.float(), torch.nn.Parameter(torch.zeros(()))
            self.next, self.prompts = world.prefixes.next, world.prompts[:, 0]

        def forward(self, ids):
            prompt = (ids[:, :1] == self.prompts).int().argmax(1)
            node, said = torch.zeros_like(prompt), []
            for t in range(ids.shape[1]):
                node = node if t == 0 else self.next[node, ids[:, t]].clamp_min(0)
                said.append(self.table[prompt, node])
            return torch.stack(said, 1) + self.bias

    return lambda world, seed: Known(world)


def published(world):
    def solve(r):
        return exact.token_tilted(world, r, 0.5, exact.reverse_tilt)

    return exact.at_own_spread(solve, world.rewards, world.logp_ref)


def single(world):
    best = world.rewards.argmax(1, keepdim=True)
    return torch.zeros_like(world.rewards).scatter(1, best, 20.0).log_softmax(-1)


def own_betas(world):
    betas = torch.tensor([[0.3], [0.8]])
    return (world.logp_ref + world.rewards / betas).log_softmax(-1)


def trains_the_reference(world, seed):
    with torch.no_grad():
        next(world.model.parameters()).add_(1.0)
    return world.model


ENDS = {
    "hardly left the reference": ends_at(lambda w: w.logp_ref),
    "where k₃ of tokens leads": ends_at(
        lambda w: exact.token_tilted(w, w.rewards, 0.5, exact.reverse_tilt)
    ),
    "where k₂ of tokens leads": ends_at(
        lambda w: exact.token_tilted(w, w.rewards, 0.5, exact.forward_tilt)
    ),
    "where the published loss ends": ends_at(published),
    "says one thing only": ends_at(single),
    r"the optimum for β = 1\.0": ends_at(lambda w: w.optimum(1.0).logp),
    "a β of its own": ends_at(own_betas),
    "no end this grader knows": ends_at(lambda w: (3 * w.logp_ref).log_softmax(-1)),
    "must return the trained model": lambda world, seed: world.logp_ref,
    "trains world.model itself": trains_the_reference,
}


@pytest.mark.parametrize("sentence", ENDS)
def test_an_end_is_recognized(sentence):
    assert matches(grade(ADVANTAGES, LOSS, ENDS[sentence]), sentence)


def test_the_optimum_itself_passes_and_the_order_of_parts_is_kept():
    assert grade(ADVANTAGES, LOSS, ends_at(lambda w: w.optimum(0.5).logp)).passed
    assert "Not tested yet: loss." in repr(grade(ADVANTAGES))
    waits = repr(grade(ADVANTAGES, faulty_loss(price=0), solution.train))
    assert "· train: within 0.02 nats of the optimum (not run yet)" in waits


def test_what_was_not_tested_is_no_pass_and_no_fault():
    report = grade(ADVANTAGES, LOSS)
    assert (report.passed, report.faults) == (False, [])
    assert repr(report).endswith("6 of 7 tests passed\nNot tested yet: train.")


def test_an_exception_is_said_with_the_line_of_the_reader():
    def divides(rewards):
        return rewards / (1 / 0)

    line = divides.__code__.co_firstlineno + 1
    said = f"your code raised ZeroDivisionError in line {line} of divides: division by zero."
    assert grade(divides, divides).faults == [said]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usefixtures("unchecked")
def test_the_solution_passes_with_more_than_one_seed(seed):
    assert grade(ADVANTAGES, LOSS, lambda world, _: solution.train(world, seed)).passed


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_a_run_of_the_published_loss_is_recognized():
    torch.set_default_dtype(torch.float32)

    def train(world, seed):
        policy, draws = world.reference(), torch.Generator().manual_seed(seed)
        adam = torch.optim.Adam(policy.parameters(), 4e-3, betas=(0.9, 0.98))
        for i in range(250):
            adam.param_groups[0]["lr"] = 4e-3 * (1 - i / 250)
            logp = world.prefixes.along(world.token_table(policy))
            chance = logp.detach().sum(-1).exp()
            y = torch.multinomial(chance, 1024, replacement=True, generator=draws)
            refs = world.prefixes.along(exact.next_token_table(world, world.logp_ref))
            at = y[..., None].expand(-1, -1, 3)
            A = ADVANTAGES(world.rewards.gather(1, y)).flatten()
            rows, ref = logp.gather(1, at).flatten(0, 1), refs.gather(1, at).flatten(0, 1)
            loss = LOSS(rows, rows.detach(), ref, A, torch.ones_like(ref).bool(), beta=0.5)
            adam.zero_grad()
            loss.mean().backward()
            adam.step()
        return policy

    said = END[0].run(ADVANTAGES, LOSS, train)
    assert "where the published loss ends" in said
