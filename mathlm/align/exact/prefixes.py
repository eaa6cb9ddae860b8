"""The prefixes of a set of completions, as a tree of numbered nodes."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...errors import InputError, InputTypeError
from ...shapes import Bool, Float, Int

NOTHING = -100  # behind the end of a completion; a target that is not asked for


@dataclass(frozen=True, eq=False)
class Prefixes:
    """What stands before each token of each completion; node 0 is the empty prefix.

    The texts in ``rows`` hold every prefix: a causal model that reads them once has been asked
    about all of them. With V tokens and completions of length n these are V^(n-1) texts.

    Attributes:
        node: Of what stands before token t of completion y, (Y, n); 0 behind its end.
        token: The token itself, (Y, n); 0 behind the end.
        real: Where there is a token, (Y, n).
        next: Node after a token at a node, (N, V); -1 where it ends a completion.
        leaf: Completion that a token at a node ends, (N, V); -1 where it does not.
        inside: Whether completion y begins with prefix i, (N, Y).
        depth: Tokens of each prefix, (N,).
        finished: Whether a completion has come to its end and is not cut off, (Y,). Where all
            are equally long, all are finished.
        rows: Texts to read after a prompt, (R, n - 1); a short one is filled with 0.
        row: In which of them a prefix is read, (N,).
    """

    node: Int[Tensor, "Y n"]
    token: Int[Tensor, "Y n"]
    real: Bool[Tensor, "Y n"]
    next: Int[Tensor, "N V"]
    leaf: Int[Tensor, "N V"]
    inside: Bool[Tensor, "N Y"]
    depth: Int[Tensor, " N"]
    finished: Bool[Tensor, " Y"]
    rows: Int[Tensor, "R m"]
    row: Int[Tensor, " N"]

    def sums(self, values: Float[Tensor, "P Y"]) -> Float[Tensor, "P N"]:
        """Sum of a number of each completion over those that begin with each prefix."""
        return values @ self.inside.to(values.dtype).mT

    def log_sums(self, values: Float[Tensor, "P Y"]) -> Float[Tensor, "P N"]:
        """Logarithm of the sum of exponentials over those that begin with each prefix."""
        hidden = values[:, None].masked_fill(~self.inside, -torch.inf)
        return hidden.logsumexp(-1)

    def along(self, table: Float[Tensor, "P N V"]) -> Float[Tensor, "P Y n"]:
        """Numbers of tokens at prefixes, read along each completion; 0 behind its end."""
        return table[:, self.node, self.token].masked_fill(~self.real, 0.0)

    def before(self, values: Float[Tensor, "P N"]) -> Float[Tensor, "P Y n"]:
        """Numbers of prefixes, read along each completion; 0 behind its end."""
        return values[:, self.node].masked_fill(~self.real, 0.0)

    def after(
        self, inner: Float[Tensor, "P N"], ends: Float[Tensor, "P Y"]
    ) -> Float[Tensor, "P N V"]:
        """What stands behind each token at each prefix: a longer prefix, or a completion."""
        goes_on = inner[:, self.next.clamp_min(0)]
        return torch.where(self.next >= 0, goes_on, ends[:, self.leaf.clamp_min(0)])


def prefixes_of(completions: Int[Tensor, "Y n"]) -> Prefixes:
    """Number the prefixes of a set of completions, shortest first.

    Args:
        completions: Ids, -100 behind the end of a shorter one. The set is complete: no
            completion begins another, and whatever token follows a prefix, some completion
            goes on so. Then the probabilities of a language model sum to 1 over it.

    Returns:
        The tree.

    Raises:
        InputError: If the set is empty or not complete, or has a completion twice.
        InputTypeError: If the ids are not int64.

    Example:
        >>> prefixes = prefixes_of(torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]))
        >>> prefixes.depth, prefixes.inside[1]  # nothing, 0 and 1; the first two begin with 0
        (tensor([0, 1, 1]), tensor([ True,  True, False, False]))
    """
    texts = _texts(completions)
    stems = sorted({y[:t] for y in texts for t in range(len(y))}, key=lambda s: (len(s), s))
    number = {stem: i for i, stem in enumerate(stems)}
    following = _following(texts, number)
    node = torch.zeros_like(completions)
    for y, text in enumerate(texts):
        node[y, : len(text)] = torch.tensor([number[text[:t]] for t in range(len(text))])
    inside = torch.tensor(
        [[y[: len(s)] == s and len(y) > len(s) for y in texts] for s in stems]
    )
    real = completions != NOTHING
    rows, row = _readable(stems, completions.shape[1] - 1)
    depth = torch.tensor([len(stem) for stem in stems])
    token = completions.where(real, 0)
    complete = _finished(texts)
    return Prefixes(node, token, real, *following, inside, depth, complete, rows, row)


def _texts(completions: Tensor) -> list[tuple[int, ...]]:
    """The completions without what stands behind their ends."""
    if completions.dtype != torch.int64:
        raise InputTypeError(f"completions must be int64, got {completions.dtype}")
    if completions.ndim != 2 or not completions.numel():
        raise InputError(f"completions have shape {tuple(completions.shape)}: give (Y, n)")
    real = completions != NOTHING
    if (real & (completions < 0)).any() or (real.int().diff(dim=1) > 0).any():
        raise InputError(
            f"completions hold ids from 0, and {NOTHING} behind the end of a shorter one"
        )
    if not real[:, 0].all():
        raise InputError(f"completion {int((~real[:, 0]).nonzero()[0])} is empty")
    texts = [tuple(y[: int(r.sum())].tolist()) for y, r in zip(completions, real, strict=True)]
    if len(set(texts)) < len(texts):
        raise InputError(f"{len(texts) - len(set(texts))} completions occur twice")
    return texts


def _following(
    texts: list[tuple[int, ...]], number: dict[tuple[int, ...], int]
) -> tuple[Tensor, Tensor]:
    """The node, or the completion, behind each token at each prefix."""
    V = 1 + max(max(y) for y in texts)
    goes_on, ends = torch.full((2, len(number), V), -1)
    for stem, i in number.items():
        if stem:
            goes_on[number[stem[:-1]], stem[-1]] = i
    for y, text in enumerate(texts):
        ends[number[text[:-1]], text[-1]] = y
    gaps = (goes_on < 0) & (ends < 0)
    if (twice := (goes_on >= 0) & (ends >= 0)).any() or gaps.any():
        i, v = (twice if twice.any() else gaps).nonzero()[0].tolist()
        stem = list(number)[i]
        what = "ends a completion and begins another" if twice.any() else "has no completion"
        raise InputError(f"token {v} after {list(stem)} {what}: the set must be complete")
    return goes_on, ends


def _finished(texts: list[tuple[int, ...]]) -> Tensor:
    """Whether each text's last token is one that ends a shorter text, if there are any."""
    longest = max(map(len, texts))
    ends = {y[-1] for y in texts if len(y) < longest}
    return torch.tensor([not ends or y[-1] in ends for y in texts])


def _readable(stems: list[tuple[int, ...]], longest: int) -> tuple[Tensor, Tensor]:
    """The prefixes that begin no other prefix, as rows, and the row of each prefix."""
    within: dict[tuple[int, ...], tuple[int, ...]] = {}
    for stem in reversed(stems):  # longest first
        for t in range(len(stem) + 1):
            within.setdefault(stem[:t], stem)
    kept = sorted(set(within.values()))
    place = {stem: r for r, stem in enumerate(kept)}
    rows = torch.zeros(len(kept), longest, dtype=torch.int64)
    for r, stem in enumerate(kept):
        rows[r, : len(stem)] = torch.tensor(stem, dtype=torch.int64)
    return rows, torch.tensor([place[within[stem]] for stem in stems])
