"""What serves the page 15-transformer-forward alone."""
