"""What serves the page 21-fine-tuning alone."""
