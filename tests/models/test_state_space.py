import pytest
import torch

from mathlm.errors import ConfigError, InputError
from mathlm.models import StateSpaceBlock, StateSpaceConfig, StateSpaceModel

SIZES = {"vocab_size": 17, "d_model": 12, "n_heads": 4, "d_head": 6, "d_state": 5, "chunk": 4}
MIXERS = pytest.mark.parametrize(
    "mixers", [("mamba2",), ("delta", "delta"), ("mamba2", "attention", "delta")]
)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 2])
def test_it_computes_what_mamba2_of_transformers_computes(groups):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.Mamba2ForCausalLM(
        transformers.Mamba2Config(
            vocab_size=17, hidden_size=12, num_heads=4, head_dim=6, state_size=5, expand=2,
            n_groups=groups, num_hidden_layers=2, chunk_size=4, conv_kernel=4,
        )
    )  # fmt: skip
    for p in theirs.parameters():
        p.data += 0.1 * torch.randn_like(p)
    ours = StateSpaceModel(n_groups=groups, **SIZES)
    ours.load_transformers(theirs.state_dict())
    ids = torch.randint(17, (2, 11))
    with torch.no_grad():
        expected = theirs.float().eval()(ids).logits
        torch.testing.assert_close(ours.float()(ids), expected, rtol=1e-4, atol=1e-5)


@MIXERS
def test_reading_token_by_token_gives_the_same_logits(mixers):
    model, ids = StateSpaceModel(mixers=mixers, **SIZES), torch.randint(17, (2, 9))
    with torch.no_grad():
        cache = model.new_cache(2, 9)
        parts = [model(ids[:, :5], cache=cache)]
        parts += [model(ids[:, t : t + 1], cache=cache) for t in range(5, 9)]
        torch.testing.assert_close(torch.cat(parts, 1), model(ids), rtol=1e-9, atol=1e-10)


@MIXERS
def test_no_token_changes_an_earlier_logit(mixers):
    model, ids = StateSpaceModel(mixers=mixers, **SIZES), torch.randint(17, (1, 9))
    other = ids.clone()
    other[:, 6:] = (other[:, 6:] + 1) % 17
    torch.testing.assert_close(model(other)[:, :6], model(ids)[:, :6])
    assert (model(other)[:, 6:] - model(ids)[:, 6:]).abs().max() > 1e-6


def test_a_block_adds_to_the_residual_stream():
    block, x = StateSpaceBlock(StateSpaceConfig(**SIZES), "mamba2"), torch.randn(1, 3, 12)
    torch.testing.assert_close(block(x), x + block.mixer(block.norm(x)))


def test_a_tied_head_is_the_embedding():
    model = StateSpaceModel(tie_embeddings=True, **SIZES)
    assert model.head.weight is model.token_embedding.weight


def test_what_does_not_fit_is_refused(unchecked):
    with pytest.raises(ConfigError, match="rnn"):
        StateSpaceConfig(mixers=("rnn",))
    with pytest.raises(ConfigError, match="one layer or more"):
        StateSpaceConfig(mixers=())
    with pytest.raises(ConfigError, match="config or its fields, not both"):
        StateSpaceModel(StateSpaceConfig(), d_model=3)
    with pytest.raises(InputError, match="17"):
        StateSpaceModel(**SIZES)(torch.tensor([[17]]))
