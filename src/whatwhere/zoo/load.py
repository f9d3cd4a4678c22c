"""Any model by name or path: a shipped one, a run, a checkpoint, a model directory, a hub name, a GGUF file."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import load_model
from whatwhere.model.gptj import GPTJ
from whatwhere.training.run import Run

if TYPE_CHECKING:
    from whatwhere.trace.rotary import RotaryModel

SHIPPED_AT = Path(__file__).parent
"""A directory for each shipped model: the model, how it was made, its learning curves and its scores along training."""
MODEL = "model.safetensors"
SHIPPED = ("number", "letter", "letter-control")
"""The authors' recipe on both tasks, and on leak-free letter data."""


_LONGEST = 255
"""Bytes of a file's name, at most, on the systems that we know."""


def is_shipped(name: str) -> bool:
    """Whether a name means a shipped model; a directory of that name with a model takes precedence."""
    return name in SHIPPED and not (Path(name) / "config.json").is_file()


def load(source: str | Path, step: int | None = None) -> GPTJ | RotaryModel:
    """Loads a model.

    Args:
        source: ``"number"``, ``"letter"`` or ``"letter-control"`` for the models that ship with the package, a run
            directory, a checkpoint file, a directory that ``save_pretrained`` wrote, the name of a model on the hub, or
            a GGUF file.
        step: which checkpoint of a run; the last by default.

    Raises:
        WhatwhereError: there is no such model, or its file is damaged.
    """
    if not isinstance(source, str | Path):
        raise WhatwhereError(
            f"expected the name of a model or a path, got a {type(source).__name__}; one that ships: load('number')."
        )
    path, name = Path(source), str(source)
    if any(len(os.fsencode(part)) > _LONGEST for part in path.parts):
        raise WhatwhereError(f"expected the name of a model or a path, got {name[:60]!r} ..., too long for either.")
    run = Run(path)
    if run.exists and run.manifest.exists:
        return run.load(step)
    if step is not None:
        raise WhatwhereError(f"expected a run directory, since step {step} was asked for; got {source}.")
    if is_shipped(name):
        return load_model(SHIPPED_AT / name / MODEL)
    if path.is_file() and path.suffix == ".safetensors":
        return load_model(path)
    from whatwhere.trace.open import load_rotary

    try:
        return load_rotary(name)
    except WhatwhereError as error:
        near = get_close_matches(name, SHIPPED, n=1)
        raise WhatwhereError(f"{error} Or did you mean {near[0]}, which ships?") if near else error from error
