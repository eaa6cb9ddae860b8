import pytest
import torch
from torch import nn

from mathlm import adapt
from mathlm.adapt.targets import drawn_by, require_flag
from mathlm.errors import InputError, InputTypeError
from mathlm.models import GPT, GPTConfig

SIZES = {"vocab_size": 11, "context": 16, "d_model": 16, "n_layers": 1, "n_heads": 2}


def gpt():
    torch.manual_seed(0)
    return GPT(GPTConfig(**SIZES)).eval()


def test_a_seed_draws_the_same_numbers_and_none_draws_from_torch():
    one, two = (torch.randn(3, generator=drawn_by(-1)) for _ in range(2))
    assert torch.equal(one, two)
    assert drawn_by(None) is None


@pytest.mark.parametrize(
    ("seed", "kind"), [(1.5, InputTypeError), (True, InputTypeError), (2**64, InputError)]
)
def test_what_is_no_seed_is_refused(seed, kind):
    with pytest.raises(kind, match=f"seed={seed}"):
        drawn_by(seed)


@pytest.mark.parametrize("value", ["no", None, 1])
def test_only_true_and_false_say_yes_and_no(value):
    require_flag("keep", True)
    with pytest.raises(InputTypeError, match=r"keep=.* must be True or False"):
        require_flag("keep", value)


def test_merging_is_kept_or_not_and_nothing_else(unchecked):
    model = adapt.add_lora(gpt(), 2)
    with pytest.raises(InputTypeError, match="keep='no' must be True or False"):
        adapt.merge_lora(model, keep="no")
    with pytest.raises(InputError, match="no adapter of this model is merged"):
        adapt.unmerge_lora(model)


@pytest.mark.parametrize("add", [adapt.add_lora, adapt.add_prompt, adapt.add_adapters])
def test_an_adapter_that_diverged_is_not_written(tmp_path, add):
    model = add(gpt(), 2)
    next(iter(adapt.trainable(model).values())).data[0, 0] = torch.nan
    with pytest.raises(InputError, match=r"1 of .* numbers are NaN or infinite"):
        adapt.save_adapter(model, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_folder_and_a_name_are_words(tmp_path, unchecked):
    model = adapt.add_lora(gpt(), 2)
    with pytest.raises(InputTypeError, match="folder=None is a NoneType: give a path"):
        adapt.save_adapter(model, None)
    with pytest.raises(InputTypeError, match=r"name=\['default'\] is no word"):
        adapt.save_adapter(model, tmp_path / "a", ["default"])
    with pytest.raises(InputTypeError, match="folder=3 is a int: give a path"):
        adapt.load_adapter(model, 3)
    with pytest.raises(InputError, match="no adapter 'x'; it has 'default'"):
        adapt.save_adapter(model, tmp_path / "a", "x")


def test_weights_that_are_trained_too_are_not_left_out_in_silence(tmp_path):
    model = adapt.add_lora(gpt(), 2).requires_grad_(True)
    with pytest.raises(InputError, match=r"W_q\.base has requires_grad=True"):
        adapt.save_adapter(model, tmp_path / "a")
    adapt.use_adapter(model.requires_grad_(False), "default")
    assert adapt.save_adapter(model, tmp_path / "a").is_dir()


def test_a_prompt_of_a_file_has_no_other_name(tmp_path):
    adapt.save_adapter(adapt.add_prompt(gpt(), 2), tmp_path / "a")
    model = gpt()
    with pytest.raises(InputError, match=r"name='mine', but .* holds 'prompt'"):
        adapt.load_adapter(model, tmp_path / "a", name="mine")
    assert adapt.additions(model) == []


def test_an_empty_name_is_not_taken_for_the_default(tmp_path):
    adapt.save_adapter(adapt.add_lora(gpt(), 2), tmp_path / "a")
    with pytest.raises(InputError, match="name='' cannot name an adapter"):
        adapt.load_adapter(gpt(), tmp_path / "a", name="")


def test_a_model_without_blocks_takes_no_prefix():
    model = gpt()
    model.blocks = nn.ModuleList()
    with pytest.raises(InputError, match="the model has no blocks"):
        adapt.add_prefix(model, 2)
    assert all(p.requires_grad for p in model.parameters())


def test_a_fingerprint_asks_for_a_dtype_and_a_list(unchecked):
    with pytest.raises(InputTypeError, match="dtype='bf16' is none of torch"):
        adapt.base_fingerprint(gpt(), dtype="bf16")
    with pytest.raises(InputTypeError, match="without='head' is one word"):
        adapt.base_fingerprint(gpt(), without="head")
