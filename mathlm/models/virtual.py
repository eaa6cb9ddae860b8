"""Virtual tokens: what a model reads before every text, and trains."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from ..layers.prefix import GatedPrefixKV, Prefix, PrefixKV
from ..shapes import Float

Read = Callable[[Tensor], list[PrefixKV]]


class VirtualTokens(nn.Module):
    """What stands before every text that a model reads.

    Attributes:
        length: m, how many there are.
        shift: Places that they take, by which the text comes later: m, or 0.
    """

    length: int
    shift: int

    def forward(self, read: Read) -> Sequence[PrefixKV | GatedPrefixKV]:
        """Keys and values for each layer.

        Args:
            read: What keys and values a model has for vectors (m, D) that it reads.
        """
        raise NotImplementedError


class Prefixes(VirtualTokens):
    """Keys and values of every layer, trained as they are.

    Args:
        layers: One prefix for each block, of one length, all gated or none.
    """

    def __init__(self, layers: Sequence[Prefix]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.length = layers[0].k.shape[1]
        self.gated = layers[0].gate is not None
        self.shift = 0 if self.gated else self.length

    def forward(self, read: Read) -> Sequence[PrefixKV | GatedPrefixKV]:
        """Those of the prefixes."""
        return [prefix() for prefix in self.layers]


class Prompt(VirtualTokens):
    """Vectors that stand where embeddings of tokens would; the model makes the rest of them.

    Implements eq-small-prompt::

        x = [P; E[ids]],   of which the model reads P once for all rows

    No vector of P sees the text behind it, so its keys and values are the same for every text.

    Args:
        vectors: P at the start, (m, D).

    References:
        Lester et al. (2021), arXiv:2104.08691, section 2.
    """

    def __init__(self, vectors: Float[Tensor, "m D"]) -> None:
        super().__init__()
        self.vectors = nn.Parameter(vectors.clone())
        self.length = self.shift = len(vectors)

    def forward(self, read: Read) -> Sequence[PrefixKV | GatedPrefixKV]:
        """Those that the model has for the vectors."""
        return read(self.vectors)
