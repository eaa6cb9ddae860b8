"""What serves the page 17-architectures alone.

* ``plot``: What the page calls plot: its figures, and those that it shares.
* ``figures``: Figures of the page on architectures: choices, probes, mistakes, writes to the
  stream.
* ``project``: Grader of the project of this page: weights of a foreign file for our GPT.
* ``project_solution``: Reference solution of the project of this page.
* ``architecture_probes``: Holes in the sentences of :mod:`code_pairs`, and how each
  architecture fills them.
* ``architecture_study``: Which architecture learns which question when, over several seeds.
* ``architectures``: One body, one corpus, three architectures: what each can fill, continue
  and translate.
* ``code_pairs``: Codes of three digits, read aloud in two languages: one corpus for every
  architecture.
* ``one_body``: GPT, BERT and an encoder-decoder with one body: the same width and number of
  blocks.
* ``silent_mistakes``: Mistakes in carrying weights to a model that raise no error, and what
  each of them costs.
* ``small_t5``: An encoder-decoder with the parts of T5, in small, and its training.
* ``tasks_as_text``: Tasks on numerals as texts that become texts, and holes in counting; one
  vocabulary.
* ``text_to_text``: Every task as a text that becomes a text: one small T5 for several tasks on
  numerals.
* ``text_to_text_study``: Does filling holes in counting help to learn tasks from few examples?
"""
