"""Weights of a transformers model, refused unless they are those that its configuration describes.

transformers fills what a checkpoint lacks with random numbers, which would be scored as if they had been trained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_SHOWN = 3
"""Names that an error lists."""


def load_weights(source: str, place: str, **options: Any) -> PreTrainedModel:
    """Loads a model for causal language modelling; code that comes with a checkpoint is never run.

    Args:
        source: what the user called it, for errors.
        place: what transformers calls it.
        options: further arguments of ``from_pretrained``.

    Raises:
        WhatwhereError: weights are missing, unexpected, of another shape, or not finite.
    """
    from transformers import AutoModelForCausalLM

    loaded: Any = AutoModelForCausalLM.from_pretrained(
        place, trust_remote_code=False, output_loading_info=True, ignore_mismatched_sizes=True, **options
    )
    model, report = loaded
    floats = [(name, weights) for name, weights in model.named_parameters() if weights.is_floating_point()]
    mismatched = [name if isinstance(name, str) else name[0] for name in report["mismatched_keys"]]
    for what, names in (
        ("are missing from it", report["missing_keys"]),
        ("are in it and not in its model", report["unexpected_keys"]),
        ("have another shape than its model", mismatched),
        (
            "are not finite (NaN or infinity)",
            [name for name, weights in floats if not bool(torch.isfinite(weights).all())],
        ),
    ):
        if names:
            listed = ", ".join(sorted(names)[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
            raise WhatwhereError(
                f"expected a checkpoint of {source} that holds the weights of its model, got one where {len(names)} "
                f"{what}: {listed}. Fetch it again, or mend its configuration."
            )
    return model
