"""What serves the page 03-probability alone."""
