"""What attention heads look at, as one number for each head.

Every function takes weights of which each row sums to 1. With fewer queries T than keys S the
last query stands at the last key: query t is at position t + S - T. A query at position 0 sees
itself alone, whatever the head does: it is left out of every mean.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..shapes import Float
from .ablation import Heads, as_table, silencer
from .recording import Watched, run


def previous_token_score(weights: Float[Tensor, "*batch T S"]) -> Float[Tensor, "*batch"]:
    """Share of its attention that a query gives to the token before it, on average.

    Implements eq-head-scores::

        mean over queries at positions p ≥ 1 of  A[p, p - 1]

    Args:
        weights: A, from the taps ``blocks.i.attention.weights``.

    Returns:
        Between 0 and 1; 1 for a head that does nothing else.

    Raises:
        InputError: If a row is no distribution, or no query is behind the first position.

    Example:
        >>> previous_token_score(torch.eye(4).roll(-1, 1))
        tensor(1.)
    """
    return _mean_at(weights, 1)


def diagonal_score(weights: Float[Tensor, "*batch T S"]) -> Float[Tensor, "*batch"]:
    """Share of its attention that a query gives to its own token, on average.

    Implements eq-head-scores::

        mean over queries at positions p ≥ 1 of  A[p, p]

    Args:
        weights: As in :func:`previous_token_score`.

    Returns:
        Between 0 and 1.

    Raises:
        InputError: As :func:`previous_token_score`.

    Example:
        >>> diagonal_score(torch.eye(4))
        tensor(1.)
    """
    return _mean_at(weights, 0)


def first_token_score(weights: Float[Tensor, "*batch T S"]) -> Float[Tensor, "*batch"]:
    """Share of its attention that a query gives to the first token of all, on average.

    Implements eq-head-scores::

        mean over queries at positions p ≥ 1 of  A[p, 0]

    A head that has nothing to do rests there: the first token is its attention sink.

    Args:
        weights: As in :func:`previous_token_score`.

    Returns:
        Between 0 and 1.

    Raises:
        InputError: As :func:`previous_token_score`.

    Example:
        >>> first_token_score(torch.tensor([[1.0, 0.0], [0.25, 0.75]]))
        tensor(0.2500)

    References:
        Xiao et al. (2023), arXiv:2309.17453, section 3.1.
    """
    return _behind_first(weights)[..., 0].mean(-1)


def attention_entropy(weights: Float[Tensor, "*batch T S"]) -> Float[Tensor, "*batch"]:
    """How widely a query spreads its attention, on average.

    Implements eq-head-scores::

        mean over queries at positions p ≥ 1 of  - Σ_s A[p, s] ln A[p, s],   0 ln 0 = 0

    A causal query at position p can reach ln(p + 1); the exponential of the entropy is the
    number of tokens over which attention that is spread evenly would have it.

    Args:
        weights: As in :func:`previous_token_score`.

    Returns:
        Entropy [nats].

    Raises:
        InputError: As :func:`previous_token_score`.

    Example:
        >>> attention_entropy(torch.tensor([[1.0, 0.0], [0.5, 0.5]]))  # ln 2 at position 1
        tensor(0.6931)
    """
    rows = torch.special.entr(_behind_first(weights)).sum(-1)
    return rows.mean(-1).abs()  # 0 may come as -0


def mean_distance(weights: Float[Tensor, "*batch T S"]) -> Float[Tensor, "*batch"]:
    """How far from itself a query looks, on average.

    Computes::

        mean over queries at positions p ≥ 1 of  Σ_s A[p, s] |p - s|

    Args:
        weights: As in :func:`previous_token_score`.

    Returns:
        Distance [tokens].

    Raises:
        InputError: As :func:`previous_token_score`.

    Example:
        >>> mean_distance(torch.tensor([[1.0, 0.0], [0.25, 0.75]]))
        tensor(0.2500)
    """
    rows = _behind_first(weights)
    return (rows * _distance(rows).abs()).sum(-1).mean(-1)


def induction_score(
    weights: Float[Tensor, "B *heads T T"], ids: Tensor
) -> Float[Tensor, " B *heads"]:
    """Share of its attention that a query gives to what followed its own token before.

    Implements eq-induction-score::

        mean over queries t with a j ≤ t - 2, x_j = x_t, of  Σ over those j of A[t, j + 1]

    On a random sequence that is repeated, a head that continues what it has seen ("… A B … A"
    → B) has a score near 1; see :func:`repeated_ids`.

    Args:
        weights: A of the tokens.
        ids: The tokens x, (B, T).

    Returns:
        Between 0 and 1, for each row of the batch.

    Raises:
        InputError: If a row of ids has no such query, or ids do not fit the weights.
        InputTypeError: If ids are no int64 tensor.

    Example:
        >>> at = torch.tensor([[0, 0, 1, 2]])  # the last two: what followed their token before
        >>> weights = torch.nn.functional.one_hot(at, 4).float()
        >>> induction_score(weights, torch.tensor([[5, 6, 5, 6]]))
        tensor([1.])

    References:
        Olsson et al. (2022), arXiv:2209.11895, "Mechanistic definition" of induction heads.
    """
    require_distributions(weights)
    B, T = weights.shape[0], weights.shape[-1]
    _require_ids(ids)
    if ids.shape != (B, T) or weights.shape[-2] != T:
        raise InputError(
            f"ids {tuple(ids.shape)} must be ({B}, {T}) for weights {tuple(weights.shape)}"
        )
    after = _after_same(ids)  # (B, T, T)
    counted = after.any(-1)  # (B, T)
    if not counted.any(-1).all():
        row = int(counted.any(-1).int().argmin())
        raise InputError(f"row {row} of ids has no token that came at least two places before")
    heads = (1,) * (weights.ndim - 3)
    looks = (weights * after.view(B, *heads, T, T)).sum(-1)  # (B, *heads, T); 0 if not counted
    return looks.sum(-1) / counted.sum(-1).view(B, *heads)


def repeated_ids(vocab_size: int, length: int, batch: int = 1, seed: int = 0) -> Tensor:
    """Random tokens, all different in a row, and then the same tokens once more.

    Args:
        vocab_size: Tokens are drawn from 0 ... vocab_size - 1 evenly.
        length: Tokens before the repetition.
        batch: Rows B.
        seed: Of the draw.

    Returns:
        Ids (B, 2 length), int64.

    Raises:
        InputError: If there are fewer than ``length`` tokens to draw from, or a size is below 1
            (length: below 2, as a token must come two places before).
        InputTypeError: If an argument is no integer.

    Example:
        >>> ids = repeated_ids(vocab_size=100, length=5)
        >>> ids.shape, torch.equal(ids[:, :5], ids[:, 5:])
        (torch.Size([1, 10]), True)
    """
    sizes = {"vocab_size": vocab_size, "length": length, "batch": batch, "seed": seed}
    if wrong := [
        f"{name}={value!r}" for name, value in sizes.items() if type(value) is not int
    ]:
        raise InputTypeError(f"{', '.join(wrong)} must be an integer")
    if not 2 <= length <= vocab_size or batch < 1:
        raise InputError(
            f"length={length} must be from 2 to vocab_size={vocab_size}, batch={batch} positive"
        )
    draw = torch.Generator().manual_seed(seed)
    rows = [torch.randperm(vocab_size, generator=draw)[:length] for _ in range(batch)]
    return torch.stack(rows).repeat(1, 2)


SCORES = {
    "previous_token": previous_token_score,
    "first_token": first_token_score,
    "diagonal": diagonal_score,
    "entropy": attention_entropy,
    "distance": mean_distance,
}


def head_scores(
    model: nn.Module, ids: Tensor, without: Heads = ()
) -> dict[str, Float[Tensor, "L H"]]:
    """What each head of each layer looks at in a text.

    Args:
        model: As in :func:`record`.
        ids: Token ids (B, T), T ≥ 2, all of them real; means are over all rows.
        without: Heads that say nothing meanwhile, as in :func:`without_heads`: a head that is
            lost without them was told by them where to look.

    Returns:
        Tables (L, H) under "previous_token", "first_token", "diagonal" (shares), "entropy"
        [nats] and "distance" [tokens], and, where every row of ids repeats a token at least two
        places later, "induction" (a share).

    Raises:
        InputError, InputTypeError: As :func:`record`, or if T is 1, or heads also look at a
            prefix or a prompt.

    Example:
        >>> from mathlm.interpret import repeated_ids
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=100, context=32, d_model=16, n_layers=2, n_heads=4)
        >>> scores = head_scores(GPT(GPTConfig(**sizes)), repeated_ids(100, 10))
        >>> scores["induction"].shape
        torch.Size([2, 4])
    """
    rows: dict[str, list[Tensor]] = {}
    silence = silencer(as_table(model, without, len(ids))) if len(without) else None

    def watch(name: str, value: Tensor) -> Tensor:
        if name.endswith("attention.weights"):
            if value.shape[-1] != ids.shape[1]:
                raise InputError(
                    "the model has a prefix or a prompt before every text: "
                    "remove_adapters(model) takes it away"
                )
            for score, found in scores_of(value, ids).items():
                rows.setdefault(score, []).append(found)
        return value if silence is None else silence(name, value)

    run(model, ids, None, Watched(watch))
    return {score: torch.stack(layers) for score, layers in rows.items()}


def scores_of(weights: Float[Tensor, "B H T S"], ids: Tensor) -> dict[str, Tensor]:
    """All scores of one layer, (H,), averaged over the batch."""
    found = {name: score(weights).mean(0) for name, score in SCORES.items()}
    if _after_same(ids).flatten(1).any(-1).all():
        found["induction"] = induction_score(weights, ids).mean(0)
    return found


def _after_same(ids: Tensor) -> Tensor:
    """(B, T, T): whether key s comes behind an earlier copy of the token of query t > s."""
    before = F.pad(ids[..., :-1], (1, 0), value=-1)  # the token before each key
    return (ids.unsqueeze(-1) == before.unsqueeze(-2)).tril(-1)


def _mean_at(weights: Tensor, distance: int) -> Tensor:
    """Mean weight of the keys at one distance behind their queries."""
    rows = _behind_first(weights)
    return (rows * (_distance(rows) == distance)).sum(-1).mean(-1)


def _distance(rows: Tensor) -> Tensor:
    """(T, S): position of the query, less that of the key."""
    T, S = rows.shape[-2:]
    keys = torch.arange(S, device=rows.device)
    return keys[S - T :, None] - keys


def _behind_first(weights: Tensor) -> Tensor:
    """The rows of all queries but that at position 0."""
    require_distributions(weights)
    T, S = weights.shape[-2:]
    if T > S or S < 2:
        raise InputError(
            f"weights {tuple(weights.shape)} have {T} queries and {S} keys: there must be no "
            "more queries than keys, and at least one behind the first position"
        )
    return weights[..., 1:, :] if T == S else weights


def _require_ids(ids: Tensor) -> None:
    """Refuse tokens that are not numbers of a vocabulary."""
    found = (
        str(ids.dtype).removeprefix("torch.") if isinstance(ids, Tensor) else type(ids).__name__
    )
    if found != "int64":
        raise InputTypeError(f"ids must be an int64 tensor, got {found}")


def require_distributions(weights: Tensor) -> None:
    """Refuse weights that are not distributions over the keys."""
    if not isinstance(weights, Tensor):
        raise InputTypeError(f"weights must be a tensor, got {type(weights).__name__}")
    if weights.ndim < 2 or weights.numel() == 0:
        raise InputError(f"weights {tuple(weights.shape)} must be (*batch, T, S), not empty")
    if not weights.is_floating_point():
        found = str(weights.dtype).removeprefix("torch.")
        raise InputTypeError(f"weights must be of a floating dtype, got {found}")
    worst = (weights.sum(-1) - 1.0).abs().max().item()
    if not worst <= torch.finfo(weights.dtype).eps ** 0.5:
        raise InputError(
            f"each row of weights must sum to 1, one is off by {worst:.3g}: leave out queries "
            "that see nothing"
        )
    if weights.min() < 0.0:
        raise InputError(f"weights must not be negative, the least is {weights.min():.3g}")
