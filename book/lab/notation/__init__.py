"""What serves the page 04-notation alone."""
