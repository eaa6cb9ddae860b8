"""200 steps on copied letters, as a process of its own; prints how many answers end."""

import numpy as np
import torch
from align.toy_chats import END, NAMED, TOKENIZER, chat, encoded, model

from mathlm.align import ChatBatches
from mathlm.generate import generate
from mathlm.train import next_token


def trained(words):
    """A model after 200 steps on conversations that answer a word with itself."""
    data = ChatBatches(encoded([chat(w, w) for w in words]), 16, packed=False, pad_id=END)
    network = model(d_model=32, n_layers=1).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=5e-3)
    for step in range(200):
        loss, count = next_token(network, data(step))
        optimizer.zero_grad()
        (loss / count).backward()
        optimizer.step()
    return network


def ended(network, words):
    """How many of the greedy answers to words of one length end within 10 tokens."""
    asked = [NAMED.encode(chat(word), TOKENIZER, answer=True).ids for word in words]
    prompts = torch.from_numpy(np.stack(asked))
    text = generate(network, prompts, 10, temperature=0, stop=[END])
    return int((text[:, prompts.shape[1] :] == END).any(1).sum())


if __name__ == "__main__":
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    drawn = ["".join(rng.choice(list("abcd"), rng.integers(1, 4))) for _ in range(400)]
    network, words = trained(drawn), sorted(set(drawn))
    by_length = [[w for w in words if len(w) == n] for n in (1, 2, 3)]
    print(sum(ended(network, same) for same in by_length), len(words))
