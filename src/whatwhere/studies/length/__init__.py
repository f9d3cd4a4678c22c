"""The study length."""
