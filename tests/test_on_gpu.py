"""What only a GPU can show: the same results as on the CPU, graphs, half precision, memory."""

import copy

import pytest
import torch

from mathlm.errors import OutOfMemoryError
from mathlm.functional import causal_mask, dot_product_attention, fused_attention
from mathlm.generate import generate
from mathlm.interpret import SparseAutoencoder, SparseReconstruction, train_dictionary
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW
from mathlm.train import LiveBytes, TokenWindows, Trainer, TrainerConfig, next_token

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
SHAPE = GPTConfig(
    vocab_size=40, context=32, d_model=48, n_layers=2, n_heads=4, norm="rms",
    activation="swiglu", position="rope", bias=False,
)  # fmt: skip
IDS = [(i * i + i // 7) % 40 for i in range(3000)]


def model(dtype=torch.float64, **changes):
    """The same weights at each call."""
    torch.manual_seed(1)
    with torch.device("cpu"):
        made = GPT(GPTConfig(**(vars(SHAPE) | changes)))
    return made.to(dtype)


def ids(rows, length):
    """Some tokens, on the CPU."""
    with torch.device("cpu"):
        return torch.arange(rows * length).reshape(rows, length) * 7 % 40


def trainer(steps=6, folder=None, shape=None, **config):
    """A run on the GPU."""
    made = model(torch.float32, **(shape or {}))
    data = TokenWindows(IDS, context=16, batch_size=8, vocab_size=40, seed=5)
    options = {"steps": steps, "device": "cuda", "folder": folder} | config
    return Trainer(made, next_token, data, AdamW(made.parameters()), TrainerConfig(**options))


def losses(run):
    """The loss of each step."""
    return [record["loss"] for record in run.fit()]


def test_logits_and_gradients_are_those_of_the_cpu():
    here, there = model(), model().to("cuda")
    batch = {"ids": ids(3, 20), "targets": ids(3, 20).flip(1)}
    for net, device in ((here, "cpu"), (there, "cuda")):
        loss, count = next_token(net, {k: x.to(device) for k, x in batch.items()})
        (loss / count).backward()
    torch.testing.assert_close(there(batch["ids"].cuda()).cpu(), here(batch["ids"]))
    for p, q in zip(here.parameters(), there.parameters(), strict=True):
        torch.testing.assert_close(q.grad.cpu(), p.grad, rtol=1e-9, atol=1e-12)


def test_the_compiled_kernel_of_adamw_is_the_update_line_by_line():
    plain, fused = model().to("cuda"), model().to("cuda")
    optimizers = [AdamW(plain.parameters(), fused=False), AdamW(fused.parameters())]
    for step in range(3):
        for net, optimizer in zip((plain, fused), optimizers, strict=True):
            for p in net.parameters():
                p.grad = torch.cos(p.detach() * 9 + step)
            optimizer.step()
    for p, q in zip(plain.parameters(), fused.parameters(), strict=True):
        torch.testing.assert_close(q, p, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_fused_attention_is_attention(dtype):
    q, k, v = torch.randn(3, 2, 4, 64, 16, device="cuda", dtype=torch.float64)
    mask = causal_mask(64, 64, device=q.device)
    expected = dot_product_attention(q, k, v, mask)
    found = fused_attention(q.to(dtype), k.to(dtype), v.to(dtype), mask)
    tolerance = 1e-4 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_recorded_step_writes_what_the_plain_one_writes(rows):
    net, prompt = model().to("cuda"), ids(rows, 5).cuda()
    plain = generate(net, prompt, 20, 0.0)
    assert torch.equal(generate(net, prompt, 20, 0.0, fixed=True), plain)
    assert torch.equal(plain.cpu(), generate(model(), prompt.cpu(), 20, 0.0))


def test_the_same_seed_draws_the_same_text():
    net, prompt = model().to("cuda"), ids(2, 5).cuda()
    first, again = (generate(net, prompt, 20, seed=4) for _ in range(2))
    assert torch.equal(first, again)
    alone = generate(net, prompt[:1], 20, seed=4)
    assert torch.equal(first[:1], alone)


def test_a_resumed_run_is_the_run_that_never_stopped(tmp_path):
    """Bit for bit, dropout included: the state of the GPU's random numbers is saved."""
    whole = trainer(steps=8, shape={"dropout": 0.2})
    expected = losses(whole)
    losses(trainer(steps=4, folder=tmp_path, shape={"dropout": 0.2}))
    torch.manual_seed(99)
    resumed = trainer(steps=8, folder=tmp_path, shape={"dropout": 0.2})
    resumed.resume(allow_change=True)
    assert losses(resumed)[-4:] == expected[-4:]


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_in_sixteen_bits_the_losses_stay_near(precision):
    full, half = losses(trainer()), losses(trainer(precision=precision))
    assert half == pytest.approx(full, rel=2e-2)


@pytest.mark.filterwarnings("ignore")  # of torch's compiler, about itself
def test_a_compiled_run_has_the_same_losses():
    assert losses(trainer(compile=True)) == pytest.approx(losses(trainer()), rel=1e-4)


def test_counted_bytes_are_those_that_the_gpu_gave_out():
    """The GPU gives out blocks of 512 bytes, and has room for the products' own use."""
    net = model(torch.float32, d_model=256, context=256).to("cuda")
    batch = {"ids": ids(8, 256).cuda(), "targets": ids(8, 256).cuda()}
    next_token(net, batch)[0].backward()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    with LiveBytes() as memory:
        next_token(net, batch)[0].backward()
    given = torch.cuda.max_memory_allocated() - before
    assert given == pytest.approx(memory.peak, rel=0.1)


def test_a_batch_that_does_not_fit_ends_in_advice():
    free, _ = torch.cuda.mem_get_info()

    def hungry(net, batch):
        torch.empty(2 * free, dtype=torch.uint8, device="cuda")
        return next_token(net, batch)

    run = trainer()
    before = copy.deepcopy(run.model.state_dict())
    run.objective = hungry
    with pytest.raises(OutOfMemoryError, match="try micro_batches=2"):
        run.fit()
    for name, value in run.model.state_dict().items():
        assert torch.equal(value, before[name])


def test_idle_features_of_a_model_on_the_device_are_drawn_from_vectors_on_the_cpu():
    with torch.device("cpu"):
        x, model = torch.randn(64, 8), SparseAutoencoder(8, 16, active=2, patience=1)
    options = {"steps": 6, "batch_size": 32, "resample": [3]}
    rows = train_dictionary(model.cuda(), x, SparseReconstruction(), **options)
    assert len(rows) == 6
    assert model.offset.is_cuda
