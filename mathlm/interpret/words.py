"""One vector for each word of a text, behind every block of an encoder."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import InputError
from ..models import Bert
from ..shapes import Float
from ..text import WordPiece
from .recording import record


def word_states(
    model: Bert, tokenizer: WordPiece, sentences: Sequence[Sequence[str]]
) -> Float[Tensor, "depths N D"]:
    """States of the words of some sentences, at the embedding and behind every block.

    Each sentence is read alone, between ``[CLS]`` and ``[SEP]``. The state of a word is the
    mean over its pieces.

    Args:
        model: In evaluation mode if it has dropout.
        tokenizer: Of the model.
        sentences: Words of each sentence.

    Returns:
        L + 1 states of each of the N words, in order.

    Raises:
        InputError: If there is no sentence, one has no word, or a word has no piece; or as
            :func:`mathlm.interpret.record`.
    """
    if not sentences:
        raise InputError("there is no sentence: expected one or more, each a list of words")
    return torch.cat([states_of(model, tokenizer, words) for words in sentences], 1)


def states_of(model: Bert, tokenizer: WordPiece, words: Sequence[str]) -> Tensor:
    """:func:`word_states` of one sentence."""
    pieces = [tokenizer.encode(word)[1:-1] for word in words]
    if isinstance(words, str) or not pieces or not all(pieces):
        raise InputError(f"{words!r:.80} must be a list of words of one piece or more each")
    first, last = tokenizer.encode("")
    row = [first, *(i for word in pieces for i in word), last]
    device = model.token_embedding.weight.device
    taps = record(model, torch.tensor([row], device=device))
    names = [f"blocks.{i}.resid_post" for i in range(model.config.n_layers)]
    states = torch.stack([taps[name][0, 1:-1] for name in ("embedding", *names)])
    lengths = torch.tensor([len(word) for word in pieces], device=device)
    owner = torch.arange(len(pieces), device=device).repeat_interleave(lengths)
    sums = states.new_zeros(len(states), len(pieces), states.shape[-1])
    return sums.index_add(1, owner, states) / lengths[:, None]
