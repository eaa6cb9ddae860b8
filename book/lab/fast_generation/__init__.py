"""What serves the page 20-fast-generation alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures on the speed of writing: what a token costs, what is drafted, what is
  rounded.
* ``demos``: Moving demos on the speed of writing: a cache calculator, and draft tokens one at a
  time; their JavaScript is in the .js files.
* ``decoding_measures``: What texts cost their writer and a judge, and how much they repeat
  themselves.
* ``decoding_study``: What decoding does to text: temperatures, truncations and beams, and how
  people write.
* ``decoding_texts``: Texts that a model writes behind the same beginnings, and what each of
  their tokens cost.
* ``quantization``: What few bits a weight cost a model: surprise, divergence and bytes.
* ``quantization_study``: Bits against perplexity, and which matrices can do with the fewest;
  of both models.
* ``speculation``: How often draft tokens are accepted, and what they save: measured, and as the
  formulas say.
* ``speculation_study``: Guesses for a target: how many are accepted and what they save, on
  plays and on SmolLM2.
* ``project``: Tests of a reader's round of speculative decoding.
* ``project_solution``: One way to solve the project.
"""
