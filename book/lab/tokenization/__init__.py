"""What serves the page 08-tokenization alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on tokenization: trainers, vocabularies, rare tokens, who
  pays.
* ``demos``: Moving demos of tokenization: merges step by step, and one text cut by several
  tokenizers; their JavaScript is in the .js files.
* ``fertility``: How many tokens a text becomes, for each word, character and byte, and next to
  another.
* ``head_start``: What a vocabulary costs by the frequencies of its tokens alone, without a
  model.
* ``merge_scores``: What a merge is worth: its count, its gain in likelihood, its gain for one
  occurrence.
* ``merge_trace``: Byte-pair encoding of a few words, step by step: counts, ties, and what
  other ties give.
* ``project``: Grader of the project of the page: a byte-pair trainer with a heap.
* ``project_solution``: Its reference solution.
* ``samples``: Small texts that say the same in many languages, and real program code.
* ``sentence_pieces``: What SentencePiece does around a vocabulary of pieces: spaces as symbols,
  bytes as a way out.
* ``token_costs``: What a vocabulary costs: arithmetic for each byte of text, and bits for each
  byte.
* ``vocabulary_size``: What does the size of the vocabulary do to a small GPT that may spend a
  fixed compute?
"""
