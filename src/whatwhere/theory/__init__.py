"""The theorems, as weights that run and bounds that are checked."""
