"""Numbers beyond which arithmetic on any machine fails."""

LARGEST_SEED = 2**63 - 1
"""Random generators take a signed 64-bit seed."""
LEAST_TAU = 1e-30
"""The smallest tau whose inverse fits in a float32; below it, a swap at distance 0 would give 0 times infinity."""
