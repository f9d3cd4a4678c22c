"""The functions of jobs: train a run, take a shipped model, run a study. Each continues from what is on disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whatwhere.errors import WhatwhereError
from whatwhere.store.addresses import local
from whatwhere.studies import study_named
from whatwhere.studies.measuring import measure
from whatwhere.studies.study import Progress
from whatwhere.training.config import TrainingConfig
from whatwhere.training.evaluate import measure_on_test_split
from whatwhere.training.loop import train
from whatwhere.training.run import Run

KEPT = "kept"
"""The result of a job that found everything up to date."""


def train_run(progress: Progress, directory: str, config: Mapping[str, Any]) -> str | None:
    """Trains a run to its end and measures it on the test split."""
    run = open_or_create(Path(local(directory)), TrainingConfig.from_dict(config))
    if run.ended and run.test():
        return KEPT

    def observe(step: Any) -> None:
        hops = " ".join(f"{accuracy:.2f}" for accuracy in step.by_hop) or "-"
        progress(f"{step.phase}, accuracy by hops {hops}", step.step, step.steps)

    train(run, observe)
    progress("test split", run.config.schedule.steps, run.config.schedule.steps)
    measure_on_test_split(run)
    return None


def open_or_create(directory: Path, config: TrainingConfig) -> Run:
    """The run of a configuration, created if it does not exist."""
    run = Run(directory)
    if not run.exists:
        run.create(config)
    elif run.config.decisive() != config.decisive():
        raise WhatwhereError(
            f"{directory}: expected a run with preset {config.preset!r} and seed {config.seed}, got another one "
            f"(preset {run.config.preset!r}, seed {run.config.seed}). Choose another --out."
        )
    return run


def take_shipped(progress: Progress, directory: str, name: str) -> str | None:
    """Copies a shipped model with its history into a run directory."""
    from whatwhere.zoo.take import take

    progress("copying", 0, 1)
    return KEPT if take(name, Path(local(directory))) is None else None


def run_study(
    progress: Progress, study: str, source: str | None, directory: str, settings: Mapping[str, Any]
) -> str | None:
    """Measures one study; results of other settings or of another model are replaced."""
    asked = study_named(study)
    place = Path(local(directory))
    opened = asked.subject.open(None if source is None else local(source))
    chosen = asked.with_settings(**settings)
    return KEPT if measure(asked, opened, chosen, place, existing="replace", progress=progress).kept else None
