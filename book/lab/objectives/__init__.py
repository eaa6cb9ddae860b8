"""What serves the page 18-objectives alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on training objectives.
* ``demos``: Moving demos of the chapter on training objectives; their JavaScript is in the .js
  files.
* ``corruption``: What a perfect reader of a corrupted text would answer.
* ``exposure``: What happens after a model's first slip, where the right letter is known at
  every place.
* ``exposure_study``: Teacher forcing against scheduled sampling, over several seeds.
* ``free_running``: A model that writes Shakespeare by itself: what its text costs, the further
  it goes.
* ``frozen_states``: What a linear probe reads from the states of a frozen model.
* ``hidden_fates``: What a masked model says of a symbol that is hidden, replaced, or left
  alone.
* ``linked_pairs``: A source whose sentences have a topic and a link, and a small BERT that
  judges pairs of them.
* ``linked_pairs_study``: What a small BERT learns from each kind of wrong sentence, at its own
  step size.
* ``objective_bodies``: One body for every objective: what differs is who sees whom, and what
  is asked.
* ``objective_probes``: What comes next, and what stands in a hole: the same questions to every
  model.
* ``objectives``: One corpus, one body, one budget, four objectives: what each model can then
  do.
* ``objectives_study``: The runs of :mod:`objectives` at their own step sizes, and what each
  share of masked, random and kept symbols does.
* ``play_lines``: The spoken lines of the plays as symbols, for every objective of
  :mod:`objectives`.
* ``project``: Grader of the project of the page: a masked language model for one's own text.
* ``project_solution``: Reference solution of the project.
* ``repeated_words``: A source that says one random word for ever, and a small GPT that learns
  to repeat.
* ``topic_shortcut``: Which passage follows? Answered by shared words alone, blind to order and
  meaning.
"""
