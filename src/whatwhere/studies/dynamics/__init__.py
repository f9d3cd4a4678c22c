"""The study dynamics."""
