"""Updates of a small GPT: how many directions they use, and what is left when they are cut."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from mathlm import reference as ref

from .updates import Change, Run

RANKS = (1, 2, 4, 8, 16, 32)


def random_part(update: ndarray, k: int, rng: np.random.Generator) -> ndarray:
    """An update restricted to k random directions of its input."""
    Q, _ = np.linalg.qr(rng.normal(size=(update.shape[1], k)))
    return update @ Q @ Q.T


def shares_kept(
    run: Run, rng: np.random.Generator, ranks: Sequence[int] = RANKS
) -> dict[str, list[float]]:
    """What is left of the gain of fine-tuning when every block matrix is cut to rank k.

    The gain is counted from a model whose block matrices have no update and whose other
    weights are tuned, to the tuned model.

    Args:
        run: As of :func:`train_twice`.
        rng: For the random directions.
        ranks: Values of k.

    Returns:
        For four ways to cut, the share of the gain for each k: the best approximation of the
        update ("update"), as many random directions of it ("random"), the best approximation
        of the whole matrix ("matrix"), and the random start of the model whole, plus the best
        approximation of all that both trainings added to it ("learned").
    """
    without = run.loss_with(lambda W, update: W)
    added = {n: run.tuned[n] - run.start[n] for n in run.names}

    def share(loss: float) -> float:
        return (without - loss) / (without - run.tuned_loss)

    def kept(change: Change) -> float:
        return share(run.loss_with(change))

    def kept_of_all(k: int) -> float:
        cut = {n: run.start[n] + ref.low_rank(A, k) for n, A in added.items()}
        return share(run.loss_of(cut))

    return {
        "update": [kept(lambda W, update, k=k: W + ref.low_rank(update, k)) for k in ranks],
        "random": [kept(lambda W, update, k=k: W + random_part(update, k, rng)) for k in ranks],
        "matrix": [kept(lambda W, update, k=k: ref.low_rank(W + update, k)) for k in ranks],
        "learned": [kept_of_all(k) for k in ranks],
    }


def directions(run: Run, rng: np.random.Generator) -> dict[str, list[float]]:
    """Effective directions of each block matrix's updates, and of a random matrix.

    Returns:
        Name of the matrix -> of the update by pretraining, of that by fine-tuning, of chance.
    """
    found = {}
    for name in run.names:
        learned = run.pretrained[name] - run.start[name]
        matrices = (learned, run.update(name), rng.normal(size=learned.shape))
        spectra = [np.linalg.svd(A, compute_uv=False) for A in matrices]
        found[name] = [ref.effective_rank(sigma) for sigma in spectra]
    return found


__all__ = ["RANKS", "directions", "random_part", "shares_kept"]
