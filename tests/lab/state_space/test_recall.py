import pytest
import torch

from lab.state_space import recall
from lab.state_space.recall import ARMS, RecallConfig, RecallModel
from mathlm.errors import ConfigError


def test_every_question_asks_for_a_pair_that_was_shown():
    keys, values, answers = recall.draw(RecallConfig(), 6, 5, 0)
    for row in range(5):
        shown = dict(zip(keys[row, :6].tolist(), values[row, :6].tolist(), strict=True))
        assert len(shown) == 6
        assert [shown[k] for k in keys[row, 6:].tolist()] == answers[row].tolist()
        assert (values[row, 6:] == 16).all()


@pytest.mark.slow
@pytest.mark.parametrize("arm", ARMS)
def test_a_few_steps_lower_the_loss_of_every_arm(arm):
    torch.set_default_dtype(torch.float32)
    config = RecallConfig(mixers=ARMS[arm], numbers=(2,), keys=4, values=2, steps=60)
    assert recall.train(config).recall[2] > 0.6


def test_scores_do_not_see_later_questions():
    model, config = RecallModel(RecallConfig()), RecallConfig()
    keys, values, _ = recall.draw(config, 4, 2, 0)
    cut = model(keys[:, :6], values[:, :6])
    torch.testing.assert_close(model(keys, values)[:, :6], cut)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match="mixers"):
        RecallConfig(mixers=("rnn",))
    with pytest.raises(ConfigError, match="from 1 to keys=8"):
        RecallConfig(keys=8, numbers=(9,))
