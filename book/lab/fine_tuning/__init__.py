"""What serves the page 21-fine-tuning alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on fine-tuning: what is gained, what is forgotten, and
  why.
* ``demos``: Moving demos on fine-tuning: what of a chat is learned, and three ways of holding
  on; their JavaScript is in the .js files.
* ``answer_rules``: Three rules of what is learned from a chat, and a tuned model asked whether
  it can stop.
* ``answer_study``: Rules of what is learned from a chat, and what a pretrained start is worth
  in examples.
* ``equal_gain``: Full tuning and LoRA compared at equal gain, with the turn markers trained in
  every arm.
* ``fine_tuning``: Some ways of tuning the GPT of the plays side by side, within seconds.
* ``fine_tuning_chats``: The conversations and windows that the fine-tuning studies read.
* ``fine_tuning_line``: The straight line from a base to a tuned model, and the spectra of what
  separates them.
* ``fine_tuning_measures``: What a tuned model gained, and what it forgot: three measures of
  one model.
* ``fine_tuning_methods``: Ways of tuning a model that already knows something, each ready for
  the same training loop.
* ``fine_tuning_own_texts``: Texts that a model writes, on which another one is compared with
  it.
* ``fine_tuning_run``: One way of tuning, run for some steps and measured on the way.
* ``fine_tuning_search``: Pieces of a study that are kept, and what is chosen and averaged over
  them.
* ``fine_tuning_smollm2``: What a few steps of tuning gain and forget of SmolLM2, and the
  spectra of the full update.
* ``fine_tuning_starts``: What each way of tuning does to a model before the first step.
* ``fine_tuning_study``: What every way of tuning gains and forgets at the same steps on the
  same examples.
* ``fine_tuning_tasks``: What the fine-tuning studies teach to which model, and what they
  measure it on.
* ``forgetting``: What moving costs near a minimum, and what each way of holding on moves less.
* ``project``: Grader of the project of this page: conversations packed into rows, and their
  mean loss.
* ``project_solution``: Reference solution of the project of this page.
"""
