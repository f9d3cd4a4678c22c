"""The text from tables that were written by hand, so that every number in it is known."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest
from rich.console import Console

from whatwhere.heads.estimate import UNDEFINED, Estimate
from whatwhere.studies.mechanism import MECHANISM, path_tables, tables
from whatwhere.studies.mechanism.summary import outcomes, summary
from whatwhere.studies.results import Results


def estimate(value: float, low: float = 0.1, high: float = 0.9, n: int = 100) -> Estimate:
    return Estimate(value, low, high, n)


ROWS: dict[str, list[Any]] = {
    "examples": [tables.Example(0, 1, "a b 2", "2 0", 2, "a", "b")],
    "verdicts": [
        tables.Verdict(0, 0, "index", estimate(0.9, 0.8, 0.95), "1", "1", "1", "confirmed"),
        tables.Verdict(1, 0, "index", estimate(0.8), "1", "1", "", "not needed"),
        tables.Verdict(1, 1, "beyond", estimate(0.7), "", "", "", "idle"),
    ],
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
    "decoders": [
        path_tables.DecodedFlow(
            decoder, changed, estimate(0.01), estimate(0.3), share=estimate(share, 0.8, 0.9), unclear=UNDEFINED
        )
        for decoder, changed, share in (
            ("unembedding", "link", 0.97),
            ("probe", "link", 0.88),
            ("unembedding", "answer", 0.8),
            ("probe", "answer", 0.83),
        )
    ],
    "kinds": [
        tables.Kind(0, 0, "mixed", estimate(0.5), estimate(0.5)),
        tables.Kind(1, 0, "symbolic", estimate(0.1), estimate(0.9)),
        tables.Kind(1, 1, "positional", estimate(0.9), estimate(0.1)),
    ],
    "keeping": [
        path_tables.Keeping(0, estimate(0.0), *[UNDEFINED] * 8),
        path_tables.Keeping(1, estimate(0.5), estimate(0.97), estimate(0.99), *[estimate(0.5)] * 6),
        path_tables.Keeping(
            None,
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


def test_the_text_tells_each_head_and_answers_each_question() -> None:
    text = written().summary
    assert text.startswith("The mechanism of runs/number, on 100 inputs\n")
    assert max(map(len, text.splitlines())) <= 100
    for told in (
        "show the input a b 2. The answer of the model, b, is wrong, it is a.",
        "0.0 mixed index .90 .25 - 1.0 symbolic index .80 1.00 .99 1.1 positional beyond .70",
        "1 1 of 2 0 .97 (.10-.90) 1.00 (.10-.90)",
        "Needed alone: 0.0 by 1 hops of 2 heads (a loss above 0.05 with p < 0.001).",
        "Ablated by kind: accuracy by hops .50 without all mixed.",
        "at the last token: 1.5 for 1 hop.",
        "from two or more hops away .30 in layer 0.",
        "Patching: the last token carries a change of hop 1 after layer 1.",
        "of 3, the one from the token at p1 to 0.0 at p0 carries most of the answer, .90 (.80-.95).",
        "indexes, .97 (.95-.99) comes after the answer did; .88 (.80-.90) by a linear probe.",
        "stays through .98 of the layers; attention there goes to itself .20, to equal tokens .70, elsewhere .10.",
        "Chains longer than trained: accuracy .50 at 2 hops.",
    ):
        assert told in squeezed(text), told


def test_sufficient_heads_are_shown_on_inputs_that_the_search_has_not_seen() -> None:
    told = "1 1 of 2 0 .96 (.94-.98) .99 (.98-1.00)"
    assert told not in squeezed(written().summary)
    one = tables.ConfirmedSet(1, "0.0", estimate(0.96, 0.94, 0.98), estimate(0.99, 0.98, 1.0))
    assert told in squeezed(written(confirmed=[one]).summary)


def test_it_fits_on_a_screen() -> None:
    assert len(written().summary.splitlines()) < 50


def test_no_cell_is_cut_in_a_terminal_of_80_columns() -> None:
    console = Console(width=80, file=io.StringIO(), record=True)
    for block in summary(written()):
        console.print(block)
    assert "…" not in console.export_text()


def test_a_model_that_needs_no_single_head_is_told_as_such() -> None:
    assert "Needed alone: none of 1 head (" in squeezed(written(ablation=ROWS["ablation"][1:]).summary)


def test_shortcuts_are_layers_with_enough_far_looks() -> None:
    assert "two or more hops away .30 in layer 0." in squeezed(written().summary)
    assert "two or more hops away none." in squeezed(written(moves=ROWS["moves"][1:]).summary)


def test_patching_without_pairs_or_effect_says_so() -> None:
    none = tables.Patched(1, 1, 0, 0, Estimate(math.nan, math.nan, math.nan, 0), 0)
    assert "hop 1 no pairs." in written(patching=[none]).summary
    assert "hop 1 never." in written(patching=ROWS["patching"][:1]).summary


def test_a_sweep_shows_heads_and_layers() -> None:
    assert outcomes(written()) == {
        "needed_heads": 1, "sufficient_heads": 1, "layers_used": pytest.approx(1.5),
        "flow_in_time": pytest.approx(0.97),
    }  # fmt: skip
