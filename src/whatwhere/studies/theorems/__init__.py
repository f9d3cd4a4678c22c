"""The study theorems."""
