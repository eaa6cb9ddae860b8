"""BERT with its head: from a text with holes to the words that may stand in them."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from ..errors import CheckpointMismatchError
from ..layers import LayerNorm, Taps, tap
from ..layers.feedforward import ACTIVATIONS
from ..shapes import Float
from .bert import INIT_STD, Bert
from .bert_config import BertConfig
from .files.bert import canonical, config_of, fill_model, their_name
from .files.hugging_face import read_config, require_field
from .files.weights import load_weights

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
