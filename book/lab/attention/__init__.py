"""What serves the page 10-attention alone."""
