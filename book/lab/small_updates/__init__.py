"""What serves the page 21-small-updates alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures on small updates: their size, their spectra, their step sizes, what
  merging loses.
* ``demos``: Moving demos on small updates: what LoRA takes, and what a rank keeps of a real
  update; their JavaScript is in the .js files.
* ``low_rank_cuts``: What is left of a tuned model when the updates of its matrices are cut to
  a low rank.
* ``low_rank_data``: What the GPT of the plays is tuned on in the study of low ranks: answers,
  and definitions.
* ``low_rank_long``: Long runs of the study of low ranks: spectra of whole updates, and a LoRA
  beside one.
* ``low_rank_merging``: What merging an update of low rank into its matrices loses, precision
  by precision.
* ``low_rank_study``: How low the rank of an update is, and how low LoRA's may be: spectra,
  sweeps and merging.
* ``low_rank_subspace``: Tuning all weights of a model together within few random directions.
* ``low_rank_tuning``: Tuning a GPT in full or by updates of low rank, for one step size or for
  several.
* ``project``: Grader of the project of this page, LoRA from scratch, and a run of it on
  SmolLM2.
* ``project_solution``: Reference solution of the project of this page: LoRA for one linear map.
* ``update_spectra``: The singular values of what training changed in a matrix, and what chance
  would give.
"""
