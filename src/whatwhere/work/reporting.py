"""Figures, claims and the page of results on disk; nothing is measured here.

A directory is a reproduction, a run, or any folder that holds the results of studies. ``baseline.json`` beside this
file lists which claims held before, by preset, so that a reproduction can serve as a regression test;
``tools/record_claims.py`` writes it. ``zoo`` is the preset of reproductions from the shipped models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whatwhere.store.documents import read_json
from whatwhere.store.manifest import Manifest
from whatwhere.studies import STUDIES
from whatwhere.studies.claim import Judged
from whatwhere.studies.evidence import evidence_of
from whatwhere.studies.judging import judge, write_claims
from whatwhere.studies.measuring import FIGURES, draw
from whatwhere.studies.result_places import is_reproduction, no_results, places_in
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress, no_progress
from whatwhere.studies.watched import WATCHED

BASELINE = Path(__file__).with_name("baseline.json")
PRESETS = ("smoke", "short", "paper", "zoo")


@dataclass(frozen=True)
class Report:
    """The files and verdicts of a report."""

    figures: list[Path] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    page: Path | None = None


def draw_places(
    directory: Path | str, labels: Sequence[str] | None = None, progress: Progress = no_progress
) -> list[Path]:
    """A job: draws the figures of a reproduction or run that show one result each, into ``DIR/figures``.

    Only those of the models with these ``labels`` (``""``: those that need none); all of the first seed by default.
    """
    directory = Path(directory)
    alone = not is_reproduction(directory)
    chosen = [
        results
        for place in places_in(directory)
        if (place.seed is None if labels is None else place.label in labels)
        for results in place.results()
    ]
    written: list[Path] = []
    for done, results in enumerate(chosen):
        progress(f"drawing {results.study.name}", done, len(chosen))
        suffix = "" if alone or results.name == results.study.name else f"-{results.name}"
        written += draw({results.name: results}, directory / FIGURES, suffix=suffix)
    return written


def draw_together(directory: Path | str, progress: Progress = no_progress) -> list[Path]:
    """A job: draws the figures that show several models, and those that show several seeds."""
    progress("drawing all models", 0, 1)
    directory, written = Path(directory), list[Path]()
    for name in STUDIES:
        found = {
            place: results
            for place in places_in(directory)
            if place.model is not None
            for results in place.results()
            if results.study.name == name
        }
        first = {place.label: results for place, results in found.items() if place.seed is None}
        every = {place.label: results for place, results in found.items()}
        if first:
            written += draw(first, directory / FIGURES, kind="models")
        if len(every) > len(first):
            written += draw(every, directory / FIGURES, kind="seeds")
    return written


def make_report(directory: Path, progress: Progress = no_progress) -> Report:
    """Draws everything, judges the claims (of a reproduction) and writes the page.

    Raises:
        WhatwhereError: there is nothing to report on, or a table is damaged.
    """
    if Manifest(directory).exists and Manifest(directory).record.kind == WATCHED.name:
        watched = Results.open(WATCHED, directory, WATCHED.name)
        return Report(draw({watched.name: watched}, directory / FIGURES))
    if not any(True for place in places_in(directory) for _ in place.results()):
        raise no_results(directory)
    figures = [*draw_places(directory, progress=progress), *draw_together(directory)]
    judged: list[Judged] = []
    if is_reproduction(directory):
        progress("judging the claims", 0, 1)
        judged = judge(evidence_of(directory))
        write_claims(directory, judged)
    from whatwhere.page import write_page

    progress("writing the page", 0, 1)
    return Report(figures, judged, write_page(directory))


def regressions(judged: Sequence[Judged], preset: str, path: Path = BASELINE) -> list[str]:
    """The claims that held in the recorded baseline of a preset and no longer do, in words; none without a record."""
    held = set(read_json(path, "the recorded baseline of the claims").get(preset, []))
    return [
        f"{one.claim.id} held in the baseline of {preset} and is now: {one.verdict}. {one.why}"
        for one in judged
        if one.claim.id in held and one.verdict != "holds"
    ]
