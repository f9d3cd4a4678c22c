"""From a trace to what a head does: scores, entropy, purity."""
