"""The study watched."""
