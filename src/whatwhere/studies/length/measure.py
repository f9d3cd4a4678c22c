"""Length generalisation of a trained model, and whether margins foretell where it ends (Section 3.6, Figure 5B).

Inputs grow by extra target tokens put before the window, so that no distance on a path changes. ``DIR/length`` holds

    settings.json      model, task, inputs, seed
    accuracy.csv       accuracy by variation (as trained, or changed at inference), length and hop class
    hops.csv           margin and attention mass of every kind of hop, by length, layer and head, measured and foretold
    chain.csv          share of inputs for which all hops of the path hold, by length: what accuracy should be
    breaks.csv         the lengths at which these fall below 0.9 and one half

Tables are written after each length, and what they hold is not measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from whatwhere.errors import WhatwhereError
from whatwhere.model.gptj import GPTJ
from whatwhere.studies.length.breaks import break_rows
from whatwhere.studies.length.forecast import foretell_hops
from whatwhere.studies.length.hop_strength import HopStrength, measure_hops
from whatwhere.studies.length.hop_tables import ChainRow, HopRow, chain_rows, hop_rows, working_cells
from whatwhere.studies.length.variations import Variation, length_variations
from whatwhere.studies.mechanism.accuracy import shares_by_hop
from whatwhere.studies.results import Results, fingerprint
from whatwhere.tasks.task import Task

LENGTHS = (17, 25, 33, 49, 65, 97, 145, 217, 325, 500, 700, 850, 1000)
VARIED_LENGTHS = (17, 33, 65, 145, 325, 850)
"""Where the variations are measured: fewer, as there are several of them."""
FORETOLD_INPUTS = 256
Row = TypeVar("Row", HopRow, ChainRow)


@dataclass(frozen=True)
class LengthAccuracy:
    """Accuracy of one hop class at one length."""

    variation: str
    length: int
    hop: int
    """0 for the mean over hop classes."""
    accuracy: float
    low: float
    high: float
    inputs: int


@dataclass(frozen=True)
class LengthPlan:
    """What is measured."""

    inputs: int = 2000
    """Sequences at short lengths; longer ones get fewer, see :meth:`sequences`."""
    seed: int = 0
    lengths: tuple[int, ...] = LENGTHS
    varied_lengths: tuple[int, ...] = VARIED_LENGTHS
    variations: bool = True

    def __post_init__(self) -> None:
        if self.inputs < 16:
            raise WhatwhereError(f"at least 16 inputs were expected, and {self.inputs} were asked for.")

    def sequences(self, length: int, *, varied: bool = False) -> int:
        """How many sequences: about 32 tokens for each of ``inputs``, and never below an eighth of them.

        Variations get a quarter of that, and at least a sixth of the fewest.
        """
        most = self.inputs // 4 if varied else self.inputs
        return max(min(most, 32 * most // length), self.inputs // 48 if varied else self.inputs // 8, 1)


def measure_length(
    model: GPTJ,
    task: Task,
    directory: Path,
    plan: LengthPlan = LengthPlan(),  # noqa: B008 (frozen)
    *,
    force: bool = False,
    observer: Callable[[str, int, int], None] = lambda _what, _done, _total: None,
) -> Results:
    """Measures every length that is not on disk yet.

    Args:
        model: what was trained.
        task: its task; its own length comes first, and shorter ones are left out.
        directory: where the results go, in ``length``.
        plan: lengths and counts.
        force: replace results made with other settings.
        observer: called before each part with its name, and the tokens seen and to be seen.

    Raises:
        WhatwhereError: there are results made with other settings.
    """
    lengths = [task.length, *(n for n in plan.lengths if n > task.length)]
    varied = [task.length, *(n for n in plan.varied_lengths if n > task.length)]
    results = Results(directory / "length")
    settings = {"model": fingerprint(model), "task": task.to_dict(), "inputs": plan.inputs, "seed": plan.seed}
    results.begin(settings, force=force)
    parts = [(Variation(), n) for n in lengths]
    if plan.variations:
        parts += [(variation, n) for n in varied for variation in length_variations(model, task.length)[1:]]
    accuracy = results.read("accuracy", LengthAccuracy) if results.has("accuracy") else []
    known = {(row.variation, row.length) for row in accuracy}
    missing = [(variation, n) for variation, n in parts if (variation.name, n) not in known]
    total = sum(plan.sequences(n, varied=variation != Variation()) * n for variation, n in missing)
    done = 0
    for variation, n in missing:
        count = plan.sequences(n, varied=variation != Variation())
        observer(f"{variation.name}, length {n}", done, total)
        batch = task.sample(count, seed=plan.seed, extra_target=n - task.length)
        if variation == Variation():
            strength = measure_hops(model, task, batch)
            right = strength.right
            _keep_hops(results, model, task, strength, batch.hops, n, plan, lengths)
        else:
            right = variation.apply(model, n, task.length).predict(batch.tokens) == batch.answers
        accuracy += [LengthAccuracy(variation.name, n, *row) for row in shares_by_hop(right, batch.hops)]
        results.write("accuracy", accuracy)
        done += count * n
    observer("lengths measured", done, total)
    measured = [row for row in accuracy if row.variation == Variation().name]
    chain = results.read("chain", ChainRow) if results.has("chain") else []
    results.write("breaks", break_rows(measured, results.read("hops", HopRow), chain))
    return results


def _earlier(results: Results, table: str, kind: type[Row], task: Task, length: int) -> list[Row]:
    """The rows of other lengths; measuring the training length begins the table anew."""
    if length == task.length or not results.has(table):
        return []
    return [row for row in results.read(table, kind) if (row.length, row.source) != (length, "measured")]


def _keep_hops(
    results: Results,
    model: GPTJ,
    task: Task,
    strength: HopStrength,
    hops: np.ndarray,
    length: int,
    plan: LengthPlan,
    lengths: Sequence[int],
) -> None:
    """Adds the hops of one length to the tables; at the training length, the forecast for all lengths too."""
    table: list[HopRow] = _earlier(results, "hops", HopRow, task, length)
    chain: list[ChainRow] = _earlier(results, "chain", ChainRow, task, length)
    table += hop_rows("measured", length, strength, plan.seed)
    working = working_cells(table, task.length)
    chain += chain_rows("measured", length, strength, hops, working)
    if length == task.length and working:
        batch = task.sample(min(plan.inputs, FORETOLD_INPUTS), seed=plan.seed)
        for n, foretold in foretell_hops(model, task, batch, lengths, working, plan.seed).items():
            table += hop_rows("foretold", n, foretold, plan.seed)
            chain += chain_rows("foretold", n, foretold, batch.hops, working)
    # Hops before accuracy: a length counts as measured once its accuracy is there.
    results.write("hops", table)
    if chain:
        results.write("chain", chain)
