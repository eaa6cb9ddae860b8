from collections import Counter

import pytest
from gguf import GGUFReader

from lab.self_attention.sample_texts import sample_texts
from mathlm.text import ByteBPE, pretrained


def test_the_texts_are_the_ones_that_the_page_names():
    texts = sample_texts()
    assert texts["Hamlet"].startswith("To be, or not to be")
    assert texts["Rosalind"].startswith("ROSALIND:\nIndeed")
    assert len(texts) == 6
    assert compile(texts["program"], "program", "exec")


def test_each_text_has_the_129_tokens_that_the_page_reads():
    tokenizer = ByteBPE.from_gguf(pretrained.find("smollm2"))
    assert all(len(tokenizer.encode(text)) >= 129 for text in sample_texts().values())


@pytest.mark.slow
def test_the_model_is_the_one_that_the_page_names():
    file = pretrained.find("smollm2")
    stored = GGUFReader(file).tensors
    assert file.name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    kinds = Counter(tensor.tensor_type.name for tensor in stored)
    assert kinds == {"Q4_1": 7 * 30, "Q8_0": 1, "F32": 2 * 30 + 1}
    assert [t.name for t in stored if t.tensor_type.name == "Q8_0"] == ["token_embd.weight"]
