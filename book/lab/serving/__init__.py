"""What serves the page 20-serving alone.

* ``plot``: What the page calls plot: its figures, and the style.
* ``figures``: Figures of the page: timelines of batches, latency against load, gaps.
* ``pages``: A paged KV cache: fixed pages, shared prefixes, counted references.
* ``scheduler``: A server simulated step by step.
* ``formulas``: What queueing theory and counting say of a server.
* ``engines``: The same model in transformers, and from GGUF.
* ``step_study``: Seconds of steps of SmolLM2, measured.
* ``project``: Tests of a reader's paged cache.
* ``project_solution``: One way to solve the project.
"""
