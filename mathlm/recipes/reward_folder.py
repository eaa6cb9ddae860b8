"""A learned reward in a folder: what recipes.reward wrote, and answers judged by it.

    python -m mathlm.recipes.reward_folder runs/mine --prompt "What is rain?" --answer "Water."

Prints the reward of the answer.
"""

import argparse
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from ..align import RewardModel
from ..align.reward.model import HEAD_FILE
from ..chat import folder as chat_folder
from ..chat.model import ChatModel
from ..errors import ConfigError, InputError, MathLMError
from ..text import Message
from ..train import resolve_device
from ..train.distributed import DeviceName
from ..train.objective_batches import padded

Prompt = str | Sequence[Message | Mapping[str, str]]


class LearnedReward:
    """A reward model as a reward function: from prompts and completions to numbers.

    A prompt is what a user said, or a list of messages; a completion is the answer to it. Both
    are written in the reward model's own format.

    Args:
        chat_model: The body, its tokens and its format.
        model: The reward model of this body.
        batch_size: Conversations that are read together.
    """

    def __init__(self, chat_model: ChatModel, model: RewardModel, batch_size: int = 16) -> None:
        self.chat_model, self.model, self.batch_size = chat_model, model.eval(), batch_size

    @torch.no_grad()
    def __call__(self, prompts: Sequence[Prompt], completions: Sequence[str]) -> list[float]:
        """The reward of each completion.

        Raises:
            InputError: If a conversation is longer than the context; it has its number.
        """
        ids = [self.ids(*both) for both in zip(prompts, completions, strict=True)]
        for i, one in enumerate(ids):
            if len(one) > self.chat_model.context:
                raise InputError(
                    f"conversation {i} has {len(one)} tokens, the reward model reads "
                    f"{self.chat_model.context}"
                )
        found = list[float]()
        for start in range(0, len(ids), self.batch_size):
            found += self.rewards(ids[start : start + self.batch_size]).tolist()
        return found

    def ids(self, prompt: Prompt, completion: str) -> Tensor:
        """A conversation as ids, up to the end of the answer."""
        said = [Message("user", prompt)] if isinstance(prompt, str) else list(prompt)
        turns = [*said, Message("assistant", completion)]
        chat = self.chat_model.format.encode(turns, self.chat_model.tokenizer)
        last = int(chat.mask.nonzero()[0][-1])
        return torch.from_numpy(chat.ids[: last + 1])

    def rewards(self, ids: list[Tensor]) -> Tensor:
        """Rewards of conversations, padded to one width."""
        lengths = torch.tensor([len(one) for one in ids])
        rows = padded([one.numpy() for one in ids], 0)
        mask = torch.arange(rows.shape[1]) < lengths[:, None]
        device = self.model.offset.device
        return self.model(rows.to(device), mask.to(device)).double().cpu()


def load_reward(folder: str | Path, device: DeviceName = "auto") -> LearnedReward:
    """The reward that recipes.reward wrote into a folder.

    Raises:
        ConfigError: If the folder holds no reward.
    """
    if not (Path(folder) / HEAD_FILE).is_file():
        raise ConfigError(f"{folder} holds no {HEAD_FILE}: give a folder of recipes.reward")
    chat_model = chat_folder.load(folder, device="cpu")
    model = RewardModel(chat_model.model).load_head(folder).to(resolve_device(device))
    return LearnedReward(chat_model, model.requires_grad_(False))


def main(argv: Sequence[str] | None = None) -> float:
    """Judge one answer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", help="of recipes.reward")
    parser.add_argument("--prompt", required=True, help="what a user said")
    parser.add_argument("--answer", required=True, help="what is judged")
    parser.add_argument("--device", default="auto", choices=["cpu", "cuda", "auto"])
    args = parser.parse_args(argv)
    found = load_reward(args.folder, args.device)([args.prompt], [args.answer])[0]
    logging.info("%.4f", found)
    return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    try:
        main()
    except MathLMError as error:
        sys.exit(f"error: {error}")
