"""One vector for each text, from a model that gives one for each token."""

import torch
from torch import Tensor

from ..errors import InputError
from ..functional import l2_normalize, mean_pool, require_token_batch
from ..functional.pooling import require_counted
from ..shapes import Float
from .bert import Bert, real_tokens


@torch.no_grad()
def sentence_embeddings(
    model: Bert, ids: Tensor, mask: Tensor | None = None, *, batch_size: int = 16
) -> Float[Tensor, "N D"]:
    """Vectors of length 1 whose dot products say how close texts are in meaning.

    Computes::

        y_b = h̄_b / ‖h̄_b‖,   h̄_b = mean of the hidden states of the real tokens

    Texts are read in order of length, so that padding costs little however many there are. The
    result carries no gradient.

    Args:
        model: In evaluation mode if it has dropout.
        ids: Token ids (N, T) of N texts, int64, with ``[CLS]`` and ``[SEP]`` where the model
            was trained so.
        mask: True where a token is real, (N, T). None = all real.
        batch_size: Texts read at once.

    Returns:
        One vector for each text, in the order of ``ids``.

    Raises:
        InputError: If a text has no token, the model would drop entries, or an argument does
            not fit the model.
        InputTypeError: If a dtype is wrong.

    Example:
        >>> from mathlm.models import BertConfig
        >>> sizes = dict(vocab_size=100, context=16, d_model=32, n_layers=2, n_heads=4)
        >>> ids = torch.tensor([[5, 6], [7, 8]])
        >>> vectors = sentence_embeddings(Bert(BertConfig(**sizes)), ids)
        >>> vectors.norm(dim=-1)
        tensor([1.0000, 1.0000])

    References:
        Reimers and Gurevych (2019), arXiv:1908.10084, section 3.
    """
    if batch_size < 1:
        raise InputError(f"batch_size={batch_size} must be at least 1")
    if model.training and model.config.dropout > 0:
        raise InputError(
            f"dropout={model.config.dropout} would change the vectors: call model.eval() first"
        )
    require_token_batch(ids, model.config.vocab_size)
    mask = real_tokens(ids, mask)
    require_counted(mask)
    lengths = mask.sum(1)
    order = lengths.argsort()  # shortest first
    first = (~mask).int().argsort(dim=1, stable=True)  # real tokens before padding
    ids, mask = ids.gather(1, first), mask.gather(1, first)
    vectors = []
    for rows in order.split(batch_size):
        T = int(lengths[rows[-1]])  # the longest of them
        real = mask[rows, :T]
        hidden = model(ids[rows, :T], mask=real)
        vectors.append(l2_normalize(mean_pool(hidden, real)))
    return torch.cat(vectors)[order.argsort()]
