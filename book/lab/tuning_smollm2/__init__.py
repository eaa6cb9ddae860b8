"""What the page on tuning SmolLM2 on preferences alone needs."""
