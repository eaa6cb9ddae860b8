"""Rewards: functions of text, Bradley-Terry, reward models, best of n."""

__all__: list[str] = []
