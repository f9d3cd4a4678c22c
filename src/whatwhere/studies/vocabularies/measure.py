"""Reads the runs of a sweep, then computes what each size costs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from whatwhere.studies.atlas.item_outcomes import Numbers, outcomes_of
from whatwhere.studies.atlas.sweep_items import DoneItem, read_items
from whatwhere.studies.atlas.tables import Outcome
from whatwhere.studies.length.tables import AS_TRAINED, Accuracy
from whatwhere.studies.results import Results
from whatwhere.studies.study import Progress
from whatwhere.studies.vocabularies.doubling_costs import Doublings
from whatwhere.studies.vocabularies.run_factors import conditions_of, sizes_of
from whatwhere.studies.vocabularies.tables import OUTCOMES, STEPS, SizedRun, VocabulariesSettings, reach

_STEP = "step_hop"


def measure(directory: Path, settings: VocabulariesSettings, results: Results, progress: Progress) -> None:
    """Collects the runs that are done, and what is missing.

    Raises:
        WhatwhereError: none is done, or they differ in more than sizes and seed.
    """
    done, missing = read_items(directory, lambda one: _numbers(one, settings), progress, "runs")
    conditions = conditions_of({one.name: one.run.config for one, _ in done})
    runs = [_row(one, conditions[one.name], numbers) for one, numbers in done]
    outcomes = [Outcome(one.name, *pair) for one, numbers in done for pair in numbers.items()]
    results.write("runs", runs)
    results.write("missing", missing)
    results.write("outcomes", outcomes)
    found = Doublings(runs, outcomes)
    results.write("effects", found.effects())
    results.write("costs", found.costs())


def _numbers(one: DoneItem, settings: VocabulariesSettings) -> Numbers:
    """The outcomes of the atlas that are about learning, purity and reach, and those that compare lengths."""
    found = outcomes_of(one.run, one.studies)
    steps = [value for name, value in found.items() if name.startswith(_STEP)]
    kept = {name: value for name, value in found.items() if name in OUTCOMES or name.startswith(_STEP)}
    kept[STEPS] = float(one.run.config.schedule.steps) if any(map(math.isnan, steps)) else max(steps)
    if "length" in one.studies:
        rows = one.studies["length"].rows("accuracy", Accuracy)
        means = sorted(
            (row.length, row.accuracy.value) for row in rows if (row.variation, row.hop) == (AS_TRAINED, None)
        )
        lengths, values = zip(*means, strict=True)
        wanted = np.log([times * one.run.task.length for times in settings.multiples])
        # Linear between the lengths measured, in the logarithm of length; undefined beyond them.
        found_there = np.interp(wanted, np.log(lengths), values, right=math.nan)
        kept |= dict(zip(map(reach, settings.multiples), found_there.tolist(), strict=True))
    return kept


def _row(one: DoneItem, condition: str, numbers: Numbers) -> SizedRun:
    config, task = one.run.config, one.run.task
    return SizedRun(
        item=one.name, task=task.name, seed=config.seed, condition=condition, **sizes_of(task), tokens=task.length,
        names=task.vocab_size, learned=bool(numbers["learned"]), steps=numbers[STEPS],
        accuracy=numbers["test_accuracy"], pure_share=numbers["pure_share"],
        pure_positional=numbers["pure_positional"], pure_symbolic=numbers["pure_symbolic"],
        break_length=numbers.get("break_length", math.nan),
    )  # fmt: skip
