"""Train a small classifier on handwritten digits; see what it learns, and what it memorizes.

The last 797 of scikit-learn's 1,797 digits, shuffled once, are held out.
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mathlm.errors import ConfigError
from mathlm.text.corpora.digits import load

POOL = 1000  # digits that may be trained on


@cache
def digits() -> tuple[Tensor, Tensor]:
    """All digits in a fixed order: pixels (1797, 64) in 0..1 and labels (1797,)."""
    pixels, labels = load()
    order = np.random.default_rng(0).permutation(len(labels))
    return torch.tensor(pixels[order] / 16, dtype=torch.float32), torch.tensor(labels[order])


def network(widths: Sequence[int], dropout: float | int = 0.0) -> nn.Sequential:
    """Linear layers, with a tanh and dropout after each hidden one."""
    sizes, layers = [64, *widths], list[nn.Module]()
    for n_in, n_out in zip(sizes, widths, strict=False):
        layers += [nn.Linear(n_in, n_out), nn.Tanh(), nn.Dropout(dropout)]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 10))


def corrupt(labels: Tensor, share: float | int, seed: int) -> tuple[Tensor, Tensor]:
    """Labels of which a random share is wrong, and which ones those are."""
    rng = np.random.default_rng(seed)
    wrong = rng.random(len(labels)) < share
    shift = np.where(wrong, rng.integers(1, 10, len(labels)), 0)
    return (labels + torch.tensor(shift)) % 10, torch.tensor(wrong)


def study(
    make: Callable,
    *,
    examples: int = POOL,
    label_noise: float | int = 0.0,
    widths: Sequence[int] = (32,),
    dropout: float | int = 0.0,
    batch_size: int = 32,
    steps: int = 300,
    every: int = 20,
    schedule: Callable | None = None,
    stop_below: float | int = 0.0,
    seed: int = 0,
    device: str = "cpu",
) -> dict[str, np.ndarray]:
    """Train once; return the columns of the history, one entry every ``every`` steps.

    ``make`` turns parameters into an optimizer, ``schedule`` sets its step size, and a training
    loss under ``stop_below`` [nats] ends the run. Of the wrong labels, ``memorized`` is the
    share that the network repeats; ``seen_through`` is how often it gives the true one.
    """
    counts = 1 <= examples <= POOL and min(batch_size, steps, every) >= 1
    if not (counts and 0 <= label_noise <= 1 and 0 <= dropout < 1):
        raise ConfigError(
            f"need 1 <= {examples=} <= {POOL}, positive {batch_size=}, {steps=}, {every=}, "
            f"0 <= {label_noise=} <= 1 and 0 <= {dropout=} < 1"
        )
    torch.manual_seed(seed)
    data = (*digits(), *corrupt(digits()[1][:examples], label_noise, seed))
    pixels, truth, labels, wrong = (t.to(device) for t in data)
    model = network(widths, dropout).to(device)
    optimizer, rows = make(model.parameters()), []
    for step in range(steps + 1):
        if step % every == 0 or step == steps:
            rows.append({"step": step} | measure(model, pixels, truth, labels, wrong))
            if not stop_below <= rows[-1]["train_loss"] < 50:  # done, or diverged
                break
        for group in optimizer.param_groups if schedule else ():
            group["lr"] = schedule(step)
        batch = torch.randint(examples, (batch_size,))
        optimizer.zero_grad()
        F.cross_entropy(model(pixels[batch]), labels[batch]).backward()
        optimizer.step()
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


@torch.inference_mode()
def measure(model: nn.Module, pixels: Tensor, truth: Tensor, labels: Tensor, wrong: Tensor):
    """The entry of a history after the step, without dropout."""
    logits, n = model.eval()(pixels), len(labels)
    model.train()
    right, hit = (logits.argmax(1) == truth).float(), (logits[:n].argmax(1) == labels).float()
    return {
        "train_loss": F.cross_entropy(logits[:n], labels),
        "held_out_loss": F.cross_entropy(logits[POOL:], truth[POOL:]),
        "train_accuracy": hit.mean(),
        "held_out_accuracy": right[POOL:].mean(),
        "memorized": hit[wrong].sum() / wrong.sum().clamp(min=1),
        "seen_through": right[:n][wrong].sum() / wrong.sum().clamp(min=1),
    }
