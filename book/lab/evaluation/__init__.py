"""What serves the page 22-evaluation alone.

* ``plot``: What the page calls plot: its figures, and those that it shares.
* ``figures``: Figures of the page on evaluation.
* ``study``: The record of the page: SmolLM2 on three sets of questions, judged in three ways.
* ``exact``: Coverage and bias by sums over every count that can come out: no sampling, no
  error.
* ``tournament``: A tournament whose true strengths are known: one game after another, and all
  at once.
* ``contamination``: Questions whose honest ceiling is known, and a model that has read some of
  them.
* ``membership``: Whether a model has read a row: its likelihood, and that of its unlikeliest
  tokens.
* ``project``: Grader of the project of this page: a question set of one's own.
* ``project_solution``: Reference solution of the project: a question set that can tell two
  models apart.
"""
