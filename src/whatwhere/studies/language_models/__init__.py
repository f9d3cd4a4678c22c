"""The study language_models."""
