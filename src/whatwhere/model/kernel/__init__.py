"""The compiled block of the model and its build."""
