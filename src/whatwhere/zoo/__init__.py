"""The three trained models that ship with the package, and loading of models."""
