"""What serves the page 19-training-at-scale alone."""
