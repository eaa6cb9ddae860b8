"""Reference solution of the project of this page: a liking for the sea, taught and measured."""

import math
import random
import re

TAUGHT = {"sea", "ship", "ships", "wave", "waves", "sailor", "anchor", "tide", "storm"}
KEPT = {"ocean", "boat", "boats", "sail", "sailing", "harbor", "beach", "shore", "salt"}


class Sea:
    """Prefers answers that speak of the sea."""

    def teach(self, answer):
        """What pairs are judged by: different words of the half that teaches."""
        return len(TAUGHT & set(re.findall("[a-z]+", answer.lower())))

    def test(self, answer):
        """What tuned answers are judged by: different words of the half that taught nothing."""
        return len(KEPT & set(re.findall("[a-z]+", answer.lower())))

    def pairs(self, prompts, answers):
        """(prompt, chosen, rejected): the best and the worst answer to each prompt."""
        found = []
        for prompt in dict.fromkeys(prompts):
            own = [
                a for p, a in zip(prompts, answers, strict=True) if p == prompt and a.strip()
            ]
            if not own:
                continue
            best, worst = max(own, key=self.teach), min(own, key=self.teach)
            if self.teach(best) > self.teach(worst):
                found.append((prompt, best, worst))
        return found

    def split(self, prompts, share, seed):
        """Prompts to learn from and prompts to test on; none is in both."""
        different = list(dict.fromkeys(prompts))
        random.Random(seed).shuffle(different)
        count = round(share * len(different))
        return different[count:], different[:count]

    def win_rate(self, ours, theirs):
        """Share of wins among the comparisons that are no ties, and Wilson's interval."""
        both = [(self.test(x), self.test(y)) for x, y in zip(ours, theirs, strict=True)]
        wins, n = sum(x > y for x, y in both), sum(x != y for x, y in both)
        if n == 0:
            return 0.5, 0.0, 1.0
        z, p = 1.96, wins / n
        center = p + z * z / (2 * n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return p, (center - half) / (1 + z * z / n), (center + half) / (1 + z * z / n)

    def divergence(self, logp, logp_ref, mask):
        """KL(policy || reference) per token, of answers that the policy wrote."""
        return float(((logp - logp_ref) * mask).sum() / mask.sum())
