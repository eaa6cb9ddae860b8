"""What serves the page 05-neural-networks alone."""
