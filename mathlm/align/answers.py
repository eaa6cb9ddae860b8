"""What a model thinks of answers: the number that tuning raises and preferences compare."""

from torch import Tensor, nn

from ..errors import InputError
from ..functional import token_cross_entropy
from ..shapes import Float
from ..train import read_causal
from ..train.batches import Batch
from ..train.objectives import IGNORED


def answer_log_probabilities(model: nn.Module, batch: Batch) -> Float[Tensor, " B"]:
    """Log-probability of what is asked in each row, given what stands before it.

    Implements eq-tune-answer::

        out[b] = Σ_{t : target[b, t] ≠ -100} log p(target[b, t] | ids[b, 0] … ids[b, t])

    For rows of one conversation each, as :class:`ChatBatches` gives them with ``packed=False``:
    every token of its answers counts, the end of each turn among them, and nothing else does.

    Args:
        model: From ``ids`` (B, T) to logits (B, T, V).
        batch: ``ids`` and ``targets`` (B, T).

    Returns:
        (B,) [nats], summed over the answers' tokens; 0 where nothing is asked.

    Raises:
        InputError: If rows hold several documents, whose sums would be one, or as in
            :func:`mathlm.train.next_token`.
        InputTypeError: If the ids or targets are not int64.
    """
    documents = batch.get("documents")
    if documents is not None:
        _require_one_each(documents)
    loss = token_cross_entropy(read_causal(model, batch), batch["targets"], IGNORED)
    return -loss.sum(1)


def _require_one_each(documents: Tensor) -> None:
    """Refuse rows with two documents or more."""
    last = documents.amax(1)
    first = documents.where(documents >= 0, last[:, None]).amin(1)
    if (first != last).any():
        row = int((first != last).nonzero()[0])
        raise InputError(
            f"row {row} holds the documents {int(first[row])} to {int(last[row])}; give rows "
            "of one each, as ChatBatches(..., packed=False) does"
        )
