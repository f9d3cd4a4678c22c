"""The study mechanism."""
