"""What serves the page 22-reward-models alone."""
