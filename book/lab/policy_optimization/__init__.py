"""What serves the page 23-policy-optimization alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures on policies trained for a reward: noise, clipping, credit, and where
  runs end.
* ``demos``: Moving demos on policies: what clipping does to a ratio, how a price tilts a
  reference; their JavaScript is in the .js files.
* ``exact_world``: Three methods of alignment in a world whose optimum is known, and how close
  each comes.
* ``policy_study``: Where policies end that are trained in many ways, against the optimum that
  is known.
* ``project``: Grader of the project of this page: GRPO on the exact world, from an empty file.
* ``project_solution``: Reference solution of the project: GRPO on the exact world, without the
  package's losses.
* ``rate_study``: How near to the optimum policies end by step size, with rates that decay and
  rates that stay.
"""
