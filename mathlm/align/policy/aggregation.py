"""One number out of the losses of all tokens: three ways that weigh long answers differently.

Each gives a sum and a count, so that the caller divides once, by all that a step holds, however
it is split into micro-batches and over ranks.
"""

from torch import Tensor

from ...errors import InputError
from ...shapes import Bool, Float
from ..masks import counted, require_alike


def sequence_sum(x: Float[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> Float[Tensor, " B"]:
    """Sum over the tokens that count, of each sequence.

    Args:
        x: A number for each token; what stands where nothing counts changes no bit.
        mask: True where a token counts.

    Returns:
        (B,); 0 where no token counts.

    Raises:
        InputError: If the shapes differ.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> sequence_sum(torch.tensor([[1.0, 3.0, 9.0]]), torch.tensor([[True, True, False]]))
        tensor([4.])
    """
    require_alike(x=x, mask=mask)
    return counted(x, mask).sum(1)


def token_mean(
    loss: Float[Tensor, "B T"], mask: Bool[Tensor, "B T"]
) -> tuple[Float[Tensor, ""], int]:
    """Every token weighs the same: the sum over all, and how many there are.

    Computes::

        (Σ_b Σ_t ℓ_bt, Σ_b |y_b|)

    A long answer has as many votes as it has tokens.

    Args:
        loss: Loss of each token.
        mask: True where a token counts.

    Returns:
        Sum, and number of tokens.

    Raises:
        InputError: If the shapes differ or no token counts.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> loss, mask = torch.tensor([[1.0, 3.0, 9.0]]), torch.tensor([[True, True, False]])
        >>> token_mean(loss, mask)  # a sum and a count, for the caller to divide
        (tensor(4.), 2)
    """
    total, count = sequence_sum(loss, mask).sum(), int(mask.sum())
    if count == 0:
        raise InputError("no token counts: the mask is False everywhere")
    return total, count


def sequence_mean(
    loss: Float[Tensor, "B T"], mask: Bool[Tensor, "B T"]
) -> tuple[Float[Tensor, ""], int]:
    """Every answer weighs the same: the sum of the answers' means, and how many there are.

    Computes::

        (Σ_b 1/|y_b| Σ_t ℓ_bt, B)

    A token of a long answer weighs less: what is bad is bad less if it is long.

    Args:
        loss: Loss of each token.
        mask: True where a token counts.

    Returns:
        Sum, and number of sequences.

    Raises:
        InputError: If the shapes differ, or a sequence has no token.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> loss, mask = torch.tensor([[1.0, 3.0, 9.0]]), torch.tensor([[True, True, False]])
        >>> sequence_mean(loss, mask)  # of each text its mean: a sum and a count
        (tensor(2.), 1)
    """
    return mean_of_each(loss, mask).sum(), len(loss)


def fixed_length_mean(
    loss: Float[Tensor, "B T"], mask: Bool[Tensor, "B T"], length: int
) -> tuple[Float[Tensor, ""], int]:
    """Every answer is divided by the same length, whatever its own.

    Computes::

        (Σ_b 1/L Σ_t ℓ_bt, B)

    In expectation over answers it is the gradient of the mean reward, but for the number L.

    Args:
        loss: Loss of each token.
        mask: True where a token counts.
        length: L, the most tokens that an answer may have [tokens].

    Returns:
        Sum, and number of sequences.

    Raises:
        InputError: If the shapes differ, or a sequence has more than L tokens.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> loss, mask = torch.tensor([[1.0, 3.0, 9.0]]), torch.tensor([[True, True, False]])
        >>> fixed_length_mean(loss, mask, length=4)
        (tensor(1.), 1)
    """
    return fixed_share_of_each(loss, mask, length).sum(), len(loss)


def mean_of_each(loss: Tensor, mask: Tensor) -> Tensor:
    """Mean over the tokens of each sequence, (B,)."""
    total, lengths = sequence_sum(loss, mask), mask.sum(1)
    if (lengths == 0).any():
        row = int((lengths == 0).nonzero()[0])
        raise InputError(f"sequence {row} has no token that counts; leave empty answers out")
    return total / lengths


def fixed_share_of_each(loss: Tensor, mask: Tensor, length: int) -> Tensor:
    """Sum over the tokens of each sequence, divided by L, (B,)."""
    total, longest = sequence_sum(loss, mask), int(mask.sum(1).max())
    if not 0 < longest <= length:
        raise InputError(
            f"the longest sequence has {longest} tokens, length={length}: need at least one "
            "token, and the length that no answer exceeds"
        )
    return total / length
