"""What serves the page 17-current-models alone.

* ``plot``: What the page calls plot: its figures, and the style that it shares.
* ``figures``: Figures of the page on current models: who sees whom, caches, caps, and growing
  scores.
* ``logit_growth``: How large the attention scores of a small GPT become, by step size, and
  what holds them.
* ``logit_growth_study``: Scores and loss of every arm at every step size, over seeds.
* ``project``: Grader of the project of this page: one attention with window, cap and sinks.
* ``project_solution``: The attention of the project, written out: one way to solve it.
* ``tiny_folders``: Tiny random models, written as folders of the form that current models are
  published in.
"""
