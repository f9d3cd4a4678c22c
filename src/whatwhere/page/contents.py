"""The data of a page, read from disk without new computation; missing results are listed with their commands.

Tables are stored by column, ``{"step": [0, 1], "loss": [4.9, 4.8]}``, which is small and keeps every digit of the CSV.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import plain, read_json
from whatwhere.store.manifest import Manifest
from whatwhere.studies import STUDIES, study_named
from whatwhere.studies.claim import KINDS, VERDICTS
from whatwhere.studies.evidence import command_for
from whatwhere.studies.result_places import Place, is_reproduction, no_results, places_in
from whatwhere.studies.results import Results, consistent_tables
from whatwhere.studies.study import resolve
from whatwhere.studies.subject import ALONE
from whatwhere.tasks import task_from_dict
from whatwhere.tasks.task import Task
from whatwhere.training.run import Run

STARTS = 3
"""Sequences of each hop class that the sequence explorer can start from."""
CLAIMS, TIMES = "claims.json", "timing.csv"
NO_MODEL = ""
"""The key of results that belong to no model."""


def collect(directory: Path) -> tuple[dict[str, Any], list[str]]:
    """The data of the page of a reproduction, a run or a folder of results.

    Returns:
        The data, and the scripts of the studies that have a part of the page.

    Raises:
        WhatwhereError: there are no results, or a file is damaged.
    """
    whole = is_reproduction(directory)
    places = places_in(directory)
    found = {place: list(place.results()) for place in places if place.seed is None}
    studies = {results.study.name: results.study for each in found.values() for results in each}
    if not studies and not any(Run(place.path).exists for place in found):
        raise no_results(directory)
    models: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for place, results in found.items():
        name = place.model or _model_name(place.path, results)
        for one in results:
            of_none = one.study.subject.argument is None or (whole and place.model is None)
            about = NO_MODEL if of_none else name
            tables.setdefault(about, {})[one.study.name] = _content(one)
        if place.model or name in tables:
            models[name] = _model(place, results, [other for other in places if other.model == place.model])
    [only] = list(studies.values()) if len(studies) == 1 and not whole and not Run(directory).exists else [None]
    claims = directory / CLAIMS
    data = {
        "name": directory.resolve().name if only is None else " ".join(filter(None, (only.name, *models))),
        "kind": "reproduction" if whole else "run" if Run(directory).exists else "study",
        "heading": None if only is None else only.question,
        "paper": None if only is None else only.paper,
        "models": models,
        "results": tables,
        **(_claims(claims) if whole and claims.is_file() else {"claims": None}),
        "timing": _timing(directory),
        "missing": _missing(directory, found, whole=whole),
    }
    asked = [study_named(name) for name in STUDIES if name in studies or data["kind"] != "study"]
    return data, [study.page for study in asked if study.page is not None]


def _model_name(path: Path, results: Sequence[Results]) -> str:
    """The name of a model in a folder of results: that of its task, or of the folder."""
    tasks = [one.inputs["task"]["name"] for one in results if "task" in one.inputs]
    path = path.resolve()
    folder = path.parent if path.name in STUDIES else path
    return tasks[0] if tasks else folder.name.removeprefix(ALONE)


def _content(results: Results) -> dict[str, Any]:
    """The tables of one study that its part of the page reads, and its other data."""
    study = results.study
    complete = results.manifest is not None and results.manifest.record.complete
    with consistent_tables([results]):
        return {
            "settings": plain(results.settings),
            "tables": {name: by_column(results[name]) for name in study.page_tables if results.has(name)},
            "extra": resolve(study.page_data)(results) if study.page_data is not None and complete else None,
        }


def by_column(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """A table as lists; undefined cells are None."""
    return frame.astype(object).where(frame.notna(), None).to_dict("list")  # pyright: ignore[reportReturnType]


def _model(place: Place, results: Sequence[Results], seeds: Sequence[Place]) -> dict[str, Any]:
    """A model's task with example sequences, its training, and the seeds that verdicts use."""
    run = Run(place.path)
    described = next((one.inputs["task"] for one in results if "task" in one.inputs), None)
    task = run.task if run.exists else None if described is None else task_from_dict(described)
    return {
        "task": None if task is None else plain(task.to_dict()) | _shown(task),
        "run": plain(run.about()) if run.exists else None,
        "seeds": [Run(one.path).config.seed for one in seeds if Run(one.path).exists],
    }


def _shown(task: Task) -> dict[str, Any]:
    """The data of the sequence explorer: sequences of the task."""
    batch = task.sample(STARTS * task.max_hops, seed=0)
    starts = [
        {"hops": int(hops), "tokens": task.decode(tokens).split()}
        for hops, tokens in zip(batch.hops, batch.tokens, strict=True)
    ]
    return {"length": task.length, "names": list(task.vocabulary.names), "starts": starts}


def _missing(directory: Path, found: dict[Place, list[Results]], *, whole: bool) -> list[dict[str, str]]:
    """Studies with a part of the page whose results are missing or incomplete."""
    missing = []
    for place, results in found.items():
        ended = {one.study.name: one.manifest.record.complete for one in results if one.manifest is not None}
        asked = "run" if place.model else "once" if whole else None
        for study in map(study_named, STUDIES):
            belongs = asked is not None and study.subject.part == asked
            if study.page is None or not (belongs or study.name in ended) or ended.get(study.name):
                continue
            home = next((one.directory.parent for one in results if one.study is study), place.path)
            name = ": ".join(filter(None, (place.label, study.name)))
            part = f"{name} (not ended)" if study.name in ended else name
            missing.append({"part": part, "command": command_for(study, home)})
    if whole:
        files = {"claims": CLAIMS, "times": TIMES}
        missing += [
            {"part": part, "command": f"whatwhere reproduce --out {directory}"}
            for part, file in files.items()
            if not (directory / file).is_file()
        ]
    return missing


def _timing(directory: Path) -> dict[str, list[Any]] | None:
    """The times of a reproduction, checked against its manifest."""
    manifest = Manifest(directory)
    if not manifest.exists or not manifest.has(TIMES):
        return None
    try:
        return by_column(pd.read_csv(io.BytesIO(manifest.get(TIMES, "the times"))))
    except ValueError as error:
        if isinstance(error, WhatwhereError):
            raise
        path = directory / TIMES
        raise WhatwhereError(f"{path} is damaged: {error!s:.200}. Remove it and run the reproduction again.") from error


def _claims(path: Path) -> dict[str, Any]:
    """The verdicts, the kinds of claims, and changes after a judgement."""
    content = read_json(path, "the claims")
    found = {"claims": content.get("claims"), "changes": content.get("changes", [])}
    for name, entries in found.items():
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise WhatwhereError(
                f"{path}: expected a list {name!r} of objects, got something else; run whatwhere report again."
            )
    return found | {"claim_kinds": KINDS, "verdicts": VERDICTS}
