"""A shipped model as a run directory, so that every analysis of a run takes it: its history and its last checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whatwhere.store.storage import read_json, read_text, write_json, write_text
from whatwhere.training.run import Run
from whatwhere.zoo.load import SHIPPED_AT, load


def manifest(name: str) -> dict[str, Any]:
    """How a shipped model was made."""
    return read_json(SHIPPED_AT / name / "manifest.json", "the manifest of a shipped model")


def take(name: str, directory: Path) -> Run:
    """Writes a shipped model to a directory as the run that it came from, without the checkpoints before the last.

    Args:
        name: ``number`` or ``letter``.
        directory: the run; what is there is overwritten.
    """
    made, run = manifest(name), Run(directory)
    # First, as the other files are bound to it.
    write_json(
        run.directory / "config.json",
        {"training": made["training"], "environment": made["made_with"], "shipped": made["command"]},
    )
    run.save_checkpoint(made["steps"], load(SHIPPED_AT / name / "model.safetensors"))
    for path in (run.metrics_path, run.scores_path):
        write_text(path, read_text(SHIPPED_AT / name / path.name, "a table of a shipped model"))
    write_json(
        run.directory / "test.json",
        {
            "step": made["steps"],
            "accuracy_by_hop": made["test_accuracy_by_hop"],
            "sequences": made["test_sequences"],
            "seconds": made["seconds"],
        },
        run.owner,
    )
    return run


def is_shipped(run: Run) -> bool:
    """Whether a run was taken from the shipped models rather than trained where it lies."""
    return "shipped" in read_json(run.directory / "config.json", "the run's configuration")
