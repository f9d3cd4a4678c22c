"""Changes at inference, without training, whose length curves are drawn.

Closing planes asks which frequencies carry the length. The next three change what a position is: another base,
positions pressed into the trained range (interpolation), none at all (NoPE). Sharpening multiplies logits by
``log n / log n_0``. It undoes the dispersion of softmax over more keys (Section 3.6) and leaves the sign of every
margin as it was: so it tells the two causes of failure apart.
"""

from __future__ import annotations

import math

from whatwhere.model.gptj import GPTJ
from whatwhere.studies.geometry.gating import bands
from whatwhere.trace.interventions import ClosePlanes, Intervention, ScaleAngles, ScaleLogits

BASE_FACTOR = 10.0


def length_variations(model: GPTJ, trained: int, length: int) -> dict[str, Intervention]:
    """The changes by name, for inputs of one length.

    Args:
        model: what was trained.
        trained: tokens of the inputs that it was trained on.
        length: tokens of the inputs to come.
    """
    closed = bands(model, trained)
    planes = len(model.rotation.frequencies)
    # g_k = base^(-(k - 1) / planes), so a base that is larger by a factor slows plane k by its power.
    slower = tuple(BASE_FACTOR ** (-plane / planes) for plane in range(planes))
    return {
        **{f"{band} planes closed": ClosePlanes(closed[band]) for band in ("fast", "slow") if band in closed},
        f"rotary base x {BASE_FACTOR:g}": ScaleAngles(slower),
        "positions interpolated": ScaleAngles(trained / length),
        "no rotation": ScaleAngles(0.0),
        "logits sharpened": ScaleLogits(math.log(length) / math.log(trained)),
    }
