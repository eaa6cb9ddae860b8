"""A small GPT trained twice, and its weights at three moments.

The model learns Shakespeare from nothing, then goes on to another kind of text, the manual of
the Python language that every Python carries.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pydoc_data import topics

import numpy as np
import torch
from numpy import ndarray

from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, warmup_cosine
from mathlm.text import corpus
from mathlm.train import TokenWindows, Trainer, TrainerConfig, next_token
from mathlm.train.distributed import DeviceName

MODEL = GPTConfig(vocab_size=256, context=64, d_model=96, n_layers=2, n_heads=4, bias=False)
HELD = 40_000  # characters of the manual that no model trains on
Change = Callable[[ndarray, ndarray], ndarray]  # weights before, update -> weights to try


@dataclass(frozen=True, kw_only=True)
class Run:
    """One model, and its weights at three moments.

    Args:
        model: The model, with its tuned weights.
        start: Weights before any step, by name.
        pretrained: After training on the plays.
        tuned: After training on the manual too.
        evaluate: Loss of the model as it stands on held-out manual [nats/byte].
        tuned_loss: That loss with the tuned weights.
    """

    model: GPT
    start: Mapping[str, ndarray]
    pretrained: Mapping[str, ndarray]
    tuned: Mapping[str, ndarray]
    evaluate: Callable[[], float]
    tuned_loss: float = field(default=float("nan"))

    @property
    def names(self) -> list[str]:
        """The weight matrices of the blocks: six in each."""
        return [n for n, W in self.start.items() if W.ndim == 2 and "blocks" in n]

    def update(self, name: str) -> ndarray:
        """What fine-tuning added to a matrix."""
        return self.tuned[name] - self.pretrained[name]

    def loss_with(self, change: Change) -> float:
        """Loss on held-out manual when every block matrix is replaced [nats/byte].

        Args:
            change: From a matrix before fine-tuning and its update to the matrix to try. The
                rest of the model, embeddings and norms, stays tuned.
        """
        return self.loss_of({n: change(self.pretrained[n], self.update(n)) for n in self.names})

    def loss_of(self, matrices: Mapping[str, ndarray]) -> float:
        """Loss on held-out manual with these matrices, the rest tuned [nats/byte]."""
        weights = dict(self.tuned) | dict(matrices)
        state = {n: torch.as_tensor(W).float() for n, W in weights.items()}
        self.model.load_state_dict(state, strict=False)
        return self.evaluate()


def train_twice(
    seed: int = 0, device: DeviceName = "cpu", steps: tuple[int, int] = (160, 80)
) -> Run:
    """Train a two-block GPT of width 96 on the plays, then on the manual of Python.

    Args:
        seed: Of the weights at the start; the order of the data is the same for all.
        device: Where to train.
        steps: Of 16 windows of 64 bytes, for the plays and for the manual.
    """
    torch.manual_seed(seed)
    model = GPT(MODEL)
    start = weights(model)
    plays, _ = corpus.split("shakespeare")
    fit(model, plays, None, steps[0], 3e-3, device)
    pretrained = weights(model)
    text = "\n".join(topics.topics[key] for key in sorted(topics.topics))
    trainer = fit(model, text[:-HELD], text[-HELD:], steps[1], 1e-3, device)
    return Run(
        model=model,
        start=start,
        pretrained=pretrained,
        tuned=weights(model),
        evaluate=trainer.evaluate,
        tuned_loss=trainer.evaluate(),
    )


def fit(
    model: GPT, text: str, unseen: str | None, steps: int, peak: float, device: DeviceName
) -> Trainer:
    """Train with AdamW, a warm-up of 20 steps and a cosine to a tenth of ``peak`` [1/step].

    Nothing is evaluated if ``unseen`` is None.
    """
    optimizer = AdamW(model.parameters(), lr=peak, weight_decay=0.0)
    schedule = warmup_cosine(peak, warmup=min(20, steps - 1), steps=steps, final=peak / 10)
    config = TrainerConfig(steps=steps, schedule=schedule, device=device, log_every=steps)
    held_out = None if unseen is None else [windows(unseen, 128)(0)]
    trainer = Trainer(model, next_token, windows(text, 16), optimizer, config, held_out)
    trainer.fit()
    return trainer


def windows(text: str, batch_size: int) -> TokenWindows:
    """Batches of windows of 64 bytes of a text."""
    ids = np.frombuffer(text.encode(), dtype=np.uint8)
    return TokenWindows(ids, context=64, batch_size=batch_size, vocab_size=256)


def weights(model: GPT) -> dict[str, ndarray]:
    """Copies of all weights, in float64."""
    named = model.named_parameters()
    return {n: p.detach().double().cpu().numpy().copy() for n, p in named}


def gradient(run: Run, name: str, bytes_read: int) -> ndarray:
    """Gradient of a weight matrix from a single sequence of the manual.

    Args:
        run: As of :func:`train_twice`.
        name: Of the matrix.
        bytes_read: Length of the sequence, 64 at most.
    """
    text = "\n".join(topics.topics[key] for key in sorted(topics.topics))
    parameter = dict(run.model.named_parameters())[name]
    batch = windows(text, 1)(0)
    batch = {k: batch[k][:, :bytes_read].to(parameter.device) for k in ("ids", "targets")}
    run.loss_with(lambda W, update: W + update)  # the tuned weights
    run.model.zero_grad()
    next_token(run.model, batch)[0].backward()
    grad = parameter.grad
    assert grad is not None
    return grad.double().cpu().numpy()


__all__ = [
    "Change",
    "HELD",
    "MODEL",
    "Run",
    "fit",
    "gradient",
    "train_twice",
    "weights",
    "windows",
]
