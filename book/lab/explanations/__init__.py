"""What serves the page 26-explanations alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of what power laws may come from, and of bills and the stock of text.
* ``demos``: A moving demo on the limits of scaling: the bill of a budget of compute; their
  JavaScript is in the .js files.
* ``addition``: Networks of several widths learn to add, each scored by smooth and by sharp
  metrics.
* ``emergence``: One ability under several metrics: smooth for each step, sharp for the whole
  task.
* ``grokking``: Addition modulo p learned by heart, and understood long after: with weight
  decay only.
* ``grokking_study``: When is addition modulo p understood? Several seeds, with and without
  weight decay.
* ``manifold``: Data on a curved surface of few dimensions inside a space of many, and what
  they foretell.
* ``manifold_fits``: A function on a torus of d dimensions in 16, learned from neighbours:
  exponents by d.
* ``modular_addition``: Addition modulo p: the table, a network of nine units that knows it,
  and how to see that.
* ``random_features``: Linear regression on random features of data whose variances fall as a
  power: solved exactly.
* ``random_features_study``: Regression on random features: the error by features, by samples,
  and where they meet.
* ``zipf``: Facts whose frequency is a power of their rank, and what is lost while only some
  are known.
* ``zipf_memory``: Facts under Zipf's law, learned three ways: held, seen, and stepped towards.
* ``project``: Tests of a reader's choice: which model, and how many answers to a question.
* ``project_solution``: The same choice, written out: coverage, answers needed, the cheapest
  plan.
* ``test_time``: Compute at test time: many answers of one network to the same sum, and a
  check that picks.
"""
