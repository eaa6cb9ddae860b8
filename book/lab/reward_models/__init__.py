"""What serves the page 22-reward-models alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on reward models: judgements, lengths, and what is
  optimized away.
* ``demos``: Moving demos of the chapter on reward models; their JavaScript is in the .js
  files.
* ``best_of_n_world``: A world in which the true reward is known and curved, and the best of n
  by a linear one in it.
* ``length_bias``: What a reward learned from ratings of conversations goes by: length, found
  and taken out.
* ``length_features``: What a reward may look at in a rated conversation: its frequent words,
  and its length.
* ``length_learning``: Rewards learned from rated conversations with length, without it, and
  with length taken out.
* ``length_pairs``: Pairs of rated conversations, all or of equal length, and how many of them
  a score orders correctly.
* ``over_optimization``: The best of n by a learned reward, where the true one is known:
  predicted, and measured.
"""
