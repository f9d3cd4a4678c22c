"""Numbers beyond which arithmetic on any machine fails."""

LARGEST_SEED = 2**63 - 1
"""Random generators take 64 bits, one of them for the sign."""
LEAST_TAU = 1e-30
"""Its inverse is still a float32; swaps at distance 0 would otherwise weigh 0 times infinity."""
