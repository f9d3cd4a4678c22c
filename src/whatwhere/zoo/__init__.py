"""The three trained models that ship with the package, and how any model of ours is loaded."""
