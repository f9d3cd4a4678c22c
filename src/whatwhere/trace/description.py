"""What a model directory says of itself, checked before transformers builds anything of it.

A configuration may claim a million layers, and building them takes for ever even without weights. Weights of another
size than the configuration describes would be filled with random numbers first and refused afterwards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from whatwhere.errors import WhatwhereError

MOST_PARTS = 4096
"""Layers or experts of a model; the largest models have some hundreds."""
_PARTS = re.compile(r"layers?$|experts$|blocks?$")
_PACKED = 64
"""Numbers that one stored number may stand for: quantised weights are packed, and experts may share theirs."""


def check_description(source: str, content: object) -> None:
    """Refuses a ``config.json`` that is no object, or that claims absurdly many layers or experts."""
    if not isinstance(content, Mapping):
        raise WhatwhereError(
            f"expected a JSON object in the config.json of {source}, got {content!r:.60}; fetch it again."
        )
    for name, count in _counts(content):
        if count > MOST_PARTS:
            raise WhatwhereError(
                f"expected {name} of at most {MOST_PARTS:,} in the config.json of {source}, got {count:,.0f}; mend it, "
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
    """Refuses a directory without safetensors, or whose files hold far fewer numbers than its configuration describes.

    ``weights`` is how many it describes; ``source`` is what the user called the model.
    """
    files = sorted(place.glob("*.safetensors"))
    if not files:
        pickles = sorted(path.name for path in (*place.glob("*.bin"), *place.glob("*.pt*")))
        raise WhatwhereError(
            f"expected weights as safetensors in {source}, got "
            + (f"{pickles[0]}, a pickle, which could run code when it is read. Load it" if pickles else "none. Save it")
            + " where you trust it, and write it with model.save_pretrained(DIR)."
        )
    held = sum(_numbers(path) for path in files)
    if weights > _PACKED * held:
        raise WhatwhereError(
            f"expected weights of {source} as its config.json describes them ({weights:,} numbers), got {held:,}; mend "
            "the sizes in config.json, or fetch it again."
        )


def _numbers(path: Path) -> int:
    try:
        with safe_open(path, framework="numpy") as opened:
            shapes = [opened.get_slice(name).get_shape() for name in opened.keys()]  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError) as error:
        raise WhatwhereError(f"{path} is not a whole safetensors file: {error}. Fetch it again.") from error
    return sum(map(math.prod, shapes))
