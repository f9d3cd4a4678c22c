"""Collects a sweep into tables of outcomes, verdicts and curves, or reads the shipped ones, and derives the others."""

from __future__ import annotations

from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.files import read_bytes
from whatwhere.store.tables import from_frame, read_csv
from whatwhere.studies.atlas.claim_map import claim_map, judged_claims
from whatwhere.studies.atlas.factors import OTHER_RECIPE, changes_of, item_of
from whatwhere.studies.atlas.item_outcomes import Numbers, curve_of, outcomes_of
from whatwhere.studies.atlas.item_verdicts import as_asked_today, judge_items
from whatwhere.studies.atlas.seed_effects import effects, recipes, values_of
from whatwhere.studies.atlas.seven_questions import Answered, answers
from whatwhere.studies.atlas.sweep_items import DoneItem, read_items
from whatwhere.studies.atlas.tables import AtlasSettings, Effect, Item, ItemVerdict, Outcome, Point
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.studies.subject import SWEEP_TABLE

SHIPPED = {"items": Item, "outcomes": Outcome, "verdicts": ItemVerdict, "curves": Point}
"""The tables that ship, as plain CSV."""


def measure(directory: Path, settings: AtlasSettings, results: Results, progress: Progress) -> None:
    """Reads the items, then computes effects, the map and the answers.

    Raises:
        WhatwhereError: there are no items, or a table is damaged.
    """
    if (directory / SWEEP_TABLE).is_file():
        _collect(directory, settings, results, progress)
    else:
        _take_shipped(directory, results)
    items, verdicts = results.rows("items", Item), results.rows("verdicts", ItemVerdict)
    outcomes = results.rows("outcomes", Outcome)
    values = values_of(items, outcomes)
    results.write("effects", effects(values))
    results.write("recipes", recipes(values))
    results.write("map", claim_map(items, verdicts, judged_claims()))
    anchors = {item.item for item in items if OTHER_RECIPE in changes_of(item.condition)}  # predictions came from these
    items = [item for item in items if item.item not in anchors]
    values = values_of(items, [row for row in outcomes if row.item not in anchors])
    verdicts = [row for row in verdicts if row.item not in anchors]
    found = Answered(items, values, verdicts, results.rows("effects", Effect))
    results.write("answers", answers(found))


def _take_shipped(directory: Path, results: Results) -> None:
    for name, kind in SHIPPED.items():
        path = directory / f"{name}.csv"
        if not path.is_file():
            raise WhatwhereError(
                f"expected the tables of an atlas at {directory}, got no {path.name}: none ships with this version. "
                "Make one with: whatwhere sweep atlas --out DIR, then: whatwhere atlas DIR"
            )
        what = f"the shipped table {name!r}"
        rows = from_frame(kind, read_csv(kind, read_bytes(path, what), what))
        results.write(name, as_asked_today(rows, judged_claims()) if name == "verdicts" else rows)
    results.write("missing", [])


def _collect(directory: Path, settings: AtlasSettings, results: Results, progress: Progress) -> None:
    """The tables of a sweep, item by item."""

    def read(one: DoneItem) -> tuple[Numbers, list[Point]]:
        return outcomes_of(one.run, one.studies), curve_of(one.name, one.studies["dynamics"], settings.points)

    done, missing = read_items(directory, read, progress)
    items = [item_of(one.name, one.run.config, bool(numbers["learned"])) for one, (numbers, _) in done]
    results.write("items", items)
    results.write("missing", missing)
    results.write("outcomes", [Outcome(one.name, *pair) for one, (numbers, _) in done for pair in numbers.items()])
    results.write("curves", [point for _, (_, points) in done for point in points])
    studies = {one.name: one.studies for one, _ in done}
    results.write("verdicts", judge_items(items, studies, judged_claims(), progress))
