"""What serves the page 19-pretraining alone."""
