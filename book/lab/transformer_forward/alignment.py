"""Which words of the source a decoder looks at while it writes the target."""

import torch
from torch import Tensor

from mathlm.errors import InputError, InputTypeError
from mathlm.interpret.patterns import require_distributions
from mathlm.interpret.recording import Watched
from mathlm.models import Transformer
from mathlm.shapes import Bool, Float, Int


@torch.no_grad()
def cross_attention(
    model: Transformer, source: Int[Tensor, " S"], target: Int[Tensor, " T"]
) -> Float[Tensor, "L H T S"]:
    """The weights of every cross-attention head, for one source and one target.

    Row t holds where the decoder looks after it has read tokens 0 ... t of the target, while it
    chooses token t + 1.

    Args:
        model: The encoder-decoder, in evaluation mode if it has dropout.
        source: Token ids without padding.
        target: Token ids of the decoder's input, the start token first.

    Returns:
        Weights by layer of the decoder and head; each row sums to 1.

    Raises:
        InputError: If ids have another shape or do not fit the model, or dropout is on.
        InputTypeError: If ids are not int64, or the model is no encoder-decoder.
    """
    if not isinstance(model, Transformer):
        raise InputTypeError(
            f"{type(model).__name__} is no Transformer with an encoder and a decoder"
        )
    for name, ids in (("source", source), ("target", target)):
        if not isinstance(ids, Tensor):
            raise InputTypeError(
                f"{name} is a {type(ids).__name__}, expected a tensor (tokens,)"
            )
        if ids.ndim != 1:
            shape = tuple(ids.shape)
            raise InputError(f"{name} has shape {shape}, expected (tokens,): give one row")
    if model.training and model.config.dropout > 0:
        raise InputError(f"dropout={model.config.dropout} is on: call model.eval() first")
    layers = []

    def watch(name: str, value: Tensor) -> Tensor:
        if name.endswith("cross_attention.weights"):
            layers.append(value[0])
        return value

    model(source.unsqueeze(0), target.unsqueeze(0), taps=Watched(watch))
    return torch.stack(layers)


def alignment_score(
    weights: Float[Tensor, "*heads T S"], links: Bool[Tensor, "T S"]
) -> Float[Tensor, "*heads"]:
    """Share of its attention that a head gives to the words which are translated just then.

    Computes::

        mean over targets t that have a link of  Σ_s A[t, s] [t and s are linked]

    Args:
        weights: A, from :func:`cross_attention`; row t belongs to the token that it chooses.
        links: True where token t of the target translates token s of the source.

    Returns:
        Between 0 and 1; even attention has the share of linked words.

    Raises:
        InputError: If a row of weights is no distribution, the shapes differ, or nothing is
            linked.
        InputTypeError: If ``links`` is not boolean.
    """
    require_distributions(weights)
    if not isinstance(links, Tensor) or links.dtype != torch.bool:
        found = getattr(links, "dtype", type(links).__name__)
        raise InputTypeError(f"links must be a tensor of bool, got {found}")
    if links.shape != weights.shape[-2:]:
        raise InputError(
            f"links {tuple(links.shape)} must be {tuple(weights.shape[-2:])}, as the weights "
            f"{tuple(weights.shape)} have targets and sources"
        )
    if not links.any():
        raise InputError(f"none of {links.shape[0]} targets is linked to a source")
    return (weights * links).sum(-1)[..., links.any(-1)].mean(-1)


@torch.no_grad()
def effect_of_hiding(
    model: Transformer,
    source: Int[Tensor, " S"],
    target: Int[Tensor, " N"],
    *,
    everywhere: bool,
) -> Float[Tensor, "T S"]:
    """What each word of the target loses when one word of the source is hidden.

    Computes::

        effect[t, s] = ln p(y_{t+1} | y_0 ... y_t, source) - ln p(y_{t+1} | the same, s hidden)

    Args:
        model: The encoder-decoder, in evaluation mode if it has dropout.
        source: Token ids without padding.
        target: Token ids of the whole sentence, N = T + 1 with both marks.
        everywhere: Whether the word is hidden from the encoder too, as if it were deleted;
            if not, only its row of the memory is hidden from the decoder.

    Returns:
        Effects [nats]; a negative one says that the word was in the way.
    """
    S = len(source)
    seen = torch.cat([torch.ones(1, S, dtype=torch.bool), ~torch.eye(S, dtype=torch.bool)])
    seen = seen.to(source.device)
    ids, given = source.expand(S + 1, -1), target[:-1].expand(S + 1, -1)
    memory = model.encode(ids, seen if everywhere else None)
    logp = model.decode(given, memory, memory_mask=seen).log_softmax(-1)
    right = logp[:, torch.arange(len(target) - 1), target[1:]]  # (S + 1, T)
    return (right[0] - right[1:]).mT
