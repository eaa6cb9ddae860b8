"""What serves the page 16-transformer-backward alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: The transformer backward: routes of the gradient, its sizes, its checks,
  training by it.
* ``demos``: Moving demos of the backward pass: one label's gradient, and planted faults; their
  JavaScript is in the .js files.
* ``faulty_training``: Train the translator by hand with a fault in its backward pass: would
  its loss have told?
* ``gradient_certificates``: How far every gradient of a model is from what its own loss says,
  one probe a parameter.
* ``gradient_checks``: Six checks of the encoder-decoder by hand: two witnesses, and four
  things that must hold.
* ``gradient_faults``: Faults of the backward passes of heads, blocks, stacks, tables, and of
  both passes alike.
* ``gradient_trace``: How much of the loss of one label arrives at every vector of an
  encoder-decoder.
* ``layer_faults``: Faults of the backward passes of loss, linear map, normalization and
  attention.
* ``numerals_by_hand``: English numerals to French by the encoder-decoder in NumPy: every
  gradient by hand.
* ``open_block``: A post-norm decoder block and a small decoder, forward, with everything kept
  by name.
* ``open_forward``: The forward pass of an encoder-decoder with every stage kept, so that a page
  can go back.
* ``planted_gradient_faults``: Faults of a backward pass, planted one at a time, and which
  checks notice them.
* ``project``: Grader of the project of this page: a decoder block and a tied decoder, backward
  by hand.
* ``reference_block``: The decoder block of the reference, apart from the torch half.
* ``project_solution``: Reference solution of the project: a decoder block and a small decoder,
  backward.
* ``sublayer_gains``: How large each sublayer's output is against its stream, and how much
  gradient it returns.
* ``symmetry``: Identities that the gradients of post-norm transformers obey, whatever the
  data.
* ``transformer_witness``: What torch's autograd says of an encoder-decoder with given weights:
  the other witness.
"""
