"""The entropy of attention: in nats, as a share of its maximum, and along training.

Section "Learning dynamics": the entropy of the softmax of the logits at the last query, scaled per layer to its range
along training (erratum E25). That scaling hides the level (a layer that never sharpens spans 0 to 1 as well), so
the share of the maximum, ``H / log n``, is reported beside it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from torch import Tensor


def entropy_of(log_attention: Float[Tensor, "*any key"]) -> Float[Tensor, "*any"]:
    """Entropy in nats, from the log-softmax of the logits; minus infinity marks keys that cannot be seen."""
    return -(log_attention.exp() * log_attention.masked_fill(log_attention.isneginf(), 0)).sum(-1)


def entropy_share(entropy: Float[Tensor, "*any"], keys: Float[Tensor, "*#any"] | Tensor) -> Float[Tensor, "*any"]:
    """Entropy divided by its maximum over that many keys: 0 is one key, 1 is uniform; NaN if only one is visible."""
    return entropy / keys.log()


def min_max(series: Float[np.ndarray, "step *any"]) -> Float[np.ndarray, "step *any"]:
    """Each series along training, scaled to its own range, as in the paper's Figure 2B.

    A constant series has no range and is NaN throughout. NaN entries stay NaN and do not affect the others.
    """
    low = np.fmin.reduce(series, 0, initial=np.inf)  # fmin and fmax leave NaN out
    high = np.fmax.reduce(series, 0, initial=-np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (series - low) / (high - low)
