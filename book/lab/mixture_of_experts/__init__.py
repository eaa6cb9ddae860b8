"""What serves the page 17-mixture-of-experts alone.

* ``plot``: What the page calls plot: its figures, and the style.
* ``figures``: Figures of the page on mixtures of experts.
* ``expert_runs``: Small mixtures of experts and dense models of equal size on the letters of
  Shakespeare.
* ``record``: Mixtures of experts against dense models of equal active and of equal total
  parameters.
* ``project``: Grader of the project of this page: a mixture of experts that balances itself.
* ``project_solution``: Reference solution of the project of this page.
"""
