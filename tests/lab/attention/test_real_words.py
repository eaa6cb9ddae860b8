import numpy as np

from lab.attention.real_words import play_words, word_table


def test_each_feature_has_mean_zero_and_variance_one():
    words, z = word_table(1000)
    assert len(words) == len(z) == 1000
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(0), 1)


def test_the_plays_are_read_in_order_without_unknown_words():
    words = ["hippolyta", "fair", "on", "draws", "hour"]
    ids = play_words(words)
    assert [words[i] for i in ids[:5]] == ["fair", "hippolyta", "hour", "draws", "on"]
