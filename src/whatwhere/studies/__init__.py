"""One folder per question about a model, a run or the theory."""
