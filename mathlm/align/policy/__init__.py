"""Policies that learn from rewards: rollouts, advantages, PPO, GRPO and their relatives."""

__all__: list[str] = []
