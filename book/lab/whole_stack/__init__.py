"""What serves the page 27-whole-stack alone."""
