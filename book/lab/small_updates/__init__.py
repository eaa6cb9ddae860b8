"""What serves the page 21-small-updates alone."""
