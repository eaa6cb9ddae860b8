"""A tiny Llama of transformers, and the same weights as our GPT."""

import json

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

from mathlm.models import GPT

IDS = torch.tensor([[3, 14, 15, 9, 2, 6], [5, 3, 5, 8, 9, 7]])
SIZES = {"vocab_size": 20, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 16}


def llama_folder(folder, **changes):
    """A folder with a random Llama in float32."""
    torch.manual_seed(1)
    config = LlamaConfig(**(SIZES | HEADS | changes))
    LlamaForCausalLM(config).float().save_pretrained(folder)
    return folder


def gpt2_folder(folder):
    """A folder with a random GPT-2 in float32."""
    torch.manual_seed(1)
    config = GPT2Config(vocab_size=20, n_positions=16, n_embd=16, n_layer=2, n_head=4)
    GPT2LMHeadModel(config).float().save_pretrained(folder)
    return folder


def theirs(folder):
    """The model of transformers in a folder."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def ours(folder):
    """The same as our GPT."""
    return GPT.from_pretrained(folder)


def tuned_by_peft(folder, target, **options):
    """Save a random adapter of peft for the model in a folder; returns the model with it."""
    torch.manual_seed(2)
    options = {"r": 4, "lora_alpha": 6, "target_modules": ["q_proj", "v_proj"]} | options
    model = get_peft_model(theirs(folder), LoraConfig(task_type="CAUSAL_LM", **options))
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_B" in name:
                p.normal_()
    model.save_pretrained(target)
    return model.eval()


def read_by_peft(base, folder):
    """The model of transformers with the adapter of a folder."""
    return PeftModel.from_pretrained(theirs(base), folder).eval()


def filled(model):
    """The same model with random numbers in every B."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if ".B." in name:
                p.copy_(torch.randn(p.shape, generator=generator))
    return model


def change_config(folder, **changes):
    """Give fields of ``adapter_config.json`` other values."""
    path = folder / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_tensors(folder, change):
    """Write the tensors anew, after ``change`` has altered the dictionary of them."""
    tensors = load_file(folder / "adapter_model.safetensors")
    change(tensors)
    save_file(tensors, folder / "adapter_model.safetensors")
