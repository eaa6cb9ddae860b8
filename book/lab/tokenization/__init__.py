"""What serves the page 08-tokenization alone."""
