"""What serves the page 14-positional-encoding alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on positions: encodings, overlaps, what a model makes of
  them.
* ``demos``: Moving demos of positions: the table of sines, and two hands that turn with their
  tokens; their JavaScript is in the .js files.
* ``look_back``: Which token stood three places back? A tiny task that is nothing but
  positions.
* ``position_geometry``: What the ways to encode positions do to scores: overlaps, turns, decay
  and reach.
* ``position_study``: One small GPT, one budget, several ways to tell it where a token stands;
  loss by position.
* ``word_order``: Which questions about a sequence can a transformer answer that is told no
  positions?
* ``context_study``: SmolLM2 beyond its context, on short texts: a passage and its copy, many
  positions apart.
* ``project``: Grader of the project of this page: scaled rotary frequencies, and loss by
  position.
* ``project_solution``: Reference solution of the project: scaled rotary frequencies, and loss
  by position.
"""
