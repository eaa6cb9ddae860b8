"""GGUF files of the Llama architecture, against transformers with the same weights."""

import numpy as np
import pytest
import torch

from mathlm.errors import (
    CheckpointCorruptError,
    CheckpointMismatchError,
    DataError,
)
from mathlm.models import GPT
from mathlm.text import ByteBPE, pretrained

H, G, K, D, F, V = 4, 2, 8, 32, 64, 50
IDS = torch.arange(40).view(2, 20) * 7 % V
NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "model.layers": "blk",
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
}  # fmt: skip
FIELDS = {
    "context_length": 24, "embedding_length": D, "block_count": 2, "feed_forward_length": F,
    "attention.head_count": H, "attention.head_count_kv": G, "rope.freq_base": 500.0,
    "attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": V, "rope.dimension_count": K,
}  # fmt: skip


def make_theirs(tied):
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=V, hidden_size=D, intermediate_size=F, num_hidden_layers=2,
        num_attention_heads=H, num_key_value_heads=G, max_position_embeddings=24,
        rms_norm_eps=1e-6, tie_word_embeddings=tied,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
    )  # fmt: skip
    theirs = transformers.LlamaForCausalLM(config)
    for p in theirs.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return theirs.eval().float()


def adjacent(weight, heads):
    """Feature i of the first half of a head, then feature i of the second, for every i."""
    return weight.reshape(heads, 2, K // 2, D).swapaxes(1, 2).reshape(heads * K, D)


def weights_of(theirs, pairs=adjacent):
    """The tensors as a converter to GGUF writes them."""
    found = {}
    for name, tensor in theirs.state_dict().items():
        for their, short in NAMES.items():
            name = name.replace(their, short)
        heads = {"attn_q": H, "attn_k": G}.get(name.split(".")[-2])
        array = tensor.numpy()
        found[name] = pairs(array, heads) if heads else array
    if theirs.config.tie_word_embeddings:
        found.pop("output.weight", None)
    return found


def write(path, tensors, architecture="llama", quantized=(), **changes):
    import gguf

    writer = gguf.GGUFWriter(str(path), architecture)
    for name, value in (FIELDS | changes).items():
        add = writer.add_float32 if isinstance(value, float) else writer.add_uint32
        if isinstance(value, str):
            add = writer.add_string
        if value is not None:
            add(f"{architecture}.{name}", value)
    for name, array in tensors.items():
        kind = gguf.GGMLQuantizationType.Q8_0 if name in quantized else None
        data = gguf.quants.quantize(array, kind) if kind else np.ascontiguousarray(array)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@torch.no_grad()
def difference(path, theirs):
    return (GPT.from_pretrained(path)(IDS) - theirs(IDS).logits).abs().max().item()


@pytest.fixture(scope="module")
def theirs():
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(0)
    return make_theirs(tied=True)


@pytest.fixture
def path(tmp_path, theirs):
    write(tmp_path / "model.gguf", weights_of(theirs))
    return tmp_path / "model.gguf"


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("tied", [True, False])
def test_it_computes_what_transformers_computes(tmp_path, tied):
    theirs, path = make_theirs(tied), tmp_path / "model.gguf"
    write(path, weights_of(theirs))
    ours = GPT.from_pretrained(path)
    assert (
        ours.config.tie_embeddings == tied == (ours.head.weight is ours.token_embedding.weight)
    )
    assert theirs(IDS).logits.std() > 0.5
    assert difference(path, theirs) < 1e-5


@pytest.mark.parametrize("wrong", [lambda w, h: w, lambda w, h: adjacent(adjacent(w, h), h)])
def test_another_pairing_of_features_gives_another_model(tmp_path, theirs, wrong):
    write(tmp_path / "wrong.gguf", weights_of(theirs, pairs=wrong))
    assert difference(tmp_path / "wrong.gguf", theirs) > 1e-3


@pytest.mark.parametrize(
    "change", [{"rope.freq_base": 1e4}, {"attention.layer_norm_rms_epsilon": 1e-2}], ids=str
)
def test_another_field_gives_another_model(tmp_path, theirs, change):
    write(tmp_path / "other.gguf", weights_of(theirs), **change)
    assert difference(tmp_path / "other.gguf", theirs) > 1e-3


def test_quantized_numbers_are_written_out(tmp_path, theirs):
    """Q8_0 holds 32 integers of 8 bits and a scale: with a 127 among them the scale is 1."""
    tensors = weights_of(theirs)
    whole = (torch.arange(F * D) % 127 + 1).view(F, D).float()  # not all blocks have a 127
    whole[:, ::32] = 127
    tensors["blk.1.ffn_up.weight"] = whole.numpy()
    write(tmp_path / "q.gguf", tensors, quantized={"blk.1.ffn_up.weight"})
    model = GPT.from_pretrained(tmp_path / "q.gguf")
    assert torch.equal(model.blocks[1].feed_forward.W_in.weight, whole)


def test_weights_do_not_change_with_the_file(path):
    model = GPT.from_pretrained(path)
    before = model(IDS)
    path.write_bytes(bytes(path.stat().st_size))
    assert torch.equal(model(IDS), before)
    model.token_embedding.weight.data.zero_()  # the memory is the model's own


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_the_dtype_is_the_one_asked_for(path, dtype):
    model = GPT.from_pretrained(path, dtype=dtype)
    assert {p.dtype for p in model.parameters()} == {dtype}


REFUSED = {
    "scaling": ({"rope.scaling.type": "linear"}, r"llama.rope.scaling.type='linear'"),
    "experts": ({"expert_count": 4}, r"does not have: llama.expert_count=4"),
    "part": ({"rope.dimension_count": 4}, r"llama.rope.dimension_count=4, this model needs 8"),
    "values": ({"attention.value_length": 4}, r"value_length=4, this model needs 8"),
    "words": ({"vocab_size": 51}, r"llama.vocab_size=51, this model needs 50"),
    "heads": ({"attention.head_count": 5}, r"n_heads=5 must divide d_model=32"),
    "lacking": ({"embedding_length": None}, r"lacks llama.embedding_length$"),
    "no epsilon": (
        {"attention.layer_norm_rms_epsilon": None},
        r"lacks llama.attention.layer_norm_rms_epsilon$",
    ),
    "a string": ({"embedding_length": "32"}, r"d_model='32' must be an integer"),
    "one layer": ({"block_count": 1}, r"unexpected 9 \(blk.1.attn_q.weight"),
    "deep": ({"block_count": 2**31}, r"2147483648 layers do not fit the"),
    "narrow": (
        {"embedding_length": 16, "attention.key_length": 8},
        r"shape token_embd.weight \(50,32\) ≠ \(50,16\)",
    ),
    "architecture": ({"architecture": "qwen2"}, r"architecture 'qwen2'; mathlm reads 'llama'"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_of_another_model_is_refused(tmp_path, theirs, changes, message):
    write(tmp_path / "other.gguf", weights_of(theirs), **changes)
    with pytest.raises(CheckpointMismatchError, match=message):
        GPT.from_pretrained(tmp_path / "other.gguf")


def test_tensors_that_do_not_fit_are_refused(tmp_path, theirs):
    def refused(message, **changes):
        write(tmp_path / "bad.gguf", weights_of(theirs) | changes)
        with pytest.raises(CheckpointMismatchError, match=message):
            GPT.from_pretrained(tmp_path / "bad.gguf")

    one = np.ones((3, D), np.float32)
    refused(r"unexpected 1 \(rope_freqs.weight \(4\)\)", **{"rope_freqs.weight": one[0, :4]})
    refused(r"shape blk.0.attn_q.weight \(3,32\) ≠ ", **{"blk.0.attn_q.weight": one})
    refused(r"lacks a matrix token_embd.weight", **{"token_embd.weight": one[0]})


def test_weights_that_are_not_finite_are_refused(tmp_path, theirs):
    tensors = weights_of(theirs)
    tensors["blk.0.ffn_up.weight"] = np.full((F, D), np.nan, np.float32)
    write(tmp_path / "nan.gguf", tensors)
    with pytest.raises(CheckpointCorruptError, match=r"ffn_up.weight holds 2048 NaN or inf"):
        GPT.from_pretrained(tmp_path / "nan.gguf")


@pytest.mark.parametrize("kept", [0, 3, 100, 2000, -1000, -1])
def test_a_truncated_file_is_refused(path, kept):
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match="is not a GGUF file"):
        GPT.from_pretrained(path)


@pytest.fixture(scope="module")
def smollm2():
    torch.set_default_dtype(torch.float32)
    path = pretrained.find("smollm2")
    return GPT.from_pretrained(path), ByteBPE.from_gguf(path)


@pytest.mark.slow
def test_smollm2_knows_the_capital_of_france(smollm2):
    model, bpe = smollm2
    with torch.no_grad():
        logits = model(torch.tensor([list(bpe.encode("The capital of France is"))]))
    assert bpe.decode([int(logits[0, -1].argmax())]) == " Paris"


@pytest.mark.parametrize(
    ("text", "perplexity"),
    [
        ("The quick brown fox jumps over the lazy dog.", 9.5),
        ("dog lazy the over jumps fox brown quick The.", 23_554),
    ],
)
def test_smollm2_finds_a_pangram_likely_and_its_words_reversed_not(smollm2, text, perplexity):
    """Values of a program in NumPy that turns adjacent pairs and has its own reader of GGUF."""
    model, bpe = smollm2
    ids = torch.tensor([[0, *bpe.encode(text)]])
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(model(ids[:, :-1]).mT, ids[:, 1:])
    assert float(loss.exp()) == pytest.approx(perplexity, rel=5e-3)
