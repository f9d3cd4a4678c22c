"""Puts a run into the package: ``python tools/ship.py RUN [NAME]``.

What ships is the last model, its learning curves, the results of every study, and how it was made. Under a name such
as ``seeds/11/number`` the model is left out: the rest is evidence for claims.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import save_model
from whatwhere.store.documents import write_json
from whatwhere.store.files import whole_file, write_bytes
from whatwhere.store.manifest import Manifest
from whatwhere.studies import STUDIES
from whatwhere.training.evaluate import measure_on_test_split
from whatwhere.training.run import METRICS, Run
from whatwhere.zoo.load import MODEL, SHIPPED_AT


def ship(run: Run, destination: Path, name: str | None = None) -> Path:
    """Writes what ships of an ended and scored run to ``destination/NAME``.

    Args:
        run: the run.
        destination: the folder of what ships.
        name: the task's by default; ``seeds/SEED/NAME`` leaves out the model.

    Raises:
        WhatwhereError: the run has not ended, or was not scored.
    """
    if not run.ended:
        raise WhatwhereError(f"{run.directory} has not ended; continue with --resume first.")
    done = {study: Manifest(run.directory / study) for study in STUDIES if _is_complete(run.directory / study)}
    if "dynamics" not in done:
        raise WhatwhereError(f"{run.directory} was not scored; do it with: whatwhere dynamics {run.directory}")
    config, test, made = run.config, measure_on_test_split(run), run.about()
    home = destination / (name or config.task.name)
    if home.parent == destination:
        save_model(home / MODEL, run.load(), {"step": test[0].step})
    write_bytes(home / METRICS, run.manifest.get(METRICS, "the run's metrics"))
    for study, results in done.items():
        for file in (*results.record.files, results.path.name):
            with whole_file(home / study / file) as beside:
                shutil.copyfile(results.directory / file, beside)
    data = "".join(f" --{key} {value}" for key, value in config.task.to_dict().items() if key == "generator")
    command = f"whatwhere train {config.task.name}{data} --preset {config.preset} --seed {config.seed}"
    write_json(
        home / "about.json",
        {
            "command": f"{command} --threads {config.threads} --precision {config.precision}",
            "steps": test[0].step,
            "sequences": test[0].step * config.batch,
            "seconds": run.metrics()[-1]["seconds"],
            "test": [{key: value for key, value in asdict(row).items() if key != "step"} for row in test],
            "made_with": made["environment"],
            "training": made["training"],
        },
    )
    return home


def _is_complete(results: Path) -> bool:
    manifest = Manifest(results)
    return manifest.exists and manifest.record.complete


if __name__ == "__main__":
    try:
        directory, *names = sys.argv[1:]
        print(ship(Run(directory), SHIPPED_AT, *names))
    except WhatwhereError as error:
        sys.exit(f"whatwhere: {error}")
