"""What serves the page 12-transformer-block alone."""
