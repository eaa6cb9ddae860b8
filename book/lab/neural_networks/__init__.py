"""What serves the page 05-neural-networks alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Neural networks: one neuron, a traced network, XOR, pieces by depth, digits.
* ``demos``: Moving demos of networks: activation functions with their slopes, a line against
  XOR; their JavaScript is in the .js files.
* ``digits``: Handwritten digits read by a network trained in NumPy, gradients by hand.
* ``small_networks``: Many small networks trained at once, each from its own start: how often
  does it work?
* ``start_sweep``: From how many starts does gradient descent learn XOR and parity? A sweep,
  recorded.
"""
