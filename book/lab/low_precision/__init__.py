"""What serves the page 19-low-precision alone.

* ``plot``: What the page calls plot: its figures and its demo.
* ``figures``: Figures of the page: what few bits lose, and what trains with them.
* ``demos``: A moving demo of the scale of a loss in float16; its script is loss_scale.js.
* ``project``: Tests of a reader's rounding to 8 bits with a scale for each block.
* ``project_solution``: The same rounding, written out: one way to solve the project.
* ``sixteen_bits``: Products in 16 bits, emulated in float32; the sizes of gradients.
* ``sixteen_bits_study``: A small GPT trained with products or weights of 16 bits, against one
  of 32.
* ``sixteen_bits_training``: One run of a small GPT with products or weights of 16 bits.
"""
