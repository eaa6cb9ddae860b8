"""Generation against transformers: equal weights, equal prompts, equal greedy tokens."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import torch
from torch import Tensor, nn

from mathlm.functional import fused_attention
from mathlm.generate import (
    IncrementalReader,
    PromptLookup,
    generate,
    quantize,
    speculative_generate,
    stored_bytes,
)
from mathlm.models import GPT
from mathlm.text import ByteBPE, corpus, pretrained

from .smollm2 import folder, their_model
from .timing import Row, compare

SMALL = Path(__file__).parents[1] / "book" / "results" / "shakespeare-gpt"
PROMPT = 16  # tokens
NEAR, FAR = 64, 1024  # tokens of context
QUOTED = 48  # tokens written by speculation


@cache
def small(device: str) -> tuple[GPT, nn.Module]:
    """Our GPT of 4 layers and width 128, and the same weights in transformers."""
    return GPT.from_pretrained(SMALL).to(device), their_model(str(SMALL)).to(device)


@cache
def smollm2(device: str) -> tuple[GPT, nn.Module]:
    """SmolLM2-135M in float32, ours and that of transformers."""
    path = folder().name
    return GPT.from_pretrained(path).to(device), their_model(path).to(device)


@cache
def quantized(bits: int) -> GPT:
    """SmolLM2-135M with weights of few bits."""
    return quantize(smollm2("cpu")[0], bits)


def their_generate(model: nn.Module, ids: Tensor, n: int) -> Tensor:
    """What a user of transformers writes."""
    return model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, pad_token_id=0,
        eos_token_id=None, max_new_tokens=n, min_new_tokens=n,
    )  # fmt: skip


def prompts(model: GPT, batch: int, device: str) -> Tensor:
    """Rows of ids that differ."""
    places = torch.arange(batch * PROMPT, device=device).view(batch, PROMPT)
    return places * 97 % model.config.vocab_size


def generate_row(
    name: str,
    make: Callable[[str], tuple[GPT, nn.Module]],
    batch: int,
    n: int,
    rounds: int,
    device: str,
) -> Row:
    """Greedy tokens a second, with a cache."""
    ours, theirs = make(device)
    ids = prompts(ours, batch, device)

    def write() -> Tensor:
        return generate(ours, ids, n, 0.0, fixed=device != "cpu")  # on CUDA as a graph

    if not torch.equal(write(), their_generate(theirs, ids, n)):
        raise RuntimeError(f"{name}: the two sides write different tokens")
    return compare(
        name, "transformers, same weights",
        write, lambda: their_generate(theirs, ids, n),
        work=batch * n, unit="tokens/s", rounds=rounds, repeats=1,
    )  # fmt: skip


def eight_bits(device: str) -> Row:
    """SmolLM2 with weights of 8 bits, against transformers in float32; on the CPU."""
    ours, theirs = quantized(8), smollm2("cpu")[1]
    ids = prompts(ours, 1, "cpu")
    return compare(
        "generate-smollm2-8bit", "transformers, float32",
        lambda: generate(ours, ids, 32, 0.0), lambda: their_generate(theirs, ids, 32),
        work=32, unit="tokens/s", rounds=7, repeats=1,
    )  # fmt: skip


def bandwidth(name: str, make: Callable[[], GPT], device: str, n: int = 8) -> Row:
    """Tokens a second against sums over as many bytes: the share of the memory's bandwidth."""
    model = make().to(device)
    bytes_read = stored_bytes(model)  # a tied head is the embedding: it is read once
    memory = torch.ones(bytes_read // 4, device=device)
    reader = IncrementalReader(model, 1, PROMPT + n, fixed=device != "cpu")
    ids = prompts(model, 1, device)
    reader.read(ids)

    def write() -> None:
        reader.rewind(PROMPT)
        for _ in range(n):
            reader.read(ids[:, :1])

    return compare(
        name, "limit: a sum of as many bytes",
        write, lambda: [memory.sum() for _ in range(n)],
        work=n, unit="tokens/s", rounds=7, repeats=1,
    )  # fmt: skip


@torch.no_grad()
def context(device: str) -> Row:
    """A token behind 1,024 others, against one behind 64 and attention to the 960 between.

    A ratio near 1 says that nothing else grows with the context.
    """
    model = smollm2(device)[0]
    far, near = (IncrementalReader(model, 1, length + 1) for length in (FAR, NEAR))
    ids = torch.arange(FAR, device=device)[None] * 97 % model.config.vocab_size
    far.read(ids), near.read(ids[:, :NEAR])
    config = model.config
    shape = (1, config.kv_heads, config.n_heads // config.kv_heads, config.head_width)
    q = torch.randn(shape, device=device)

    def step(reader: IncrementalReader, length: int) -> None:
        reader.rewind(length)
        reader.read(ids[:, :1])

    def attend() -> None:
        step(near, NEAR)
        for layer in far.cache.layers:
            fused_attention(q, layer.k[:, :, NEAR:FAR], layer.v[:, :, NEAR:FAR])

    return compare(
        "generate-context", "64 tokens + attention to 960",
        lambda: step(far, FAR), attend, work=1, unit="tokens/s", rounds=15,
    )  # fmt: skip


@torch.no_grad()
def prefill(device: str) -> Row:
    """A prompt of 1,024 tokens read into the cache; the logits after it."""
    ours, theirs = smollm2(device)
    ids = torch.arange(FAR, device=device)[None] * 97 % ours.config.vocab_size

    def read() -> Tensor:
        return IncrementalReader(ours, 1, FAR + 1).read(ids)

    def peer() -> Tensor:
        return theirs(ids, use_cache=True, logits_to_keep=1).logits[:, -1]

    torch.testing.assert_close(read(), peer(), rtol=1e-3, atol=1e-3)
    return compare(
        "prefill-1024", "transformers, same weights", read, peer,
        work=FAR, unit="tokens/s", rounds=7, repeats=1,
    )  # fmt: skip


def first_token(device: str) -> Row:
    """From the call with a prompt of 64 tokens until its first token is there."""
    ours, theirs = smollm2(device)
    ids = torch.arange(NEAR, device=device)[None] * 97 % ours.config.vocab_size

    def write() -> Tensor:
        return generate(ours, ids, 1, 0.0)

    if not torch.equal(write(), their_generate(theirs, ids, 1)):
        raise RuntimeError("first-token: the two sides write different tokens")
    return compare(
        "first-token", "transformers, same weights",
        write, lambda: their_generate(theirs, ids, 1),
        work=1, unit="calls/s", rounds=7, repeats=1,
    )  # fmt: skip


def speculation(name: str, repeated: int, device: str) -> Row:
    """Prompt lookup against plain decoding of the same greedy text, behind lines of a play.

    Args:
        name: Of the row.
        repeated: Tokens of the lines that stand once more behind them, a quotation begun.
        device: Of the model.
    """
    model, bpe = smollm2(device)[0], ByteBPE.from_gguf(pretrained.find("smollm2"))
    lines = bpe.encode(corpus.split("shakespeare")[1][:600])[:NEAR]
    ids = torch.tensor([lines + lines[1 : 1 + repeated]], device=device)

    def drafted() -> Tensor:
        return speculative_generate(model, PromptLookup(), ids, QUOTED, 4, 0.0)

    def plain() -> Tensor:
        return generate(model, ids, QUOTED, 0.0)

    if not torch.equal(drafted(), plain()):
        raise RuntimeError(f"{name}: the two ways write different tokens")
    return compare(
        name, "our plain decoding", drafted, plain,
        work=QUOTED, unit="tokens/s", rounds=7, repeats=1,
    )  # fmt: skip


def four_bits(device: str) -> Row:
    """Memory of the weights of SmolLM2, embedding included."""
    ours, theirs = (stored_bytes(m) / 1e6 for m in (quantized(4), smollm2("cpu")[0]))
    ratio = round(theirs / ours, 3)
    return Row(
        "memory-4bit", "float32, same model", round(ours, 1), round(theirs, 1), "MB", ratio
    )


BENCHMARKS: dict[str, Callable[[str], Row]] = {
    "generate-small": partial(generate_row, "generate-small", small, 1, 64, 9),
    "generate-small-batch": partial(generate_row, "generate-small-batch", small, 8, 64, 9),
    "generate-smollm2": partial(generate_row, "generate-smollm2", smollm2, 1, 32, 7),
    "bandwidth-smollm2": partial(bandwidth, "bandwidth-smollm2", lambda: smollm2("cpu")[0]),
    "generate-smollm2-8bit": eight_bits,
    "bandwidth-smollm2-8bit": partial(
        bandwidth, "bandwidth-smollm2-8bit", lambda: quantized(8)
    ),
    "memory-4bit": four_bits,
    "generate-context": context,
    "speculation-open": partial(speculation, "speculation-open", 0),
    "speculation-quoted": partial(speculation, "speculation-quoted", 8),
    "prefill-1024": prefill,
    "first-token": first_token,
}
