"""What serves the page 18-perplexity alone.

* ``plot``: What the page calls plot: figures of its own and those that it shares.
* ``confidence``: A small GPT that reads the same pages again and again: what it says, and what
  comes true.
* ``confidence_study``: What label smoothing and repeated reading do to calibration, over
  several seeds.
* ``drift_study``: Where the logits go with SGD, with Adam, and with Adam and something that
  holds them.
* ``logit_drift``: Where the logits of a small GPT go when nothing in the loss holds their
  common part.
* ``block_error``: How uncertain a mean loss is, from blocks of neighboring tokens.
* ``project``: Grader of the project of the page: an evaluation that counts each token once.
* ``project_solution``: Reference solution of the project.
* ``said_and_true``: What the predictions of a model are worth, as they are and at the
  temperature that fits.
* ``soft_targets``: What a perfect learner says that was trained on smoothed labels, and the
  way back.
"""
