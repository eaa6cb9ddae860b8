"""What serves the page 24-preference-optimization alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures on learning from comparisons: where losses end, what they move, how far
  they miss.
* ``demos``: Moving demos on preferences: three answers and one comparison, and where losses
  put it; their JavaScript is in the .js files.
* ``exclamations``: The GPT of chapter 19, tuned by DPO to prefer exclamation marks, as an
  update of 40 kB.
* ``preference_family``: Every preference loss on the same comparisons, in a world whose
  optimum is known.
* ``preference_margins``: Where losses on preferences put the margin of one pair, and how they
  get there.
* ``preference_optima``: What preferences lead to: policies at the minimum of a loss, and how
  far finite data miss it.
* ``preference_ppo``: DPO and the whole of RLHF, PPO included, on the same comparisons.
* ``preference_rivals``: Three ways from the same comparisons to a policy: DPO, and a reward
  model used in two ways.
* ``preference_rounds``: DPO whose comparisons are of its own samples, and DPO on the exact
  expectation.
* ``preference_study``: Preference losses and their rivals on the same comparisons, in worlds
  with a known optimum.
* ``preference_world``: Comparisons in a world that can be listed, and policies that learn from
  them.
* ``project``: Grader of the project of this page: DPO from the equation, with a gradient check.
* ``project_solution``: Reference solution of the project: DPO in NumPy, its derivatives and a
  gradient check.
"""
