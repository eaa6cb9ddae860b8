"""What serves the page 13-multi-head-attention alone."""
