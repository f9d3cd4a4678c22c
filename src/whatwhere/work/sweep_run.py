"""A sweep: many runs or models, measured by the same studies and collected in one table.

    DIR/items/NAME/       a run directory with its studies
    DIR/sweep.csv         one line per item: settings, status, accuracy, the outcomes of each study, what went wrong

An item is done when its run has ended and its studies are up to date; it is then skipped. So a sweep that was
interrupted, or whose specification grew, continues with what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from whatwhere.errors import WhatwhereError
from whatwhere.store.addresses import local
from whatwhere.store.files import write_bytes
from whatwhere.store.manifest import Manifest
from whatwhere.store.tables import write_csv
from whatwhere.studies import study_named
from whatwhere.studies.results import Results, consistent_tables
from whatwhere.studies.study import Progress, decisive, resolve
from whatwhere.training.run import Run
from whatwhere.work.executor import Executor, Job, Observer, run_jobs
from whatwhere.work.jobs import open_or_create, run_study, train_run
from whatwhere.work.sweep_spec import Item

TABLE = "sweep.csv"
NEEDED = ("items/*/*.csv", "items/*/*.json", "items/*/*/*.csv", "items/*/*/manifest.json", TABLE)
"""The files of items that the sweep itself reads."""


class Sweep:
    """The items of a sweep and the directory that collects them.

    Args:
        items: the items, with different names.
        directory: the directory of the sweep; it need not exist yet.
        address: the same place as the workers see it, if it is not a path.
    """

    def __init__(self, items: Sequence[Item], directory: Path, address: str | None = None) -> None:
        self.items = list(items)
        self.directory, self.address = directory, (address or str(directory)).rstrip("/")
        self.failures: dict[str, str] = {}

    def check(self) -> None:
        """Raises an error if the directory holds other runs under the same names."""
        for item in self.items:
            config, directory = item.training, self._directory(item)
            if config is not None and Run(directory).exists:
                open_or_create(directory, config)

    def run(self, executor: Executor, retries: int, observer: Observer = lambda _job, _event, _about: None) -> None:
        """Runs the items that are not done; a failed item is retried, then reported, and does not stop the others."""

        def observe(job: Job, event: Any, about: Any) -> None:
            if event == "failed":
                self.failures[job.name] = str(about).strip().splitlines()[-1]
            observer(job, event, about)
            if event in ("done", "failed"):
                self.collect()

        # A model that was not trained here may have changed: its job checks that, and keeps up-to-date results.
        jobs = [self._job(item) for item in self.items if item.config is None or not self._is_done(item)]
        run_jobs(jobs, executor, observe, retries=retries, keep_going=True)
        self.collect()

    def collect(self) -> pd.DataFrame:
        """Writes the table from the existing results."""
        rows = []
        for item in self.items:
            failed = item.name in self.failures
            done = not failed and self._is_done(item)
            status = "failed" if failed else "done" if done else "waiting"
            found = self._row(item) if done else {}
            rows.append({"item": item.name, "status": status, **item.settings, **found})
        table = pd.DataFrame(rows)
        table["problem"] = [self.failures.get(item.name, "") for item in self.items]
        write_bytes(self.directory / TABLE, write_csv(table))
        return table

    def _job(self, item: Item) -> Job:
        arguments = {
            "directory": f"{self.address}/items/{item.name}",
            "config": item.config,
            "source": item.settings.get("model"),
            "measures": item.measures,
        }
        config = item.training
        return Job(item.name, item.name, "whatwhere.work.sweep_run:do_item", arguments,
                   gpu=config is not None and config.device == "cuda")  # fmt: skip

    def _directory(self, item: Item) -> Path:
        return self.directory / "items" / item.name

    def _is_done(self, item: Item) -> bool:
        directory = self._directory(item)
        try:
            if item.config is not None and not (Run(directory).exists and Run(directory).test()):
                return False
            for name, settings in item.measures.items():
                manifest, wanted = Manifest(directory / name), decisive(study_named(name).with_settings(**settings))
                if not (manifest.exists and manifest.is_current(name, wanted, manifest.record.inputs)):
                    return False
            return True
        except WhatwhereError:
            return False  # damaged results are made again

    def _row(self, item: Item) -> dict[str, Any]:
        directory, row = self._directory(item), {}
        if item.config is not None:
            run = Run(directory)
            test = run.test()
            row |= {"steps": test[0].step, "seconds": run.metrics()[-1]["seconds"]}
            row |= {"accuracy": float(np.mean([one.accuracy for one in test]))}
            row |= {f"accuracy_hop{one.hop}": one.accuracy for one in test}
        for name in item.measures:
            study = study_named(name)
            if study.outcomes is not None:
                results = Results.open(study, directory / name, item.name)
                with consistent_tables([results]):
                    found = resolve(study.outcomes)(results)
                row |= {f"{name}_{key}": value for key, value in found.items()}
        return row


def do_item(
    progress: Progress,
    directory: str,
    config: Mapping[str, Any] | None,
    source: str | None,
    measures: Mapping[str, Mapping[str, Any]],
) -> None:
    """A job: trains one item if necessary, and measures it."""
    place = local(directory)
    if config is not None:
        train_run(progress, place, config)
    for name, settings in measures.items():
        run_study(progress, name, place if source is None else source, f"{place}/{name}", settings)
