"""Tokens to logits, and the trace of what attention did on the way."""
