"""The study geometry."""
