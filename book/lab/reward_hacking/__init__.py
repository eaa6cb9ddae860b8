"""What serves the page 23-reward-hacking alone.

* ``plot``: What the page calls plot: its figures, and the style that it shares.
* ``figures``: Figures on rewards that are not what is meant: what they bring, and runs on text.
* ``penalty_study``: Which answers a policy ends at with a penalty on the divergence and without
  one.
* ``project``: Grader of the project of this page: a KL coefficient from a few honest scores.
* ``project_solution``: Reference solution of the project: importance weights from a mixture.
* ``steering``: Two models steered by rewards, what they write then, and what stops them from
  cheating.
* ``steering_looks``: What a steered policy writes, and how far it has gone.
* ``steering_plays``: The GPT of the plays, steered to sound glad, and what that costs.
* ``steering_rewards``: Rewards of the steering study: a list of rated words, and parts of it.
* ``steering_sums``: SmolLM2 with a low-rank update, rewarded for right sums and nothing else.
"""
