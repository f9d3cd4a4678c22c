"""Weights of a transformers model, checked against its configuration.

transformers fills missing weights with random numbers, which would be scored as if they had been trained. So the
configuration and the sizes of the weight files are checked before transformers builds the model: a configuration may
have a million layers by mistake, and building them would take very long even without weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open

from whatwhere.errors import WhatwhereError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_SHOWN = 3
"""Names that an error lists."""
MOST_PARTS = 4096
"""The most layers or experts of a model; the largest models have some hundreds."""
_PARTS = re.compile(r"layers?$|experts$|blocks?$")
_PACKED = 64
"""The most weights per stored number: quantised weights are packed, and experts may share weights."""


def load_weights(source: str, place: str, **options: Any) -> PreTrainedModel:
    """Loads a causal language model; code that comes with a checkpoint is never run.

    ``source`` is the user's name for it, for errors; ``place`` and ``options`` are for ``from_pretrained``.

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
                f"{what}: {listed}. Fetch it again, or fix its configuration."
            )
    return model


def check_description(source: str, content: object) -> None:
    """Raises an error for a ``config.json`` that is not an object, or has far too many layers or experts."""
    if not isinstance(content, Mapping):
        raise WhatwhereError(
            f"expected a JSON object in the config.json of {source}, got {content!r:.60}; fetch it again."
        )
    for name, count in _counts(content):
        if count > MOST_PARTS:
            raise WhatwhereError(
                f"expected {name} of at most {MOST_PARTS:,} in the config.json of {source}, got {count:,.0f}; fix it, "
                "or fetch it again."
            )


def _counts(content: Any) -> Iterator[tuple[str, float]]:
    """Numbers of layers and experts by name, in nested configurations too."""
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _counts(value)
        elif isinstance(value, int | float) and _PARTS.search(str(name)):
            yield str(name), value


def check_files(source: str, place: Path, weights: int) -> None:
    """Raises an error without safetensors, or if they hold far fewer numbers than the configuration describes.

    ``weights`` is the number that it describes; ``source`` is the user's name for the model.
    """
    files = sorted(place.glob("*.safetensors"))
    if not files:
        pickles = sorted(path.name for path in (*place.glob("*.bin"), *place.glob("*.pt*")))
        raise WhatwhereError(
            f"expected weights as safetensors in {source}, got "
            + (f"{pickles[0]}, a pickle, which could run code when it is read. Load it" if pickles else "none. Save it")
            + " where you trust it, and write it with model.save_pretrained(DIR)."
        )
    for path in files:
        if not path.is_file():
            raise WhatwhereError(f"expected weights as safetensors in {source}, got {path.name}, which is no file.")
    held = sum(_numbers(path) for path in files)
    if weights > _PACKED * held:
        raise WhatwhereError(
            f"expected weights of {source} as its config.json describes them ({weights:,} numbers), got {held:,}; fix "
            "the sizes in config.json, or fetch it again."
        )


def _numbers(path: Path) -> int:
    try:
        with safe_open(path, framework="numpy") as opened:
            shapes = [opened.get_slice(name).get_shape() for name in opened.keys()]  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError) as error:
        raise WhatwhereError(f"{path} is not a whole safetensors file: {error}. Fetch it again.") from error
    return sum(map(math.prod, shapes))
