"""What serves the page 14-positional-encoding alone."""
