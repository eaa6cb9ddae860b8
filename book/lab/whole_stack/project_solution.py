"""Reference solution of the project: clean, split, count and judge one's own text."""

import math
import random
from collections import Counter


class Counts:
    """Bytes by the two before them, mixed with shorter contexts down to the uniform guess.

    Args:
        data: Bytes to count.
        weight: Bytes of the shorter context's guess that each context begins with.
    """

    def __init__(self, data, weight=4.0):
        self.weight = weight
        self.tables = [Counter(), Counter(), Counter()]
        self.totals = [Counter(), Counter(), Counter()]
        for i in range(len(data)):
            for k in range(min(i, 2) + 1):
                before = data[i - k : i]
                self.tables[k][before, data[i]] += 1
                self.totals[k][before] += 1

    def probability(self, before, byte):
        """p(byte | before), a mixture that is never 0 and sums to 1."""
        p = 1 / 256
        for k in range(min(len(before), 2) + 1):
            context = before[len(before) - k :]
            count = self.tables[k][context, byte] + self.weight * p
            p = count / (self.totals[k][context] + self.weight)
        return p

    def log_probabilities(self, data):
        """Log p of each byte after those before it [nats]."""
        return [math.log(self.probability(data[:i][-2:], data[i])) for i in range(len(data))]


class Mine:
    """From texts to a model that is judged on what it never saw."""

    def clean(self, texts):
        """Texts of 20 characters or more, each once; blanks and capitals make no difference."""
        kept = {}
        for text in texts:
            plain = " ".join(text.split()).lower()
            if len(plain) >= 20:
                kept.setdefault(plain, text)
        return list(kept.values())

    def split(self, texts, share, seed):
        """Texts to learn from, and held-out texts; a text is on one side only."""
        order = list(texts)
        random.Random(seed).shuffle(order)
        count = max(1, round(share * len(order)))
        return order[count:], order[:count]

    def fit(self, data):
        """A model of bytes."""
        return Counts(data)

    def bits_per_byte(self, model, data):
        """Mean code length of the data [bits/byte]."""
        return -sum(model.log_probabilities(data)) / math.log(2) / len(data)
