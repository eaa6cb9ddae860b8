"""Experiments of the page on distillation."""
