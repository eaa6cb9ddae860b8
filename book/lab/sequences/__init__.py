"""What serves the page 07-sequences alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on sequences: counts, states, and how far back either one
  reaches.
* ``demos``: Moving demos of recurrence: three steps of a state, and a weight raised to a
  power; their JavaScript is in the .js files.
* ``carried``: Evaluation of a recurrent model that never forgets: the state is carried through
  a text.
* ``copy_task``: How long can a recurrent network remember? One symbol, a delay, one question.
* ``recurrent``: Train an RNN, a GRU and an LSTM of about equally many weights on the same
  bytes.
* ``state_growth``: What is left of a change of the first state of a recurrent model, step by
  step.
* ``large_start``: An RNN that starts with recurrent weights 2.5 times too large, with and
  without clipping.
* ``project``: Grader of the project of this page: a character LSTM, its gradients and its
  samples.
* ``project_solution``: Reference solution of the project: a character LSTM, its gradients and
  its samples.
"""
