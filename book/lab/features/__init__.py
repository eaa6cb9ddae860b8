"""What serves the page 25-features alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the page on features: probes, superposition, dictionaries, steering.
* ``demos``: A moving demo on superposition: reading many features by one threshold; their
  JavaScript is in the .js files.
* ``added_vectors``: A vector from sad to glad sentences, added to the stream of SmolLM2 at
  several strengths.
* ``capacity``: How many directions fit into a space, and how many of them can be told apart at
  once.
* ``known_directions``: Dictionaries of vectors whose directions are known: how many are found,
  how many units die.
* ``readout``: How often 100,000 features in 4096 dimensions are read right, by how many are
  there.
* ``superposition``: More features than dimensions: the smallest model in which they share, and
  its geometry.
* ``words``: Tagged sentences that are prose, and one vector for each of their words.
* ``project``: Tests of a reader's sparse autoencoder and its training.
* ``project_steering``: Tests of a direction by which a reader steers a model.
* ``smollm2_feature``: An autoencoder on one layer of SmolLM2, and features that steer.
* ``project_solution``: The same autoencoder, written out: one way to solve the project.
"""
