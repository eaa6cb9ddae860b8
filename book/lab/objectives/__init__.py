"""What serves the page 18-objectives alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on training objectives.
* ``demos``: Moving demos of the chapter on training objectives; their JavaScript is in the .js
  files.
* ``confidence``: A small GPT that reads the same pages again and again: what it says, and what
  comes true.
* ``confidence_study``: What label smoothing and repeated reading do to calibration, over
  several seeds.
* ``corruption``: What a perfect reader of a corrupted text would answer.
* ``drift_study``: Where the logits go with SGD, with Adam, and with Adam and something that
  holds them.
* ``exposure``: What happens behind a model's first slip, where the right letter is known at
  every place.
* ``exposure_study``: Teacher forcing against scheduled sampling, over several seeds.
* ``free_running``: A model that writes Shakespeare by itself: what its text costs, the further
  it goes.
* ``frozen_states``: What a linear probe reads from the states of a frozen model.
* ``hidden_fates``: What a masked model says of a symbol that is hidden, replaced, or left
  alone.
* ``logit_drift``: Where the logits of a small GPT go when nothing in the loss holds their
  common part.
* ``objective_bodies``: One body for every objective: what differs is who sees whom, and what
  is asked.
* ``objective_probes``: What comes next, and what stands in a hole: the same questions to every
  model.
* ``objectives``: One corpus, one body, one budget, five objectives: what each model can then
  do.
* ``objectives_study``: The runs of :mod:`objectives`, longer, and what each choice of a masked
  objective does.
* ``play_lines``: The spoken lines of the plays as symbols, for every objective of
  :mod:`objectives`.
* ``repeated_words``: A source that says one random word for ever, and a small GPT that learns
  to repeat.
* ``said_and_true``: What the predictions of a model are worth, as they are and at the
  temperature that fits.
* ``soft_targets``: What a perfect learner says that was trained on smoothed labels, and the
  way back.
* ``topic_shortcut``: Which passage follows? Answered by shared words alone, blind to order and
  meaning.
"""
