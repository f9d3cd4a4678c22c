"""A shipped model as a run directory, so that every study of a run takes it: its history and its last checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import load_model
from whatwhere.store.documents import read_json
from whatwhere.store.files import read_bytes, whole_file
from whatwhere.training.config import TrainingConfig
from whatwhere.training.run import METRICS, Run, TestAccuracy
from whatwhere.zoo.load import SHIPPED_AT


def about(name: str) -> dict[str, Any]:
    """How a shipped model was made."""
    return read_json(SHIPPED_AT / name / "about.json", "the description of a shipped model")


def take(name: str, directory: Path) -> Run | None:
    """Writes a shipped model to a directory as the run that it came from, without the checkpoints before the last.

    Args:
        name: of the shipped model.
        directory: the run; what is there already is kept.

    Returns:
        The run, or None if it was there.

    Raises:
        WhatwhereError: another run is there.
    """
    made, run, home = about(name), Run(directory), SHIPPED_AT / name
    if run.exists:
        if run.about().get("shipped") != made["command"]:
            raise WhatwhereError(
                f"{directory}: expected the shipped model {name!r}, got another run. Leave --from-zoo out to go on "
                "with it, or choose another --out."
            )
        if run.steps() and run.test():
            return None
    else:
        run.create(TrainingConfig.from_dict(made["training"]), {"shipped": made["command"]})
    run.save_checkpoint(made["steps"], load_model(home / "model.safetensors"))
    run.manifest.put(METRICS, read_bytes(home / METRICS, "the learning curves of a shipped model"))
    run.write_test([TestAccuracy(made["steps"], **row) for row in made["test"]])
    for file in sorted((home / "dynamics").glob("*.*")):
        with whole_file(directory / "dynamics" / file.name) as beside:
            shutil.copyfile(file, beside)
    return run
