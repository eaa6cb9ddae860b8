"""What serves the page guide-broken-runs alone.

* ``loop``: A training loop as one writes it oneself, with the switches that faults turn.
* ``healthy``: The healthy run of each kind: tiny models of bytes.
* ``faults``: Faults that are planted into healthy runs, and what a record can show of them.
* ``study``: Every planted fault and its healthy twin, from several seeds.
* ``columns``: Histories as columns of text, and what is said of the recorded runs.
* ``others``: Runs of other pages, by which no threshold was chosen.
* ``figures``: Small multiples: each fault against healthy runs.
"""
