"""The study chat."""
