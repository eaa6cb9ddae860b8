"""The decode step as a CUDA graph: shapes that never change, so that a GPU can record it."""

from copy import copy

import torch
from torch import Tensor

from ..errors import InputError
from ..layers import KeyValueCache, LayerCache
from ..shapes import Float, Int
from .fused_step import DecodeStep

WARM_UP = 3  # runs before a graph is recorded, in which libraries set themselves up


class FixedLayerCache(LayerCache):
    """KV cache of a layer for a CUDA graph: it writes where a tensor says, and returns all."""

    def __init__(self, layer: LayerCache, position: Int[Tensor, "1"]) -> None:
        super().__init__(layer.k, layer.v)
        self.position = position

    def append(
        self, k: Float[Tensor, "B G one K"], v: Float[Tensor, "B G one K"]
    ) -> tuple[Float[Tensor, "B G C K"], Float[Tensor, "B G C K"]]:
        """Write one key and value; what is not filled yet must be masked."""
        return self.k.index_copy_(2, self.position, k), self.v.index_copy_(2, self.position, v)


class FixedStep:
    """A decode step as a CUDA graph: one token a row, the same operations on the same memory.

    All of the cache is read, and positions that are not filled are masked: how far the text has
    come is a number in memory, not a shape. On CUDA the step is recorded once as a graph and
    then started by one call, where its many small kernels would each wait for Python.

    Args:
        step: What is done.
        cache: Of the model, without padding and not sliding; it may hold a prompt.

    Raises:
        InputError: If the cache is of another kind, or the model adds distances to the scores.

    Example:
        >>> from mathlm.generate import DecodeStep
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)).eval(), torch.tensor([[84, 111]])
        >>> step, cache = DecodeStep(model), model.new_cache(batch=1)
        >>> _ = step(ids[:, :1], cache)  # the prompt
        >>> logits = FixedStep(step, cache)(ids[:, 1:])
        >>> torch.allclose(logits, model(ids)[:, -1], atol=1e-5)
        True
    """

    def __init__(self, step: DecodeStep, cache: KeyValueCache) -> None:
        if not step.places.fixes(cache):
            raise InputError(
                "fixed shapes need a cache without padding that keeps all positions, and a "
                "model that adds no distances to the scores"
            )
        self.step, self.cache, device = step, cache, cache.device
        self.ids = torch.zeros(cache.batch, 1, dtype=torch.int64, device=device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.fixed = copy(cache)
        self.fixed.layers = [FixedLayerCache(layer, self.position) for layer in cache.layers]
        self.graph: torch.cuda.CUDAGraph | None = None
        self.logits: Tensor | None = None

    @torch.no_grad()
    def __call__(self, ids: Int[Tensor, "B 1"]) -> Float[Tensor, "B V"]:
        """Read one token of each row: the logits behind it.

        Raises:
            InputError: If there is no room, or the cache has other rows than at first.
        """
        self.cache.require_room(len(ids), 1)
        if self.fixed.layers[0].k is not self.cache.layers[0].k:
            raise InputError("the cache has been given other rows: make a new fixed step")
        self.ids.copy_(ids)
        self.position.fill_(self.cache.length)
        logits = self.replay() if self.ids.is_cuda else self.run()
        for layer in self.cache.layers:
            layer.length, layer.held = layer.length + 1, layer.held + 1
        return logits

    def run(self) -> Tensor:
        """The operations, one by one."""
        place = self.step.places.fixed(self.position, self.cache.capacity)
        return self.step.run(self.ids, self.fixed, place)

    def replay(self) -> Tensor:
        """The operations as one graph, recorded at the first call."""
        if self.graph is None or self.logits is None:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(WARM_UP):
                    self.run()
            torch.cuda.current_stream().wait_stream(stream)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.logits = self.run()
        self.graph.replay()
        return self.logits.clone()  # the next replay writes to the same memory
