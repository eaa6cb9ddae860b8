"""BERT: a bidirectional transformer from token ids to one vector for each token."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from ..errors import CheckpointMismatchError, InputError
from ..functional import require_token_batch, require_token_ids
from ..functional.pooling import require_mask
from ..layers import (
    FeedForward,
    LayerNorm,
    LearnedPosition,
    PostNormBlock,
    SelfAttention,
    Taps,
    scope,
    tap,
)
from ..layers.feedforward import ACTIVATIONS
from ..shapes import Bool, Float, Int
from .bert_config import BertConfig
from .files.bert import canonical, config_of, fill_model, their_name
from .files.hugging_face import read_config, require_field
from .files.weights import load_weights

INIT_STD = 0.02


class Bert(nn.Module):
    """Encoder of post-norm blocks in which every token sees every other.

    Computes::

        x = norm(E[ids] + P[positions] + S[segments]),   x ← block(x) L times

    Weights start normal with standard deviation 0.02, biases 0, gains 1. There is no head.

    Args:
        config: Sizes and choices.

    Example:
        >>> sizes = dict(vocab_size=100, context=16, d_model=32, n_layers=2, n_heads=4)
        >>> Bert(BertConfig(**sizes))(torch.tensor([[5, 6, 7]])).shape
        torch.Size([1, 3, 32])

    References:
        Devlin et al. (2019), arXiv:1810.04805, section 3.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.position = LearnedPosition(config.context, config.d_model)
        self.segment_embedding = nn.Embedding(config.n_segments, config.d_model)
        self.embedding_norm = LayerNorm(config.d_model, config.norm_eps)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(make_block(config) for _ in range(config.n_layers))
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, folder: str | Path, *, dropout: float | int = 0.0) -> "Bert":
        """The model of a Hugging Face folder: ``config.json`` and ``model.safetensors``.

        Parameters have the dtype of the file and are on the CPU; the model is in evaluation
        mode. What this model does not have is left out: the pooler, the heads ``cls.`` of
        pretraining, stored position ids, and the rates of dropout.

        Args:
            folder: Such as ``mathlm.text.corpora.pretrained.find("minilm")`` returns it.
            dropout: Probability of dropping an entry, in training.

        Raises:
            CheckpointError: If a file is missing.
            CheckpointCorruptError: If a file cannot be read.
            CheckpointMismatchError: If the folder is of another kind of model, tensors are
                missing, left over or of another shape, or the weights are a pickle.
        """
        folder = Path(folder)
        config = config_of(read_config(folder), dropout)
        tensors = canonical(load_weights(folder))
        return fill_model(cls, config, tensors, their_name, folder).eval()

    def forward(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B T D"]:
        """One vector for each token, in its context.

        Args:
            ids: Token ids (B, T), int64.
            mask: True where a token is real, (B, T); padding may be on either side and changes
                nothing at real tokens. What stands at padding means nothing. None = all real.
            segments: Kind of text of each token, (B, T), int64. None = all 0.
            taps: Receives ``embedding`` and ``blocks.i.…``; see
                :class:`mathlm.layers.PostNormBlock`.

        Returns:
            The stream behind the last block.

        Raises:
            InputError: If ids are empty, longer than the context or outside the vocabulary, or
                the other arguments do not fit them.
            InputTypeError: If a dtype is wrong.
        """
        require_token_batch(ids, self.config.vocab_size, self.config.context)
        real = real_tokens(ids, mask)
        visible = None if mask is None else real[:, None, None, :]  # to every query alike
        x = tap(taps, "embedding", self.embed(ids, real, segments))
        for i, block in enumerate(self.blocks):
            x = block(x, mask=visible, taps=scope(taps, f"blocks.{i}."))
        return x

    def embed(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"], segments: Tensor | None
    ) -> Float[Tensor, "B T D"]:
        """Normalized sums of token, position and segment; positions count real tokens."""
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        if segments is None:
            segments = torch.zeros_like(ids)
        elif segments.shape != ids.shape:
            raise InputError(
                f"segments {tuple(segments.shape)} must have the shape of ids, "
                f"{tuple(ids.shape)}"
            )
        require_token_ids(segments, self.config.n_segments, "segment")
        x = self.token_embedding(ids) + self.segment_embedding(segments)
        x = (x + self.position(positions)).masked_fill(~mask.unsqueeze(-1), 0.0)
        return self.dropout(self.embedding_norm(x))

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=INIT_STD)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)


def make_block(config: BertConfig) -> PostNormBlock:
    """One block of the sizes and choices of a configuration."""
    D, eps = config.d_model, config.norm_eps
    attention = SelfAttention(
        D, config.n_heads, bias=True, causal=False, dropout=config.dropout
    )
    feed_forward = FeedForward(D, config.ff_width, config.activation)
    norms = (LayerNorm(D, eps), LayerNorm(D, eps))
    return PostNormBlock(norms[0], attention, norms[1], feed_forward, config.dropout)


def real_tokens(ids: Tensor, mask: Tensor | None) -> Bool[Tensor, "B T"]:
    """The mask if it fits the ids; without one, all tokens are real."""
    if mask is None:
        return torch.ones_like(ids, dtype=torch.bool)
    require_mask(mask, "real token")
    if mask.shape != ids.shape:
        raise InputError(
            f"mask {tuple(mask.shape)} must have the shape of ids, {tuple(ids.shape)}"
        )
    return mask


LEFT_OUT = ("pooler.", "cls.seq_relationship.", "embeddings.position_ids")
HEAD = {
    "transform.weight": "cls.predictions.transform.dense.weight",
    "transform.bias": "cls.predictions.transform.dense.bias",
    "transform_norm.gamma": "cls.predictions.transform.LayerNorm.weight",
    "transform_norm.beta": "cls.predictions.transform.LayerNorm.bias",
    "head.weight": "cls.predictions.decoder.weight",
    "head.bias": "cls.predictions.bias",
}
BOTH = (True, False)
DECODER, EMBEDDING = "cls.predictions.decoder", "embeddings.word_embeddings.weight"


class MaskedBert(nn.Module):
    """BERT that predicts the token at each position from all the others.

    Computes::

        h = bert(ids),   logits = norm(f(W h + b)) Eᵀ + c

    f is the activation of the blocks, E the token embedding, or a matrix of the head's own.
    The logits of a position are about that position, not about the next one.

    Args:
        config: Sizes and choices of the BERT.
        tie_embeddings: Whether the head's matrix is the token embedding itself.

    Example:
        >>> sizes = dict(vocab_size=100, context=16, d_model=32, n_layers=2, n_heads=4)
        >>> MaskedBert(BertConfig(**sizes))(torch.tensor([[5, 6, 7]])).shape
        torch.Size([1, 3, 100])

    References:
        Devlin et al. (2019), arXiv:1810.04805, section 3.1.
    """

    def __init__(self, config: BertConfig, *, tie_embeddings: bool = True) -> None:
        super().__init__()
        self.config, self.tie_embeddings = config, tie_embeddings
        self.bert = Bert(config)
        self.transform = nn.Linear(config.d_model, config.d_model)
        self.transform_norm = LayerNorm(config.d_model, config.norm_eps)
        self.head = nn.Linear(config.d_model, config.vocab_size)
        if tie_embeddings:
            self.head.weight = self.bert.token_embedding.weight
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, folder: str | Path, *, dropout: float | int = 0.0) -> "MaskedBert":
        """The model of a Hugging Face folder of a BertForMaskedLM or BertForPreTraining.

        See :meth:`Bert.from_pretrained`. The pooler and the head for the next sentence are left
        out.

        Args:
            folder: With ``config.json`` and ``model.safetensors``.
            dropout: Probability of dropping an entry, in training.

        Raises:
            CheckpointError: If a file is missing.
            CheckpointCorruptError: If a file cannot be read.
            CheckpointMismatchError: If the folder is of another kind of model, tensors are
                missing, left over or of another shape, as those of the head are in a folder
                without one, or the file's two heads differ.
        """
        folder = Path(folder)
        fields = read_config(folder)
        config = config_of(fields, dropout)
        tie = require_field({"tie_word_embeddings": True} | fields, "tie_word_embeddings", BOTH)
        tensors = one_head(canonical(load_weights(folder), LEFT_OUT), tie)
        model = fill_model(
            lambda c: cls(c, tie_embeddings=tie), config, tensors, name_in_folder, folder
        )
        if tie:
            model.head.weight = model.bert.token_embedding.weight
        return model.eval()

    def forward(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token that belongs at each position; arguments as those of Bert.

        Args:
            ids: Token ids (B, T), int64, some of them ``[MASK]``.
            mask: True where a token is real, (B, T). None = all real.
            segments: Kind of text of each token, (B, T), int64. None = all 0.
            taps: Receives those of :class:`Bert`, and ``transformed``.

        Returns:
            Unnormalized log-probabilities.

        Raises:
            InputError, InputTypeError: As :meth:`Bert.forward`.
        """
        return self.read_out(self.bert(ids, mask=mask, segments=segments, taps=taps), taps)

    def read_out(
        self, h: Float[Tensor, "B T D"], taps: Taps | None = None
    ) -> Float[Tensor, "B T V"]:
        """What the head says of vectors of the BERT."""
        h = ACTIVATIONS[self.config.activation](self.transform(h))
        return self.head(tap(taps, "transformed", self.transform_norm(h)))

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.bert.reset_parameters()
        for linear in (self.transform, self.head):
            nn.init.normal_(linear.weight, std=INIT_STD)
            nn.init.zeros_(linear.bias)


def name_in_folder(name: str) -> str:
    """Name that the folder has for one of our parameters."""
    return HEAD.get(name) or their_name(name.removeprefix("bert."))


def one_head(tensors: Mapping[str, Tensor], tie: bool) -> dict[str, Tensor]:
    """The tensors, with each number of the head under one name.

    A file may hold the tied matrix again, and the bias under a second name; untied, that second
    name is the bias that counts.

    Raises:
        CheckpointMismatchError: If what is tied differs.
    """
    tensors = dict(tensors)
    pairs = {"cls.predictions.bias": f"{DECODER}.bias"}
    pairs |= {EMBEDDING: f"{DECODER}.weight"} if tie else {}
    for name, again in pairs.items():
        copy = tensors.pop(again, None)
        if copy is None:
            continue
        if tie and not torch.equal(copy, tensors.get(name, copy)):
            raise CheckpointMismatchError(
                f"config.json ties {again} to {name}, but they differ"
            )
        tensors[name] = copy
    return tensors


class SentencePairs(nn.Module):
    """BERT that fills holes and says whether the second of two sentences follows the first.

    Implements eq-pair-logits::

        h = bert([CLS] A [SEP] B [SEP]),   pair = W₂ tanh(W₁ h₁ + b₁) + b₂

    h₁ is the vector of the first token, which by convention is ``[CLS]``. Logit 1 is for "B
    follows A", logit 0 for "it does not".

    Args:
        config: Sizes and choices of the BERT; two segments or more.

    Example:
        >>> sizes = dict(vocab_size=100, context=16, d_model=32, n_layers=2, n_heads=4)
        >>> tokens, pairs = SentencePairs(BertConfig(**sizes))(torch.tensor([[5, 6, 7]]))
        >>> tokens.shape, pairs.shape
        (torch.Size([1, 3, 100]), torch.Size([1, 2]))

    References:
        Devlin et al. (2019), arXiv:1810.04805, section 3.1.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.masked = MaskedBert(config)
        self.pooler = nn.Linear(config.d_model, config.d_model)
        self.follows = nn.Linear(config.d_model, 2)
        self.reset_parameters()

    def forward(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        taps: Taps | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Logits of the tokens (B, T, V) and of the pairs (B, 2); arguments as those of Bert.

        Args:
            ids: Token ids (B, T), int64, ``[CLS]`` first.
            mask: True where a token is real, (B, T); padding to the right. None = all real.
            segments: 0 for tokens of the first sentence, 1 for the second. None = all 0.
            taps: Receives those of :class:`MaskedBert`, and ``pooled``.

        Returns:
            Unnormalized log-probabilities, both.

        Raises:
            InputError, InputTypeError: As :meth:`Bert.forward`.
        """
        h = self.masked.bert(ids, mask=mask, segments=segments, taps=taps)
        pooled = tap(taps, "pooled", self.pooler(h[:, 0]).tanh())
        return self.masked.read_out(h, taps), self.follows(pooled)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.masked.reset_parameters()
        for linear in (self.pooler, self.follows):
            nn.init.normal_(linear.weight, std=INIT_STD)
            nn.init.zeros_(linear.bias)
