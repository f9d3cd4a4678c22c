"""Puts the last model of a run into the package: ``python -m whatwhere.zoo.ship RUN``.

What ships is the model, its learning curves, its scores along training, and a manifest that tells how it was made.
"""

from __future__ import annotations

import sys
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.model.checkpoint import save_model
from whatwhere.store.storage import read_json, read_text, write_json, write_text
from whatwhere.training.evaluate import measure_on_test_split
from whatwhere.training.run import Run
from whatwhere.zoo.load import SHIPPED_AT


def ship(run: Run, destination: Path) -> Path:
    """Writes the last model of an ended and scored run, with its history, to ``destination/TASK``.

    Raises:
        WhatwhereError: the run has not ended, or was not scored.
    """
    if not run.ended:
        raise WhatwhereError(f"{run.directory} has not ended; go on with --resume first.")
    if not run.scores_path.is_file():
        raise WhatwhereError(f"{run.directory} has no scores; make them with: whatwhere score {run.directory}")
    config, measured = run.config, measure_on_test_split(run)
    home = destination / config.task.name
    save_model(home / "model.safetensors", run.load(), {"step": measured["step"]})
    for path in (run.metrics_path, run.scores_path):
        write_text(home / path.name, read_text(path, "a table of the run"))
    command = f"whatwhere train {config.task.name} --preset {config.preset} --seed {config.seed}"
    made = read_json(run.directory / "config.json", "the run's configuration")
    write_json(
        home / "manifest.json",
        {
            "command": f"{command} --threads {config.threads} --precision {config.precision}",
            "steps": measured["step"],
            "sequences": measured["step"] * config.batch,
            "seconds": measured["seconds"],
            "test_accuracy_by_hop": measured["accuracy_by_hop"],
            "test_sequences": measured["sequences"],
            "made_with": made["environment"],
            "training": made["training"],
        },
    )
    return home


if __name__ == "__main__":
    for directory in sys.argv[1:]:
        print(ship(Run(directory), SHIPPED_AT))
