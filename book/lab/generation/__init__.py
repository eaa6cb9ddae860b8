"""What serves the page 20-generation alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on what to draw from a language model.
* ``demos``: Moving demos of generation: one real next token, and a text replayed token by
  token; their JavaScript is in the .js files.
* ``conditioning``: What masking tokens does to the distribution of texts, exactly and by
  weights.
* ``drawing``: What temperature and truncation make of one distribution of the next token.
* ``edits``: Every short text of a model whose next-token distributions are edited before the
  draw.
* ``likeliest``: The likeliest long text of a model that looks back a fixed number of tokens.
* ``project``: Tests of a reader's nucleus sampling.
* ``project_solution``: One way to solve the project.
* ``voting``: What many sampled answers are good for.
* ``voting_study``: Many sampled solutions of small sums, and their answers.
"""
