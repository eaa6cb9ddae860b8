"""Grader of the project of this page: the circuit of a second task, found by patching."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.models import GPT

from .induction_by_hand import blank, induction_by_hand, write

Head = tuple[int, int]  # layer and head
Circuit = Callable[..., set[Head]]
Route = Callable[..., str]
V, T, H, GAIN = 16, 12, 3, 12.0  # tokens, positions, heads in each layer, logit [nats]


class Task(NamedTuple):
    """A model whose circuit is known, and what to find it with.

    Attributes:
        model: Of two layers with three heads each, in double precision.
        clean: A prompt (1, T).
        corrupt: Another, with another answer.
        metric: Of logits: the clean answer less the corrupt one, (1,).
    """

    model: GPT
    clean: Tensor
    corrupt: Tensor
    metric: Callable[[Tensor], Tensor]


def grade(circuit: Circuit, route: Route) -> Report:
    """Test a function that finds circuits, and one that finds routes.

    Args:
        circuit: ``circuit(model, clean, corrupt, metric)``, a set of (layer, head).
        route: ``route(model, clean, corrupt, metric, sender, receiver)``, "q", "k" or "v".

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, circuit, route)


def task(seed: int = 0) -> Task:
    """Copy the token two places back, with heads in an order that depends on the seed."""
    model, _ = _built(seed)
    clean, corrupt = (torch.tensor([[0, 5, 9, a, 2, 6]]) for a in (7, 8))
    return Task(model, clean, corrupt, lambda logits: logits[:, -1, 7] - logits[:, -1, 8])


def parts(seed: int = 0) -> dict[str, Head]:
    """What each head of :func:`task` does, by name (a solution of its first part)."""
    return _built(seed)[1]


@torch.no_grad()
def _unwritten(n_heads: int) -> tuple[GPT, Tensor, Tensor, list[Tensor]]:
    """A model that knows token and place, with the directions of both and of three more spaces.

    Each is a part of the stream of its own: tokens (V, D), places (T, D), and three (V, D).
    """
    model = blank(V, T, 4 * V + T, n_heads=n_heads, d_head=V).double()
    eye = torch.eye(4 * V + T, dtype=torch.float64)
    token, place, *spaces = eye.split([V, T, V, V, V])
    model.token_embedding.weight.copy_(token)
    model.position.weight.copy_(place)  # type: ignore[union-attr, operator]
    return model, token, place, spaces


@torch.no_grad()
def _built(seed: int) -> tuple[GPT, dict[str, Head]]:
    """The model of a seed and its heads.

    Layer 0: ``copy`` writes the token before; ``loud`` looks at the token before too and writes
    a long vector that nothing reads; ``start`` rests on the start and writes nothing. Layer 1:
    ``answer`` looks one place back and copies what ``copy`` wrote there; ``against`` does the
    same with a third of the length and the opposite sign; ``silent`` looks there and writes
    nothing.
    """
    draw = torch.Generator().manual_seed(seed)
    names = ("copy", "loud", "start"), ("answer", "against", "silent")
    at = {
        name: (layer, head)
        for layer, row in enumerate(names)
        for name, head in zip(row, torch.randperm(H, generator=draw).tolist(), strict=True)
    }
    model, token, place, (before, answer, unread) = _unwritten(H)
    D = model.config.d_model
    model.head.weight.copy_(GAIN * answer / (D / 4) ** 0.5)
    earlier = place.roll(1, 0)
    earlier[0] = 0.0
    start, nothing = token[:1].expand(T, D), None
    first, second = (block.attention for block in model.blocks)
    size = D / 2  # two ones in the stream
    write(first, at["copy"][1], place, earlier, token, before, size)
    write(first, at["loud"][1], place, earlier, token, 2 * unread, size)
    write(first, at["start"][1], place, start, token, nothing, size)
    size = D / 7  # token, place, before, and twice a one that nothing reads
    write(second, at["answer"][1], place, earlier, before, answer, size)
    write(second, at["against"][1], place, earlier, before, -answer / 3, size)
    write(second, at["silent"][1], place, earlier, before, nothing, size)
    return model, at


def _induction() -> Task:
    """The circuit of the page."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        model = induction_by_hand(V, 24)
    finally:
        torch.set_default_dtype(usual)
    clean, corrupt = torch.tensor([[0, 3, 7, 4, 8, 3]]), torch.tensor([[0, 4, 7, 3, 8, 3]])
    return Task(model, clean, corrupt, lambda logits: logits[:, -1, 7] - logits[:, -1, 8])


def _found(circuit: Circuit, given: Task) -> set[Head]:
    """What a reader's function says, if it is a set of heads."""
    found = circuit(*given)
    if not isinstance(found, set):
        raise FaultError(f"a {type(found).__name__} came back: return a set of (layer, head).")
    for head in found:
        if not (isinstance(head, tuple) and len(head) == 2):
            raise FaultError(f"{head!r} is no head: give each as a pair (layer, head).")
    return {(int(layer), int(head)) for layer, head in found}


def _circuit(seed: int) -> Callable[..., str | None]:
    """The test on the model of one seed."""

    def test(circuit: Circuit, route: Route) -> str | None:
        at = parts(seed)
        found = _found(circuit, task(seed))
        needed = {at[name] for name in ("copy", "answer", "against")}
        if found == needed:
            return None
        if found == needed - {at["copy"]}:
            return (
                "only heads that write to the logits directly were found. One head of layer 0 "
                "hands over what they copy: patch, and do not read a sum of terms."
            )
        if found == needed - {at["against"]}:
            return (
                f"head {at['against']} is missing: patching it changes the metric in the "
                "opposite direction. A part that works against the answer is a part."
            )
        for name, said in DECOYS.items():
            if at[name] in found:
                return f"head {at[name]} is no part of the circuit: it {said}."
        missing = sorted(needed - found)
        return f"{sorted(found)} was found, and {missing} is missing."

    return test


DECOYS = {
    "loud": "writes a long vector, but nothing reads it",
    "start": "looks at the start, and writes nothing",
    "silent": "looks where the circuit looks, and writes nothing",
}


def _identity(circuit: Circuit, route: Route) -> str | None:
    """Two equal prompts differ nowhere."""
    given = task(3)
    try:
        found = _found(circuit, given._replace(corrupt=given.clean))
    except (ValueError, ZeroDivisionError):
        return None  # to refuse them is as good
    if found:
        return f"for two equal prompts {sorted(found)} was found: no head carries a difference."
    return None


def _page(circuit: Circuit, route: Route) -> str | None:
    """The circuit of the page, with two heads in each layer."""
    found = _found(circuit, _induction())
    if found != {(0, 0), (1, 0)}:
        return f"in the circuit of the page {sorted(found)} was found, not [(0, 0), (1, 0)]."
    return None


@torch.no_grad()
def _asking() -> Task:
    """A head that asks with what (0, 0) writes and is found by what (0, 1) writes.

    Head (0, 0) copies the token one place back, (0, 1) that two places back. Head (1, 0) looks
    for the position where the second is what the first is here, rests on the start if there is
    none, and copies the token it finds. Each of the prompts' changes matters alone.
    """
    model, token, place, (one, two, answer) = _unwritten(2)
    D = model.config.d_model
    model.head.weight.copy_(GAIN * answer / (D / 5) ** 0.5)
    first, second = (block.attention for block in model.blocks)
    for head, out in enumerate((one, two)):
        earlier = place.roll(head + 1, 0)
        earlier[: head + 1] = 0.0
        write(first, head, place, earlier, token, out, D / 2)
    write(second, 0, one, two + token[:1] / 2, token, answer, D / 4)
    clean = torch.tensor([[0, 2, 10, 7, 5, 11, 8, 2, 9]])
    corrupt = torch.tensor([[0, 4, 10, 7, 3, 11, 8, 3, 9]])
    return Task(model, clean, corrupt, lambda logits: logits[:, -1, 7] - logits[:, -1, 8])


def _route(circuit: Circuit, route: Route) -> str | None:
    """By which input the receiver takes up what the sender writes."""
    at = parts(5)
    found = {
        "v": route(*task(5), at["copy"], at["answer"]),
        "k": route(*_induction(), (0, 0), (1, 0)),
    }
    for right, said in found.items():
        if said not in ("q", "k", "v"):
            return f'{said!r} came back: return "q", "k" or "v".'
        if said != right:
            where = "this task" if right == "v" else "the circuit of the page"
            return (
                f"in {where} the route is {right!r}, not {said!r}: patch one input at a time."
            )
    return None


def _against(circuit: Circuit, route: Route) -> str | None:
    """A receiver that works against the answer."""
    at = parts(5)
    said = route(*task(5), at["copy"], at["against"])
    if said != "v":
        return (
            f"head {at['against']}, which works against the answer, takes up the sender by "
            f"'v', not {said!r}: the effect may be negative, and its size counts."
        )
    return None


def _two_senders(circuit: Circuit, route: Route) -> str | None:
    """One receiver takes up two senders by different inputs."""
    for sender, right in (((0, 0), "q"), ((0, 1), "k")):
        if (said := route(*_asking(), sender, (1, 0))) != right:
            return (
                f"in a model where head (1, 0) takes up two heads, that of {sender} goes by "
                f"{right!r}, not {said!r}: let the receiver hear this sender alone."
            )
    return None


TESTS = (
    Case("circuit: one model", _circuit(0)),
    Case("circuit: heads in another order", _circuit(1), ("circuit: one model",)),
    Case("circuit: a third order", _circuit(4), ("circuit: one model",)),
    Case("circuit: equal prompts", _identity, ("circuit: one model",)),
    Case("circuit: that of the page", _page, ("circuit: one model",)),
    Case("route: this task and the page", _route),
    Case("route: against the answer", _against, ("route: this task and the page",)),
    Case("route: two senders", _two_senders, ("route: this task and the page",)),
)
