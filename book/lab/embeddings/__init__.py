"""What serves the page 09-embeddings alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Embeddings: cosines, analogies, human ratings, cones, rows that move, senses of
  a word.
* ``demos``: Moving demos of embeddings: the rows that a batch touches, and a map of words;
  their JavaScript is in the .js files.
* ``analogy``: Analogies between words as sums and as products of cosines: a is to b as c is to
  what?
* ``association``: Word vectors from counts: pointwise mutual information and its best low-rank
  form.
* ``book_search``: A search over the sections of this book, and twenty questions that say how
  well it finds.
* ``count_vectors``: Word vectors from the counts of a dictionary: positive mutual information
  and its SVD.
* ``isotropy``: Does a cloud of vectors fill its space evenly? Two measures, and two repairs.
* ``parallelogram``: Why offsets between word vectors agree: ratios of context probabilities.
* ``project``: Grader of the project of this page: skip-gram with negative sampling, by hand.
* ``project_solution``: Reference solution of the project: skip-gram with negative sampling on
  any text.
* ``row_updates``: Rows of an embedding table: how many a batch looks up, how far one moves
  when idle.
* ``row_updates_study``: Which rows of an embedding table each optimizer moves, and which of
  them were looked up.
* ``word2vec``: Train skip-gram with negative sampling on a dictionary.
* ``word2vec_study``: A long run of skip-gram, scored as it trains and compared with vectors
  from counts.
"""
