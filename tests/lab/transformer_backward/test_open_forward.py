import numpy as np

from lab.transformer_backward.open_forward import open_forward
from mathlm.reference import Transformer, TransformerConfig


def test_the_stages_end_in_the_logits_of_the_model():
    sizes = {"vocab_size": 9, "context": 8, "d_model": 8, "n_layers": 2, "n_heads": 2}
    model = Transformer(TransformerConfig(**sizes), np.random.default_rng(0))
    source, target = np.array([[4, 5, 2], [3, 2, 0]]), np.array([[1, 6, 7, 2], [1, 8, 2, 0]])
    stages = open_forward(model, source, target, source > 0, target > 0)
    logits, _ = model.logits(source, target[:, :-1], source > 0, target[:, :-1] > 0)
    real = target[:, :-1] > 0
    np.testing.assert_allclose(stages.logits[real], logits[real], rtol=1e-12)
    assert stages.real.tolist() == (target[:, 1:] > 0).tolist()
    assert len(stages.entered) == len(stages.decoder) == len(stages.encoder) == 2
