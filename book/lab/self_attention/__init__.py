"""What serves the page 11-self-attention alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Self-attention: its steps, who depends on whom, planted bugs, cost, and real
  heads.
* ``demos``: Moving demos of self-attention: a matrix of real weights, and what its cost is
  made of; their JavaScript is in the .js files.
* ``attention_checks``: Nine checks that an implementation of causal self-attention must pass.
* ``attention_cost``: Time and memory of attention as the sequence grows, with all weights
  stored and with none.
* ``attention_jacobian``: The Jacobian of one head of self-attention, block by block.
* ``attention_memory``: Time and peak memory of attention in NumPy: all weights at once, or
  tile by tile.
* ``layer_products``: Multiply-adds of one layer that mixes a sequence: attention and
  recurrence.
* ``peeking``: One attention head learns to predict the next letter, with or without sight of
  the future.
* ``planted_layers``: Layers of self-attention with one fault each, forward or backward, for the
  project.
* ``project``: Grader of the project of this page: a test function that finds ten planted bugs.
* ``project_solution``: Reference solution of the project: tests that find every planted bug.
* ``sample_texts``: Six texts of different kinds, on which the page measures what heads look at.
* ``planted_bugs``: Ten bugs of self-attention, planted one at a time, and which checks catch
  them.
"""
