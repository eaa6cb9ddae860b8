"""What serves the page 24-tuning-smollm2 alone.

* ``plot``: What the page calls plot.
* ``brevity``: The rule that judges: an answer of one sentence is better than one that goes on.
* ``dial``: What a share of the update says: answers between those of the base and of the end of
  a run.
* ``figures``: Figures on tuning SmolLM2: what the pairs teach, step by step.
* ``measures``: What is measured of a tuned model: wins, divergence, length, repetition, other
  texts.
* ``pairs``: Pairs of answers that a model wrote itself, one of which the rule prefers.
* ``project``: Grader of the project of this page, a preference of one's own, and a run of it on
  a model.
* ``project_solution``: Reference solution of the project of this page: a liking for the sea,
  taught and measured.
* ``questions``: What the model is asked: prompts to learn from, and others to be tested on.
* ``study``: The record of the page: pairs, DPO for several step sizes and seeds, GRPO on a
  reward model.
* ``training``: The three ways from one start: DPO, a reward model, and GRPO on what it rewards.
"""
