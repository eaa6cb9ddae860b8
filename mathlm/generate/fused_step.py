"""A decode step: a GPT's forward pass for few new tokens, with few operations."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.linalg import vector_norm as norm_of

from ..errors import InputError
from ..functional.few_rows import sliced_product, slices_pay
from ..layers import (
    Block,
    FeedForward,
    KeyValueCache,
    LayerCache,
    LayerNorm,
    LoRALinear,
    QuantizedLinear,
    RMSNorm,
    SelfAttention,
    fused_rows,
)
from ..layers.feedforward import ACTIVATIONS, GATES
from ..models import GPT
from ..shapes import Float, Int
from .step_positions import Place, Places, turn

Map = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class LayerStep:
    """The maps of one block, those that read the same vectors side by side."""

    attention_norm: Map
    W_qkv: Map
    add_W_o: Callable[[Tensor, Tensor], Tensor]  # x + W_o y
    feed_forward_norm: Map
    W_in: Map  # with a gate: W_gate and W_in side by side
    activation: Map
    add_W_out: Callable[[Tensor, Tensor], Tensor]
    norm_qk: Map | None  # of queries and keys, (B, H + G, n, K)


class DecodeStep:
    """The fused decode step: a GPT's forward pass for few tokens behind many.

    Computes::

        [q k v] = norm(x) [W_q W_k W_v]ᵀ,   x ← x + (softmax(q Kᵀ/√d_k) V) W_oᵀ
        [g u] = norm(x) [W_gate W_in]ᵀ,     x ← x + (f(g) ⊙ u) W_outᵀ
        logits = norm(x) W_headᵀ

    with the values of :meth:`mathlm.models.GPT.forward`, up to rounding. One token takes little
    arithmetic: time goes into reading the weights and into calls. So matrices that read the
    same vector are one, large ones are read by all threads at once
    (:mod:`mathlm.functional.few_rows`), and others are laid out by columns: a product of one
    vector then adds up rows of Wᵀ, which memory delivers faster than dot products ask for them.
    Masks and positions are made once for all layers, and not at all where no token is padding.

    The step has copies of most matrices as they were; :func:`prepared_step` notices if the
    model has changed since. Quantized maps keep their own codes. A low-rank update in float32
    or float64 is part of the copy; in half precision, where that would round it, it stays
    beside.

    Args:
        model: Of plain blocks, see :func:`decodable`.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)).eval(), torch.tensor([[84, 111, 32]])
        >>> step, cache = DecodeStep(model), model.new_cache(batch=1)
        >>> torch.allclose(step(ids, cache), model(ids)[:, -1], atol=1e-5)
        True
    """

    def __init__(self, model: GPT) -> None:
        config = model.config
        self.heads, self.groups = config.n_heads, config.kv_heads
        self.embedding = lookup(model.token_embedding)
        self.places = Places(model)
        self.layers = [layer_step(block) for block in model.blocks]
        self.final_norm, gain = normalization(model.final_norm)
        self.head = side_by_side(model.head, gain=gain)

    def __call__(
        self, ids: Int[Tensor, "B n"], cache: KeyValueCache, last: bool = True
    ) -> Float[Tensor, "..."]:
        """Read more tokens, all real: logits (B, V) behind the last, or all (B, n, V).

        Raises:
            InputError: If the cache has positions of its own.
        """
        if cache.positions is not None:
            raise InputError(
                "the cache has positions of its own, which the step does not read: use the "
                "model's forward pass"
            )
        with torch.inference_mode():  # spares the bookkeeping of views
            place = self.places.behind(cache, ids.shape[1])
            logits = self.run(ids, cache, place, last)
        logits = logits.clone(memory_format=torch.contiguous_format)  # a tensor as any other
        if cache.mask is not None:
            cache.mask = F.pad(cache.mask, (0, ids.shape[1]), value=True)
        return logits

    def run(
        self, ids: Int[Tensor, "B n"], cache: KeyValueCache, place: Place, last: bool = True
    ) -> Float[Tensor, "..."]:
        """The same at a place that was found before."""
        B, n = ids.shape
        x = self.embedding(ids)
        x = (x if place.added is None else x + place.added).view(B * n, -1)
        for layer, memory in zip(self.layers, cache.layers, strict=True):
            x = layer.add_W_o(x, self.attend(layer, x, memory, place, B, n))
            hidden = layer.activation(layer.W_in(layer.feed_forward_norm(x)))
            x = layer.add_W_out(x, hidden)
        if last and n > 1:
            x = x[n - 1 :: n]
        logits = self.head(self.final_norm(x))
        return logits if last else logits.view(B, n, -1)

    def attend(
        self,
        layer: LayerStep,
        x: Float[Tensor, "Bn D"],
        memory: LayerCache,
        place: Place,
        B: int,
        n: int,
    ) -> Float[Tensor, "Bn HK"]:
        """What the heads read; query heads that share a key are queries of one head."""
        H, G = self.heads, self.groups
        qkv = layer.W_qkv(layer.attention_norm(x)).view(B, n, H + 2 * G, -1).transpose(1, 2)
        qk, v = torch.split_with_sizes(qkv, (H + G, G), 1)
        if layer.norm_qk is not None:
            qk = layer.norm_qk(qk)
        if place.rotation is not None:
            qk = turn(qk, *place.rotation)
        q, k = torch.split_with_sizes(qk, (H, G), 1)  # (B, H, n, K), (B, G, n, K)
        k, v = memory.append(k, v)
        if place.seen is not None:
            k, v = k[:, :, -place.seen :], v[:, :, -place.seen :]
        q = q.reshape(B, G, H // G * n, -1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=place.mask)
        return y.reshape(B, H, n, -1).transpose(1, 2).reshape(B * n, -1)


def decodable(model: Any) -> bool:
    """Whether a model is a GPT of the plain parts that :class:`DecodeStep` knows."""
    kinds = {GPT: (model,), Block: getattr(model, "blocks", ())}
    variant = model.config.variant if isinstance(model, GPT) else None
    if getattr(model, "virtual", None) is not None or variant is not None:
        return False
    if not all(type(m) is kind for kind, modules in kinds.items() for m in modules):
        return False
    parts = {SelfAttention: "attention", FeedForward: "feed_forward"}
    norms = [model.final_norm]
    norms += [n for b in model.blocks for n in (b.attention_norm, b.feed_forward_norm)]
    plain = all(type(getattr(b, name)) is t for b in model.blocks for t, name in parts.items())
    plain &= all(type(norm) in (LayerNorm, RMSNorm) for norm in norms)
    return plain and not any(map(altered, model.modules()))


def altered(module: nn.Module) -> bool:
    """Whether a module does more, or something else, than its class says."""
    hooks = module._forward_hooks or module._forward_pre_hooks
    return bool(hooks) or "forward" in vars(module)


def layer_step(block: Any) -> LayerStep:
    """The maps of a block, laid out for decoding."""
    attention, network = block.attention, block.feed_forward
    attention_norm, attention_gain = normalization(block.attention_norm)
    feed_forward_norm, network_gain = normalization(block.feed_forward_norm)
    inward = [network.W_in] if network.W_gate is None else [network.W_gate, network.W_in]
    qkv = attention.W_q, attention.W_k, attention.W_v
    return LayerStep(
        attention_norm,
        side_by_side(*qkv, gain=attention_gain),
        added(attention.W_o),
        feed_forward_norm,
        side_by_side(*inward, gain=network_gain),
        activation(network.activation),
        added(network.W_out),
        head_norms(attention),
    )


def head_norms(attention: SelfAttention) -> Map | None:
    """The normalization of queries and keys together; None = there is none."""
    q_norm, k_norm = attention.q_norm, attention.k_norm
    if q_norm is None or k_norm is None:
        return None
    G = attention.W_k.out_features // attention.d_head
    gains = [
        n.gamma.detach().expand(h, 1, -1)
        for n, h in ((q_norm, G * attention.group), (k_norm, G))
    ]
    gain, width, eps = torch.cat(gains), q_norm.gamma.shape, q_norm.eps
    return lambda x: torch.rms_norm(x, width, None, eps) * gain


def activation(name: str) -> Map:
    """The activation of the maps side by side."""
    if name in ACTIVATIONS:
        return ACTIVATIONS[name]
    gate = GATES[name]
    return lambda x: gate(*x.chunk(2, -1))


def side_by_side(*maps: Any, gain: Tensor | None = None) -> Map:
    """One map with the outputs of all, of inputs that are multiplied by a gain first.

    Plain matrices are joined and multiplied by the gain; a large one alone is no copy.
    """
    whole = [matrix(m) for m in maps]
    if any(pair is None for pair in whole):
        f = others_side_by_side(maps)
        return f if gain is None else lambda x: f(x * gain)
    b = None if whole[0][1] is None else torch.cat([pair[1] for pair in whole])
    if len(whole) == 1 and slices_pay(whole[0][0]):
        f = product(whole[0][0], b)
        return f if gain is None else lambda x: f(x * gain)
    W = torch.cat([pair[0] for pair in whole])  # (out, in)
    return product(W if gain is None else W * gain, b)


def product(W: Tensor, b: Tensor | None) -> Map:
    """The map x Wᵀ + b for few rows x."""
    if slices_pay(W):
        f = sliced_product(W)
        return f if b is None else lambda x: f(x) + b
    columns = W.T.contiguous()
    if b is None:
        return lambda x: torch.mm(x, columns)
    return lambda x: torch.addmm(b, x, columns)


def matrix(module: Any) -> Any:
    """Weights and bias of a map, its update included; None if it brings its own product."""
    base = module.base if type(module) is LoRALinear else module
    if type(base) is not nn.Linear:
        return None
    bias = None if base.bias is None else base.bias.detach()
    if base is module or module.active is None:
        return base.weight.detach(), bias
    if module.merged is not None:
        return module.merged, bias
    return (module.weights(), bias) if base.weight.itemsize >= 4 else None


def added(module: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """A map whose outputs are added to a stream; without a bias, in the product itself."""
    whole = matrix(module)
    if whole is not None and whole[1] is None and not slices_pay(whole[0]):
        columns = whole[0].T.contiguous()
        return lambda x, y: torch.addmm(x, y, columns)
    f = side_by_side(module)
    return lambda x, y: x + f(y)


def others_side_by_side(maps: Any) -> Map:
    """The same of maps that bring their own product, such as quantized ones."""
    if all(isinstance(m, QuantizedLinear) for m in maps):
        return fused_rows(maps)
    return maps[0].forward if len(maps) == 1 else lambda x: torch.cat([m(x) for m in maps], -1)


def normalization(norm: Any) -> tuple[Map, Tensor | None]:
    """A normalization, and the gain that it leaves to the matrix behind it.

    The root mean square is a length: x / √(mean(x²) + ε) = √D x / √(‖x‖² + ε D).
    """
    width, gamma, eps = norm.gamma.shape, norm.gamma.detach(), norm.eps
    if isinstance(norm, LayerNorm):
        beta = None if norm.beta is None else norm.beta.detach()
        return lambda x: torch.layer_norm(x, width, gamma, beta, eps), None
    if gamma.itemsize < 4:  # half precision: the kernel computes in float32
        return lambda x: torch.rms_norm(x, width, gamma, eps), None
    D = len(gamma)
    least = torch.tensor(math.sqrt(eps * D), dtype=gamma.dtype, device=gamma.device)
    return lambda x: x / torch.hypot(norm_of(x, 2, -1, True), least), gamma * math.sqrt(D)


def lookup(embedding: Any) -> Map:
    """An embedding, without the way through the module where it is plain."""
    if type(embedding) is not nn.Embedding:
        return embedding.forward
    weight = embedding.weight.detach()
    return lambda ids: torch.embedding(weight, ids)


PERIOD = 8191  # a prime, so that no width of a matrix divides it
STEPS: WeakKeyDictionary[nn.Module, tuple[Any, DecodeStep]] = WeakKeyDictionary()


def prepared_step(model: nn.Module) -> DecodeStep | None:
    """The :class:`DecodeStep` of a model, laid out anew if the model has changed.

    A second copy of the matrices is kept as long as the model is. Before it is used again every
    weight is read once and summed up, bit for bit: that takes about as long as one token.

    Args:
        model: In evaluation mode.

    Returns:
        The step; None if the model has parts that it does not know.
    """
    if not (isinstance(model, GPT) and decodable(model)):
        return None
    found, state = STEPS.get(model), fingerprint(model)
    if found is None or found[0] != state:
        step = DecodeStep(model)
        found = STEPS[model] = fingerprint(model), step  # quantized codes may have moved
    return found[1]


@torch.no_grad()
def fingerprint(model: nn.Module) -> tuple[Any, ...]:
    """Where each tensor is, how often it was written to, what its bits sum to; and settings."""
    tensors = [*model.parameters(), *model.buffers()]
    held = tuple((id(t), t.data_ptr(), _version(t), _bits(t)) for t in tensors)
    return held, tuple(map(_settings, model.modules()))


def _settings(module: nn.Module) -> tuple[Any, ...]:
    """Numbers and names that a module was told, such as ε or an activation."""
    plain = (int, float, str)
    said = tuple(x for n, x in vars(module).items() if n != "training" and type(x) in plain)
    return (*said, *module.settings.items()) if isinstance(module, LoRALinear) else said


def _version(x: Tensor) -> int:
    return 0 if x.is_inference() else x._version


def _bits(x: Tensor) -> int:
    """The bits as integers, every 8,191st in one sum: rows or columns that move change some."""
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int32}[x.itemsize]
    x = x.detach().contiguous()
    if x.itemsize < 8 and x.ndim and x.shape[-1] * x.itemsize % 8 == 0:
        words = torch.int64  # by far the fastest; of float64 it would lose even counts of signs
    held = x.reshape(-1).view(words)
    n = len(held) // PERIOD * PERIOD
    sums = held[:n].view(-1, PERIOD).sum(0)
    return hash(torch.cat((sums, held[n:].long())).cpu().numpy().tobytes())
