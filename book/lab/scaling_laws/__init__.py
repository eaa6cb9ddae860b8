"""What serves the page 26-scaling-laws alone."""
