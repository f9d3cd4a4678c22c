"""Any model of ours by name or path: a shipped one, a run, or one checkpoint."""

from __future__ import annotations

from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import load_model
from whatwhere.model.gptj import GPTJ
from whatwhere.training.run import Run

SHIPPED = ("number", "letter")
SHIPPED_AT = Path(__file__).parent
"""Where they lie: a directory each, with the model, its manifest, its metrics and its scores along training."""


def load(source: str | Path, step: int | None = None) -> GPTJ:
    """Loads a model.

    Args:
        source: ``"number"`` or ``"letter"`` for the models that ship with the package, a run directory, or a
            checkpoint file.
        step: which checkpoint of a run; the last by default.

    Raises:
        WhatwhereError: there is no such model, or its file is damaged.
    """
    path = Path(source)
    if path.is_dir() and (Run(path).exists or str(source) not in SHIPPED):
        return Run(path).load(step)
    if step is not None:
        raise WhatwhereError(f"step {step} was asked for, and {source} is not a run directory; leave the step out.")
    if path.is_file():
        return load_model(path)
    if str(source) in SHIPPED:
        return load_model(SHIPPED_AT / str(source) / "model.safetensors")
    raise WhatwhereError(
        f"a shipped model ({', '.join(SHIPPED)}), a run directory or a checkpoint file was expected, "
        f"and there is nothing at {source!s}."
    )
