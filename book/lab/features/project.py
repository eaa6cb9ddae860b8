"""Grader of the project of this page: a sparse autoencoder and its training."""

from collections.abc import Callable

import torch
from torch import Tensor

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.interpret import matched_cosine, record
from mathlm.models import GPT

Code = Callable[..., tuple[Tensor, Tensor]]
Train = Callable[[Tensor, int, int], Tensor]
D, M, TRUE, VECTORS, K = 16, 48, 24, 4000, 3


def grade(code: Code, train: Train | None = None) -> Report:
    """Test a code and, if it is given, a training.

    Args:
        code: ``code(x, W_e, c, W_d, b, k)`` gives the features (N, M) and the output (N, D).
        train: ``train(x, M, k)`` gives M directions of length 1, (M, D), learned from vectors
            x (N, D).

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        if train is None:
            return grade_by(TESTS[:3], code, train, note="Not tested yet: training.")
        return grade_by(TESTS, code, train)
    finally:
        torch.set_default_dtype(usual)


def known() -> tuple[Tensor, Tensor]:
    """Vectors (4000, 16), and the 24 directions (24, 16) of which each is in one in 20."""
    draw = torch.Generator().manual_seed(11)
    true = torch.randn(TRUE, D, generator=draw, dtype=torch.float32)
    true = torch.nn.functional.normalize(true, dim=1)
    on = torch.rand(VECTORS, TRUE, generator=draw) < 0.05
    return (on * (0.5 + torch.rand(VECTORS, TRUE, generator=draw))) @ true, true


def states(model: GPT, ids: Tensor, tap: str) -> Tensor:
    """Vectors at a tap, one for each position but the first, (B (T - 1), D)."""
    return record(model, ids)[tap][:, 1:].flatten(0, 1)


def _case() -> tuple[Tensor, ...]:
    draw = torch.Generator().manual_seed(0)
    shapes = (7, D), (M, D), (M,), (M, D), (D,)
    return tuple(torch.randn(*shape, generator=draw, dtype=torch.float32) for shape in shapes)


def _right(x: Tensor, W_e: Tensor, c: Tensor, W_d: Tensor, b: Tensor, k: int) -> tuple:
    f = ((x - b) @ W_e.T + c).relu()
    rank = f.argsort(-1, descending=True).argsort(-1)
    f = f * (rank < k)
    return f, f @ W_d + b


def _features(code: Code, train: Train | None) -> str | None:
    x, W_e, c, W_d, b = _case()
    f, _ = code(x, W_e, c, W_d, b, K)
    if tuple(f.shape) != (7, M):
        return f"the features have shape {tuple(f.shape)}; they must have {(7, M)}."
    if (code(x, W_e, c, W_d, b, M)[0] < 0).any():  # the largest few are positive anyway
        return "some features are negative: apply relu to the scores."
    count = int((f > 0).sum(-1).max())
    if count > K:
        return f"{count} features of one vector are active, more than k = {K}."
    right = _right(x, W_e, c, W_d, b, K)[0]
    if torch.allclose(f, right, atol=1e-4):
        return None
    if torch.allclose(f, _right(x, W_e, c, W_d, torch.zeros(D), K)[0], atol=1e-4):
        return "the offset b is to be subtracted before the encoder."
    if torch.allclose(f, _right(x, W_e, torch.zeros(M), W_d, b, K)[0], atol=1e-4):
        return "the bias c of the encoder is missing."
    if torch.allclose(f, (right > 0).float(), atol=1e-4):
        return "the features are 0 and 1: keep how much of each there is."
    return "the features are not the k largest of relu((x - b) W_e^T + c)."


def _output(code: Code, train: Train | None) -> str | None:
    x, W_e, c, W_d, b = _case()
    f, out = code(x, W_e, c, W_d, b, K)
    if tuple(out.shape) != (7, D):
        return f"the output has shape {tuple(out.shape)}; it must have {(7, D)}."
    if torch.allclose(out, f @ W_d, atol=1e-4):
        return "the offset b is to be added to the output again."
    right = torch.allclose(out, f @ W_d + b, atol=1e-4)
    return None if right else "the output is not f W_d + b."


def _slopes(code: Code, train: Train | None) -> str | None:
    x, *weights = _case()
    weights = [w.requires_grad_() for w in weights]
    code(x, *weights, K)[1].square().sum().backward()
    for name, w in zip(("W_e", "c", "W_d", "b"), weights, strict=True):
        if w.grad is None or not w.grad.any():
            return f"{name} gets no gradient: it could not be trained."
    return None


def _training(code: Code, train: Train | None) -> str | None:
    if train is None:
        raise FaultError("there is no training.")
    x, true = known()
    torch.manual_seed(0)
    found = torch.as_tensor(train(x, M, K)).detach()
    if tuple(found.shape) != (M, D):
        return f"the directions have shape {tuple(found.shape)}; they must have {(M, D)}."
    if not torch.allclose(found.norm(dim=1), torch.ones(M), atol=1e-3):
        return "the directions are not of length 1."
    share = float((matched_cosine(found, true) > 0.9).float().mean())
    if share < 0.8:
        return (
            f"{share:.0%} of the known directions are found, and 80 % must be. Train longer, "
            "or with a larger step; are the rows held at length 1 in every step?"
        )
    return None


TESTS = (
    Case("code: features", _features),
    Case("code: output", _output, ("code: features",)),
    Case("code: gradients", _slopes, ("code: output",)),
    Case("training: known directions", _training, ("code: gradients",)),
)
