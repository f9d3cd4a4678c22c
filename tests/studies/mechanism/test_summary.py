"""The text from tables that were written by hand, so that every number in it is known."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest
from rich.console import Console

from whatwhere.heads.estimate import UNDEFINED, Estimate
from whatwhere.studies.mechanism import MECHANISM, path_tables, tables
from whatwhere.studies.mechanism.summary import outcomes, shortcut_layers, summary
from whatwhere.studies.results import Results


def estimate(value: float, low: float = 0.1, high: float = 0.9, n: int = 100) -> Estimate:
    return Estimate(value, low, high, n)


ROWS: dict[str, list[Any]] = {
    "examples": [tables.Example(0, 1, "a b 2", "2 0", 2, "a", "b")],
    "verdicts": [tables.Verdict(0, 0, "index", estimate(0.9, 0.8, 0.95), "1", "1", "1", "confirmed")],
    "readout": [
        tables.Readable(1, 0, layer, estimate(value)) for layer, value in ((None, 0.0), (0, 0.25), (1, 1.0), (2, 1.0))
    ],
    "moves": [
        tables.Move(0, 0, 2, estimate(0.30, 0.22, 0.40)),
        tables.Move(0, 0, 1, estimate(0.70, 0.60, 0.78)),
        tables.Move(0, 0, None, estimate(0.50, 0.40, 0.60)),
        tables.Move(1, 0, 2, estimate(1.0, 0.34, 1.0, 2)),  # too few to count
        tables.Move(2, 0, 2, estimate(0.04, 0.01, 0.08)),  # too small
    ],
    "layers_used": [tables.LayersUsed(1, estimate(1.5, 1.4, 1.6), 1, estimate(0.0, 0.0, 0.04), 0)],
    "pointers": [
        tables.Pointer(None, 1, estimate(1.0, 0.96, 1.0), 0.1),
        tables.Pointer(3, 2, estimate(1.0, 0.96, 1.0), 0.1),
        tables.Pointer(3, 3, estimate(0.2), 0.1),
    ],
    "ablation": [
        tables.Ablation(0, 0, 1, estimate(1.0, 0.96, 1.0), estimate(0.125, 0.1, 0.15), 0.875, 1e-9, True),
        tables.Ablation(1, 0, 1, estimate(1.0, 0.96, 1.0), estimate(1.0, 0.96, 1.0), 0.0, 1.0, False),
    ],
    "groups": [
        tables.GroupAblation("kind", "all mixed", "1.0", 1, estimate(1.0), estimate(0.5), 0.5, 1e-9, True),
        tables.GroupAblation("all but", "all", "0.0 1.0", 1, estimate(1.0), estimate(0.99), 0.01, 0.5, False),
    ],
    "sufficient": [tables.SufficientSet(1, 1, 2, "0.0", estimate(0.99), estimate(0.97), estimate(1.0))],
    "patching": [
        tables.Patched(1, 1, 0, 0, estimate(0.2, 0.1, 0.4, 50), 50),
        tables.Patched(1, 1, 1, 0, estimate(1.0, 0.93, 1.0, 50), 50),
    ],
    "edges": [
        path_tables.Edge(1, None, None, 1, 0, 0, 0, estimate(0.4, 0.3, 0.5, 30), estimate(0.9, 0.8, 0.95, 30)),
        path_tables.Edge(1, 0, 0, 0, None, None, 0, estimate(0.6, 0.5, 0.7, 30), estimate(0.8, 0.7, 0.9, 30)),
        path_tables.Edge(1, 0, 0, 0, 1, 0, 0, estimate(0.6, 0.5, 0.7, 30), estimate(0.05, 0.0, 0.1, 30)),  # too small
    ],
    "selectivity": [
        path_tables.Selectivity(None, None, estimate(0.01, 0.0, 0.02, 70), estimate(0.3), estimate(0.97, 0.95, 0.99)),
        path_tables.Selectivity(0, 0, estimate(0.01, 0.0, 0.02, 70), UNDEFINED, UNDEFINED),
        path_tables.Selectivity(1, 0, UNDEFINED, UNDEFINED, UNDEFINED),  # looks nowhere
    ],
    "kinds": [tables.Kind(1, 0, "symbolic", estimate(0.1), estimate(0.9))],
    "keeping": [
        path_tables.Keeping(0, estimate(0.0), *[UNDEFINED] * 8),
        path_tables.Keeping(
            1,
            estimate(0.5),
            estimate(0.98),
            estimate(0.99),
            estimate(0.2),
            estimate(0.7),
            estimate(0.1),
            estimate(1.5),
            estimate(8.25),
            estimate(-0.5),
        ),
    ],
    "chains": [tables.Chain(1, True, estimate(1.0, 0.96, 1.0), 0.125), tables.Chain(2, False, estimate(0.5), 1.0)],
}


def written(**changed: list[Any]) -> Results:
    results = Results(MECHANISM, tables.MechanismSettings(inputs=100), "runs/number")
    for name, rows in (ROWS | changed).items():
        results.write(name, rows)
    return results


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_the_text_tells_each_number_with_its_interval_and_count() -> None:
    text = written().summary
    assert text.startswith("The mechanism of runs/number, on 100 inputs\n")
    assert max(map(len, text.splitlines())) <= 100
    for told in (
        "show the input a b 2. The answer of the model, b, is wrong, it is a.",
        "0.0 index .90 (.80-.95) 1 1 1 confirmed",
        "0 .25 (.10-.90) 1 1.00 (.10-.90) inputs 100",  # it ends where all is settled
        "layer 0: 2 hops .30 (.22-.40) of 100 answers",
        "1 1.50 (1.40-1.60) 1 .00 (.00-.04) 100",
        "address of p1 at once, p2 after layer 3, p3 never.",
        "none 1.00 (.96-1.00) 0.0 .12 (.10-.15)",
        "None of the other 1 heads is needed alone",
        "all mixed .50* all .99",
        "1 1 of 2 0 .99 (.10-.90) .97 (.10-.90) 1.00 (.10-.90)",
        "hop 1: layer 1, 1.00 (.93-1.00) of 50 pairs",
        "token at p1 0.0 at p0 .90 (.80-.95) .40 (.30-.50) 0.0 at p0 answer .80 (.70-.90) .60 (.50-.70)",
        "2 of 3 edges carry 0.1 or more",
        "all .01 (.00-.02) 70 .30 (.10-.90) 100 .97 (.95-.99) 0.0 .01 (.00-.02) 70 undefined 0 undefined before:",
        "1 symbolic .50 .98 .20 .70 .10 1.5/8.2/-0.5 .99 (.10-.90)",
        "1 1.00 (.96-1.00) 100 .12 trained",
        "2 .50 (.10-.90) 100 nothing hides the answer",
    ):
        assert told in squeezed(text), told


def test_no_cell_is_cut_in_a_terminal_of_80_columns() -> None:
    console = Console(width=80, file=io.StringIO(), record=True)
    for block in summary(written()):
        console.print(block)
    assert "…" not in console.export_text()


def test_a_model_that_needs_no_single_head_is_told_as_such() -> None:
    text = squeezed(written(ablation=ROWS["ablation"][1:]).summary)
    assert "None of the 1 heads is needed alone" in text


def test_shortcuts_are_layers_with_enough_far_looks() -> None:
    assert shortcut_layers(ROWS["moves"]) == [0]
    assert "no layer brings the answer from two or more" in written(moves=ROWS["moves"][1:]).summary


def test_patching_without_pairs_or_effect_says_so() -> None:
    none = tables.Patched(1, 1, 0, 0, Estimate(math.nan, math.nan, math.nan, 0), 0)
    assert "hop 1: no pairs" in written(patching=[none]).summary
    assert "hop 1: none, of 50 pairs" in written(patching=ROWS["patching"][:1]).summary


def test_a_sweep_shows_heads_and_layers() -> None:
    assert outcomes(written()) == {
        "needed_heads": 1, "sufficient_heads": 1, "layers_used": pytest.approx(1.5),
        "flow_in_time": pytest.approx(0.97),
    }  # fmt: skip
