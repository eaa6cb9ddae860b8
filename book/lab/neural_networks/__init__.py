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
* ``fifty_layers``: The size of a gradient on its way back through many layers.
* ``representation``: What networks can represent, measured: errors of interpolants, pieces of
  random networks.
* ``project``: The project of chapter 5: tests of a reader's scalar autodiff and of the network
  it trains.
* ``project_solution``: A solution of the project of chapter 5: a scalar autodiff, and a
  network trained with it.
"""
