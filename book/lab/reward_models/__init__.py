"""What serves the page 22-reward-models alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on reward models: judgments, lengths, and what is
  optimized away.
* ``demos``: Moving demos of the chapter on reward models; their JavaScript is in the .js
  files.
* ``best_of_n_world``: A world in which the true reward is known and curved, and the best of n
  by a linear one.
* ``judge_measures``: What the verdicts of a judge who sees two answers in both orders owe to
  place.
* ``judge_questions``: Questions with one right answer, one wrong one, and words that only add
  length.
* ``judge_study``: A small chat model as a judge of two answers: what its verdicts owe to place
  and to length.
* ``length_bias``: What a reward learned from ratings of conversations goes by: length, found
  and taken out.
* ``length_features``: What a reward may look at in a rated conversation: its frequent words,
  and its length.
* ``length_learning``: Rewards learned from rated conversations with length, without it, and
  with length taken out.
* ``length_pairs``: Pairs of rated conversations, all or of equal length, and the accuracy of a
  score on them.
* ``over_optimization``: The best of n by a learned reward, where the true one is known:
  predicted, and measured.
* ``project``: Grader of the project of this page: a reward model, and a probe that length
  cannot help.
* ``project_solution``: Reference solution of the project: length takes part in the fit, and
  not in the score.
* ``scales``: Judges with scales of their own, who give marks or compare: which finds the truth
  better.
* ``step_rewards``: Values of the steps of a solution, in a world where they are known.
"""
