"""The shipped models as run directories, with their history and results; further seeds ship without models."""

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
from whatwhere.zoo.load import MODEL, SHIPPED_AT


def about(name: str) -> dict[str, Any]:
    """How a shipped model was made."""
    return read_json(SHIPPED_AT / name / "about.json", "the description of a shipped model")


def further_seeds() -> list[str]:
    """The runs of other seeds, ``seeds/11/number``: claims are judged from their results, which ship as tables."""
    return sorted(path.parent.relative_to(SHIPPED_AT).as_posix() for path in SHIPPED_AT.glob("seeds/*/*/about.json"))


def take(name: str, directory: Path) -> Run | None:
    """Writes a shipped model to a directory as the run that it came from, without the earlier checkpoints.

    Args:
        name: of a shipped model, or one of :func:`further_seeds`, which has no model.
        directory: the run; existing files are kept.

    Returns:
        The run, or None if it exists already.

    Raises:
        WhatwhereError: the directory holds another run.
    """
    made, run, home = about(name), Run(directory), SHIPPED_AT / name
    results = [file.relative_to(home) for file in sorted(home.glob("*/*.*"))]
    if run.exists:
        if run.about().get("shipped") != made["command"]:
            raise WhatwhereError(
                f"{directory}: expected the shipped model {name!r}, got another run. Leave --from-zoo out to continue "
                "with it, or choose another --out."
            )
        if all((directory / file).is_file() for file in results):  # results are copied last
            return None
    else:
        run.create(TrainingConfig.from_dict(made["training"]), {"shipped": made["command"]})
    if (home / MODEL).is_file():
        run.save_checkpoint(made["steps"], load_model(home / MODEL))
    run.manifest.put(METRICS, read_bytes(home / METRICS, "the learning curves of a shipped model"))
    run.write_test([TestAccuracy(made["steps"], **row) for row in made["test"]])
    for file in results:
        with whole_file(directory / file) as beside:
            shutil.copyfile(home / file, beside)
    return run
