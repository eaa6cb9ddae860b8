"""A reward for each text: one number, read where its last real token stands."""

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor, nn

from ...errors import CheckpointMismatchError, ConfigError, InputError, InputTypeError
from ...models import GPT, save_pretrained
from ...models.files.atomic import write_files
from ...models.files.weights import check_tensors_fit, read_tensors, to_bytes
from ...shapes import Float

HEAD_FILE = "reward_head.safetensors"


class RewardModel(nn.Module):
    """One number for each text: a linear map of the last real token's final state.

    Implements eq-reward-model::

        r[b] = wᵀ h[b, t_b] + c,   t_b = last t with mask[b, t]

    Where a text ends is said by the mask alone: no id means padding, and one that stands for
    padding elsewhere may occur in a text. The head starts at 0, so that at the start all texts
    are worth the same, and comparisons cost log 2 each. The constant c, which comparisons
    cannot find, is no parameter: it is set by :meth:`centre`, and 0 before.

    Args:
        body: Its own head is not used. Low-rank updates of it stay, and train as usual.
        seed: Of the head's first weights, normal with ``std``; None = from torch's generator.
        std: 0 starts with equal rewards; members of an ensemble want 1/√D or so.

    Raises:
        ConfigError: If ``std`` is negative or not finite.
        InputTypeError: If the body is no GPT.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model = RewardModel(GPT(GPTConfig(**sizes)))
        >>> ids = torch.tensor([[72, 105, 33]])
        >>> model(ids, torch.ones_like(ids).bool()).tolist()  # every text, at first
        [0.0]
    """

    def __init__(self, body: GPT, *, std: float | int = 0.0, seed: int | None = None) -> None:
        super().__init__()
        if not isinstance(body, GPT):
            raise InputTypeError(f"body is a {type(body).__name__}; expected a GPT")
        if not 0 <= std < float("inf"):
            raise ConfigError(f"std={std} must be at least 0 and finite")
        self.body = body
        gain = next(body.final_norm.parameters())
        self.head = nn.Linear(body.config.d_model, 1, bias=False).to(gain)
        draw = None if seed is None else torch.Generator().manual_seed(seed)
        first = torch.zeros(1, body.config.d_model)
        first = first.normal_(0.0, std, generator=draw) if std else first
        with torch.no_grad():
            self.head.weight.copy_(first)
        self.offset: Tensor
        self.register_buffer("offset", gain.detach().new_zeros(()))

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Float[Tensor, " B"]:
        """Rewards of texts.

        Args:
            ids: Token ids (B, T), int64; any of the vocabulary at padding.
            mask: True where a token is real, (B, T); padding may be on either side. None = all.

        Returns:
            r, one number for each row.

        Raises:
            InputError: If a row is all padding, or the ids or the mask do not fit.
            InputTypeError: If a dtype is wrong.
        """
        if mask is None:
            last = self.body.hidden(ids)[:, -1]
        else:
            end = last_real(ids, mask)
            hidden = self.body.hidden(ids, mask)
            last = hidden[torch.arange(len(ids), device=ids.device), end]
        return self.head(last).squeeze(-1) + self.offset

    @torch.no_grad()
    def centre(self, rewards: Float[Tensor, " N"]) -> None:
        """Move the constant so that texts with these rewards have the mean 0."""
        if len(rewards) == 0 or not bool(rewards.isfinite().all()):
            raise InputError(f"{len(rewards)} rewards, all to be finite, and at least one")
        self.offset -= rewards.mean().to(self.offset)

    def save(self, folder: str | Path) -> Path:
        """Write the whole model: the body as :func:`save_pretrained` does, and the head.

        Returns:
            The folder.

        Raises:
            ConfigError: If the body has adapters or cannot be written so; merge them, or write
                them by :func:`mathlm.adapt.save_adapter` and the head by :meth:`save_head`.
            CheckpointError: If the folder holds a model.
        """
        folder = save_pretrained(self.body, folder)
        return self.save_head(folder)

    def save_head(self, folder: str | Path) -> Path:
        """Write the head and the constant alone, into a folder that is there."""
        state = {"weight": self.head.weight, "offset": self.offset.reshape(1)}
        return write_files(Path(folder), {HEAD_FILE: to_bytes(state)}, "the head")

    def load_head(self, folder: str | Path) -> "RewardModel":
        """Take the head and the constant of a folder.

        Raises:
            CheckpointMismatchError: If there is none, or it is of another width.
            CheckpointCorruptError: If it cannot be read.
        """
        path = Path(folder) / HEAD_FILE
        if not path.is_file():
            raise CheckpointMismatchError(f"{folder} holds no {HEAD_FILE}: no reward model")
        dtype = self.head.weight.dtype
        found = {name: tensor.to(dtype) for name, tensor in read_tensors(path).items()}
        own = {"weight": self.head.weight, "offset": self.offset.reshape(1)}
        check_tensors_fit(f"{path} does not fit the body", found, own)
        with torch.no_grad():
            self.head.weight.copy_(found["weight"])
            self.offset.copy_(found["offset"].squeeze())
        return self

    @classmethod
    def load(cls, folder: str | Path, *, dtype: torch.dtype = torch.float32) -> "RewardModel":
        """A reward model that :meth:`save` wrote, in evaluation mode.

        Raises:
            CheckpointMismatchError: If the folder has no head, or one of another width.
            CheckpointError, CheckpointCorruptError: As :meth:`GPT.from_pretrained`.
        """
        return cls(GPT.from_pretrained(folder, dtype=dtype)).load_head(folder).eval()


def last_real(ids: Tensor, mask: Tensor) -> Tensor:
    """Position of the last real token of each row, (B,).

    Raises:
        InputError: If a row has none, or the mask is of another shape than the ids.
        InputTypeError: If the mask is not boolean.
    """
    if mask.dtype != torch.bool:
        found = str(mask.dtype).removeprefix("torch.")
        raise InputTypeError(f"mask must be bool, True = real token, got {found}")
    if mask.shape != ids.shape or ids.ndim != 2:
        raise InputError(
            f"mask {tuple(mask.shape)} must have the shape of ids {tuple(ids.shape)}, (B, T)"
        )
    empty = ~mask.any(1)
    if bool(empty.any()):
        raise InputError(
            f"row {int(empty.nonzero()[0])} is all padding: a text without tokens has no "
            "reward; leave it out"
        )
    return ids.shape[1] - 1 - mask.flip(1).to(torch.uint8).argmax(1)


class RewardEnsemble(nn.Module):
    """Several reward models of the same texts, whose disagreement says what none of them knows.

    Called, it gives the mean of its members, as one reward model does.

    Args:
        models: At least two, of the same vocabulary.

    Raises:
        ConfigError: If there are fewer than two.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> ensemble = RewardEnsemble(RewardModel(GPT(GPTConfig(**sizes))) for _ in range(3))
        >>> ensemble.members(torch.tensor([[72, 105, 33]])).shape
        torch.Size([3, 1])
    """

    def __init__(self, models: Iterable[nn.Module]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        if len(self.models) < 2:
            raise ConfigError(f"{len(self.models)} models do not disagree: give two or more")

    def members(self, ids: Tensor, mask: Tensor | None = None) -> Float[Tensor, "M B"]:
        """Each member's rewards of the texts."""
        return torch.stack([model(ids, mask) for model in self.models])

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Float[Tensor, " B"]:
        """Mean of the members' rewards."""
        return self.members(ids, mask).mean(0)


def ensemble_std(members: Float[Tensor, "M ..."]) -> Float[Tensor, "..."]:
    """How much members disagree: standard deviation over them, with M - 1.

    Each member's constant is as arbitrary as a single model's. Centre them first, on texts
    that all of them judge; else their constants are counted as disagreement.

    Args:
        members: Rewards of each member, M >= 2.

    Raises:
        InputError: If there are fewer than two members.

    Example:
        >>> ensemble_std(torch.tensor([[1.0], [3.0]]))  # √2
        tensor([1.4142])
    """
    _require_members(members, 2)
    return members.std(0)


def worst_case(members: Float[Tensor, "M ..."]) -> Float[Tensor, "..."]:
    """The reward of the member that likes a text least.

    Args:
        members: Rewards of each member.

    Raises:
        InputError: If there is none.

    Example:
        >>> worst_case(torch.tensor([[1.0, 4.0], [2.0, 3.0]]))
        tensor([1., 3.])

    References:
        Coste et al. (2023), arXiv:2310.02743, eq. (4).
    """
    _require_members(members, 1)
    return members.amin(0)


def cautious_reward(members: Float[Tensor, "M ..."], c: float | int) -> Float[Tensor, "..."]:
    """Mean of the members less a multiple of their disagreement.

    Computes::

        mean_m r_m - c std_m r_m

    Args:
        members: Rewards of each member, M >= 2.
        c: What a unit of disagreement costs; 0 = the mean.

    Raises:
        InputError: If there are fewer than two members, or c is negative.

    Example:
        >>> cautious_reward(torch.tensor([[1.0], [3.0]]), c=0.5)  # 2 - √2 / 2
        tensor([1.2929])
    """
    if c < 0:
        raise InputError(f"c={c} must not be negative: disagreement would be sought")
    return members.mean(0) - c * ensemble_std(members)


def _require_members(members: Tensor, least: int) -> None:
    if members.ndim == 0 or len(members) < least:
        raise InputError(
            f"members {tuple(members.shape)} needs {least} or more along its first axis"
        )
