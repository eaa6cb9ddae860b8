"""What serves the page 11-self-attention alone."""
