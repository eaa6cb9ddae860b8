"""Grader of the project of this page: a masked language model for one's own text."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

from lab.architectures.one_body import start
from lab.grading import Case, FaultError, Report, grade_by
from mathlm.models import GPTConfig
from mathlm.optim import AdamW, warmup_cosine

from .objective_bodies import BothWays

V, MASK = 40, 40  # ordinary tokens of the tests are 0 to 39; the mask has the next id
ROW = 64

Corrupt = Callable[..., Any]
Loss = Callable[..., Any]
Fill = Callable[..., Any]


class Trained(NamedTuple):
    """A model of characters, its alphabet, and what it costs on text that it has not read.

    Args:
        model: Its token ids are places in ``alphabet``; the mask has the next id.
        alphabet: The characters of the text, sorted.
        bits: Of a masked character of the last tenth of the text.
        baseline: Bits of the same characters by how often each occurs in the rest.
    """

    model: BothWays
    alphabet: str
    bits: float
    baseline: float


def grade(corrupt: Corrupt, loss: Loss, fill: Fill) -> Report:
    """Test the parts of a masked language model, and train one with them.

    Args:
        corrupt: ``corrupt(ids, mask_id, rng)`` returns what is read and the targets, arrays
            like ``ids`` (T,); 15 % of the tokens are targets, of which 80 % are masked, 10 %
            replaced by one of the tokens 0 to mask_id - 1, and 10 % kept.
        loss: ``loss(logits, targets)`` for (B, T, V) and (B, T), a mean over the targets.
        fill: ``fill(model, ids, place, mask_id)`` returns the probabilities (V,) of the token
            at a place, given the others.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, corrupt, loss, fill)


def train(text: str, corrupt: Corrupt, loss: Loss, *, steps: int = 400, lr: float = 3e-3,
          width: int = 64, seed: int = 0) -> Trained:  # fmt: skip
    """Train a small model of letters on nine tenths of a text, and judge it on the rest.

    Args:
        text: At least a few thousand characters.
        corrupt: As for :func:`grade`.
        loss: As for :func:`grade`.
        steps: Each on 16 windows of 64 characters.
        lr: Largest step size.
        width: D of the two blocks.
        seed: Of the weights, the windows and the masks.
    """
    alphabet, rng = "".join(sorted(set(text))), np.random.default_rng(seed)
    ids = np.array([alphabet.index(c) for c in text])
    known, new = np.split(ids, [len(ids) * 9 // 10])
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {"d_model": width, "n_layers": 2, "n_heads": 4, "context": ROW}
    shape = GPTConfig(vocab_size=len(alphabet) + 1, position="rope", activation="gelu", **sizes)
    model = BothWays(shape, pairs=False)
    start(model)
    optimizer = AdamW(model.parameters(), lr=lr, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = warmup_cosine(lr, steps // 10, steps)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = schedule(step)
        read, targets = _batch(known, corrupt, len(alphabet), rng)
        optimizer.zero_grad()
        loss(model(read), targets).backward()
        optimizer.step()
    return Trained(model.eval(), alphabet, *_judged(model, known, new, corrupt, rng))


def _batch(ids: ndarray, corrupt: Corrupt, mask_id: int, rng, rows: int = 16) -> tuple:
    starts = rng.integers(0, len(ids) - ROW, rows)
    pairs = [corrupt(ids[i : i + ROW].copy(), mask_id, rng) for i in starts]
    read, targets = (np.stack(x) for x in zip(*pairs, strict=True))
    return torch.from_numpy(read), torch.from_numpy(targets)


@torch.no_grad()
def _judged(model: BothWays, known: ndarray, new: ndarray, corrupt: Corrupt, rng) -> tuple:
    """Bits of masked characters by the model, and by the frequencies of the known text."""
    mask_id = model.gpt.config.vocab_size - 1
    read, targets = _batch(new, corrupt, mask_id, rng, rows=128)
    asked = (targets >= 0) & (read == mask_id)
    nats = -model(read).log_softmax(-1)[asked].gather(1, targets[asked][:, None]).mean()
    often = np.bincount(known, minlength=mask_id) + 1.0
    alone = -np.log2(often / often.sum())[targets[asked].numpy()].mean()
    return nats.item() / math.log(2), float(alone)


# --- the tests ------------------------------------------------------------------------------


def _corrupted(corrupt: Corrupt, rows: int = 200) -> tuple[ndarray, ndarray, ndarray]:
    """Rows of tokens, what is read, and the targets."""
    rng = np.random.default_rng(0)
    ids = rng.integers(0, V, (rows, 100))
    found = []
    for row in ids:
        answer = corrupt(row.copy(), MASK, rng)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise FaultError(
                f"corrupt must return (read, targets), not {type(answer).__name__}."
            )
        for name, x in zip(("read", "targets"), answer, strict=True):
            if np.shape(x) != row.shape:
                raise FaultError(f"{name} has shape {np.shape(x)}; the row has {row.shape}.")
        found.append(answer)
    read, targets = (np.stack(x) for x in zip(*found, strict=True))
    return ids, read, targets


def _targets(corrupt: Corrupt, loss: Loss, fill: Fill) -> None:
    ids, read, targets = _corrupted(corrupt)
    asked = targets != -100
    if asked.all():
        raise FaultError("every place is a target: write -100 where nothing is asked.")
    if (targets[asked] != ids[asked]).any():
        raise FaultError("a target is not the token that stood there before it was changed.")
    if (read != ids)[~asked].any():
        raise FaultError("a place that is no target was changed.")
    share = asked.mean()
    if not 0.13 < share < 0.17:
        raise FaultError(f"{share:.0%} of the tokens are targets; it should be 15 %.")
    by_place = asked.mean(0)
    if by_place.max() > 0.35 or by_place.min() < 0.02:
        raise FaultError("some places are chosen much more often than others: draw them anew "
                         "for each row, all equally likely.")  # fmt: skip


def _fates(corrupt: Corrupt, loss: Loss, fill: Fill) -> None:
    ids, read, targets = _corrupted(corrupt)
    asked = targets != -100
    masked = (read == MASK)[asked].mean()
    kept = (read == ids)[asked].mean()
    changed = read[asked & (read != ids) & (read != MASK)]
    if masked > 0.98:
        raise FaultError("every target is masked: 10 % become another token, 10 % stay.")
    if not 0.77 < masked < 0.83:
        raise FaultError(f"{masked:.0%} of the targets are masked; it should be 80 %.")
    if len(changed) == 0:
        raise FaultError("no target is replaced by another token.")
    if kept < 0.07:
        raise FaultError("no target is left as it is, except by chance.")
    if abs(kept - 0.1025) > 0.02:
        raise FaultError(
            f"{kept:.1%} of the targets stay as they are; it should be about 10 %."
        )
    if changed.min() < 0 or changed.max() > MASK:
        raise FaultError("a replaced token is outside the vocabulary.")
    often = np.bincount(changed, minlength=V)[:V] / len(changed)
    if often.max() > 4 / V:
        raise FaultError("replaced tokens are not drawn evenly from the vocabulary.")
    by_row = [x[a & (x != i) & (x != MASK)] for x, i, a in zip(read, ids, asked, strict=True)]
    if all(len(set(x)) == 1 for x in by_row if len(x) > 1):
        raise FaultError("the replaced tokens of a row are all the same: draw each by itself.")


def _untouched(corrupt: Corrupt, loss: Loss, fill: Fill) -> None:
    row = np.arange(V)
    corrupt(row, MASK, np.random.default_rng(0))
    if (row != np.arange(V)).any():
        raise FaultError("corrupt changes its argument in place: copy the row first.")
    many = np.resize(row, 2000)  # the fates of 300 targets agree by chance once in 10^50
    first, second = (corrupt(many, MASK, np.random.default_rng(1))[0] for _ in range(2))
    if (first != second).any():
        raise FaultError("the same rng gives two results: draw everything from rng.")


def _mean(corrupt: Corrupt, loss: Loss, fill: Fill) -> None:
    rng = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 8, V + 1, generator=rng) * 3
    targets = torch.full((3, 8), -100)
    targets[0, 1], targets[0, 5], targets[2, 7] = 3, 0, 17
    costs = -logits.log_softmax(-1)[targets >= 0].gather(1, targets[targets >= 0][:, None])
    found = loss(logits, targets)
    if not isinstance(found, Tensor) or found.ndim:
        raise FaultError("loss must return a tensor without dimensions.")
    right, value = costs.mean().item(), found.item()
    mistakes = {
        costs.sum().item(): "it is the sum: divide by the number of targets.",
        costs.sum().item() / targets.numel(): (
            "the sum is divided by all places: divide by the number of targets."
        ),
        right / math.log(2): "it is in bits; use the natural logarithm.",
        -right: "the sign is wrong: a loss is not negative.",
    }
    for wrong, sentence in mistakes.items():
        if math.isclose(value, wrong, rel_tol=1e-4):
            raise FaultError(sentence)
    if not math.isclose(value, right, rel_tol=1e-4):
        raise FaultError(f"the loss is {value:.4f}; by hand it is {right:.4f}.")
    if not math.isfinite(loss(1000 * logits, targets).item()):
        raise FaultError(
            "large logits give inf or nan: use log_softmax, not the log of softmax."
        )


class _Spy(torch.nn.Module):
    """A model that notes what it reads; token 0 to V - 1 by a fixed rule, and the mask."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[Tensor] = []

    def forward(self, ids: Tensor) -> Tensor:
        self.read.append(ids.clone())
        return torch.arange(ids.numel() * (V + 1)).reshape(*ids.shape, V + 1).sin()


def _asked(corrupt: Corrupt, loss: Loss, fill: Fill) -> None:
    spy, row = _Spy(), np.arange(20)
    p = np.asarray(fill(spy, row, 7, MASK), dtype=np.float64)
    if (row != np.arange(20)).any():
        raise FaultError("fill changes its argument in place: copy the row first.")
    if not spy.read:
        raise FaultError("fill does not call the model.")
    read = spy.read[0].reshape(-1)
    if read[7] == 7:
        raise FaultError("the model reads the token that it is asked for: mask it first.")
    if read[7] != MASK or (read != torch.arange(20))[[*range(7), *range(8, 20)]].any():
        raise FaultError("the model must read the row with one mask, at the place asked for.")
    if p.shape == (V + 1,):
        raise FaultError("the mask itself gets a probability: leave its logit out.")
    if p.shape != (V,) or not math.isclose(p.sum(), 1, rel_tol=1e-4):
        raise FaultError(f"expected {V} probabilities that add up to 1, got shape {p.shape} "
                         f"and sum {p.sum():.4f}.")  # fmt: skip
    z = torch.arange(20 * (V + 1)).reshape(20, V + 1).sin()[7, :V]
    if not np.allclose(p, z.softmax(-1).numpy(), atol=1e-5):
        raise FaultError("these are not the probabilities at the place that was asked for.")


def _learns(corrupt: Corrupt, loss: Loss, fill: Fill) -> None:
    found = train(lesson(), corrupt, loss, steps=80, width=32, lr=1e-2)
    if not found.bits < 0.8 * found.baseline:
        raise FaultError(
            f"after 80 steps a masked character costs {found.bits:.2f} bits; the frequencies "
            f"of the characters alone cost {found.baseline:.2f}."
        )


def lesson() -> str:
    """A text that is easy to learn: a few words in random order."""
    words = np.array(["quick ", "brown ", "foxes ", "jump ", "over ", "lazy ", "dogs "])
    return "".join(np.random.default_rng(0).choice(words, 1500))


CHOSEN, FATES, MEAN = "targets", "80, 10 and 10", "loss"
TESTS = (
    Case(CHOSEN, _targets),
    Case(FATES, _fates, (CHOSEN,)),
    Case("arguments", _untouched, (CHOSEN,)),
    Case(MEAN, _mean),
    Case("fill", _asked),
    Case("a model learns", _learns, (FATES, "arguments", MEAN)),
)
