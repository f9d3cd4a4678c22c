"""Runs a study: opens its subject, measures what is missing, draws its figures."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from whatwhere.errors import WhatwhereError
from whatwhere.store.addresses import name_of_place
from whatwhere.store.files import whole_file
from whatwhere.store.locks import hold
from whatwhere.store.manifest import Existing
from whatwhere.store.tables import write_csv
from whatwhere.studies.results import Results, consistent_tables
from whatwhere.studies.study import Figure, Progress, Study, decisive, no_progress, resolve
from whatwhere.studies.subject import Opened

FIGURES = "figures"
"""The folder of the figures, next to the tables."""


def measure(
    study: Study,
    opened: Opened,
    settings: Any,
    directory: Path | None,
    *,
    existing: Existing = "keep",
    progress: Progress = no_progress,
    advice: str = "replace them with existing='replace', or choose another out",
) -> Results:
    """Measures what the results do not have yet.

    Args:
        study: the study.
        opened: its subject.
        settings: a record of the study's settings.
        directory: where the tables go; None keeps them in memory.
        existing: what to do with existing results. Those of other settings or of another model are an error
            (``keep``) or replaced (``replace``); those of the same settings stay, and continue if incomplete.
            ``discard`` replaces all. They are removed when the first new table is written. Results of a sweep are
            replaced when it has grown.
        progress: callback for progress.
        advice: what the error tells the user to do about other results.

    Raises:
        WhatwhereError: the directory holds other results, another process uses it, or the study raises an error.
    """
    results = Results(study, settings, opened.name, directory, opened.inputs)
    run = resolve(study.measure)
    if results.manifest is None:
        run(opened.item, settings, results, progress)
        return results
    manifest = results.manifest
    kept = decisive(settings)
    with hold(manifest.directory, study.name):
        grown = opened.grows and manifest.directory.parent == opened.home and manifest.is_made_with(study.name, kept)
        if grown and existing == "keep":
            existing = "replace"
        manifest.begin(study.name, kept, opened.inputs, existing=existing, advice=advice, held=True)
        if manifest.is_current(study.name, kept, opened.inputs):
            results.kept = True
            return results
        if manifest.has_lost_files():  # continuing from the remaining tables would leave these out
            manifest.begin(study.name, kept, opened.inputs, existing="discard", held=True)
        began = time.perf_counter()
        try:
            ended = run(opened.item, settings, results, progress)
        except BaseException:
            if manifest.record.files:  # an error before the first table leaves the directory unchanged
                manifest.pause(time.perf_counter() - began)
            raise
        seconds = time.perf_counter() - began
        if ended is False:  # the subject still grows
            manifest.pause(seconds)
        else:
            manifest.finish(seconds)
    return results


def draw(
    results: Mapping[str, Results], into: Path, *, kind: Literal["one", "models", "seeds"] = "one", suffix: str = ""
) -> list[Path]:
    """Draws the figures of a study, each as PDF and PNG, and writes their data as CSV.

    Args:
        results: one or several results of the same study, by name.
        into: the folder of the figures.
        kind: which figures: those of one result, of several models, or of several seeds.
        suffix: appended to the names of the files.

    Returns:
        The files.
    """
    from whatwhere.studies.style import save_figure, style

    study = next(iter(results.values())).study
    written: list[Path] = []
    for figure in study.figures:
        if figure.shows != kind or not all(one.has(name) for one in results.values() for name in figure.tables):
            continue
        with style(), consistent_tables(results.values()):
            written += save_figure(resolve(figure.draw)(results), into / f"{figure.name}{suffix}")
        written += _write_data(figure, results, into, suffix)
    return written


def _write_data(figure: Figure, results: Mapping[str, Results], into: Path, suffix: str) -> list[Path]:
    """Writes the tables of a figure; for several results, with a first column ``result``."""
    written = []
    for table in figure.tables:
        frames = {name: one.frame(table) for name, one in results.items()}
        several = figure.shows != "one"
        frame = pd.concat(frames, names=["result"]).reset_index(0) if several else next(iter(frames.values()))
        path = into / f"{figure.name}{suffix}{'' if len(figure.tables) == 1 else f'-{table}'}.csv"
        with whole_file(path) as beside:
            beside.write_bytes(write_csv(frame))
        written.append(path)
    return written


def study(
    name: str,
    source: Any = None,
    *,
    out: str | Path | None = None,
    step: int | None = None,
    existing: str = "keep",
    progress: bool = True,
    **settings: Any,
) -> Results:
    """Runs a study on a model, on a run or on the theory.

    Args:
        name: of the study, one of :data:`whatwhere.studies.STUDIES`, such as ``length``.
        source: a loaded model, or what the command takes: a shipped name, a directory, a checkpoint.
        out: the directory of the results, from which an interrupted study continues; in memory by default.
        step: which checkpoint of a run; the last by default.
        existing: what to do with results in ``out``: ``keep``, ``replace`` or ``discard``, as in :func:`measure`.
        progress: whether to show progress: a bar in a terminal or notebook, a line every half minute elsewhere.
        settings: the options of the command.

    Returns:
        The results: a mapping from table names to DataFrames with ``summary``, ``figures()`` and ``claims``.

    Raises:
        WhatwhereError: there is no such study, setting or model.
    """
    from whatwhere.studies import study_named
    from whatwhere.studies.progress_bar import Bar

    if existing not in ("keep", "replace", "discard"):
        raise WhatwhereError(f"expected existing to be keep, replace or discard, got {existing!r:.80}.")
    place = None if out is None else Path(name_of_place(out))
    asked = study_named(name)
    if source is None and asked.source is None and asked.subject.argument is not None:
        [given] = asked.example.split()[2:3] or ["NAME"]
        raise WhatwhereError(
            f"study {name!r}: expected a {asked.subject.argument}, got none; give one: study({name!r}, {given!r})."
        )
    chosen = asked.with_settings(**settings)  # checked before a model is loaded
    opened = asked.subject.open(source, step)
    directory = None if place is None else place / asked.name
    if not progress:
        return measure(asked, opened, chosen, directory, existing=existing)
    with Bar() as bar:
        return measure(asked, opened, chosen, directory, existing=existing, progress=bar.follow(name))
