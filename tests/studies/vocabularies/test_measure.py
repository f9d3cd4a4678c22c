"""The whole study on a made-up sweep: sizes, effects, costs per doubling, claims, what is missing or does not learn."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from vocabularies_world import RISE, SEEDS

import whatwhere as ww
from whatwhere.errors import WhatwhereError
from whatwhere.studies.atlas.tables import Effect, Missing, Outcome
from whatwhere.studies.evidence import NotTested
from whatwhere.studies.measuring import draw
from whatwhere.studies.results import Results
from whatwhere.studies.vocabularies.claims import _finding
from whatwhere.studies.vocabularies.doubling_costs import Doublings
from whatwhere.studies.vocabularies.tables import Cost, SizedRun, VocabulariesSettings

pytestmark = pytest.mark.slow  # sweeps are read and drawn

Sweep = Callable[..., Path]
LAST = (0.9 - 0.2) / (0.99 - 0.2)
"""Where between two evaluations the rising accuracy of the made-up runs reaches 0.9."""


def learned_at(rise: int) -> float:
    return rise - 100 + 100 * LAST


def cost(found: Results, outcome: str, factor: str, at: str = "base") -> Cost:
    (row,) = (r for r in found.rows("costs", Cost) if (r.outcome, r.factor, r.at) == (outcome, factor, at))
    return row


def test_a_sweep_becomes_runs_effects_and_costs_per_doubling(sweep: Sweep):
    found = ww.study("vocabularies", sweep())
    runs = {run.item: run for run in found.rows("runs", SizedRun)}
    assert len(runs) == 12
    spelled = runs["spelled-20"]
    assert (spelled.condition, spelled.length, spelled.tokens, spelled.vocabulary, spelled.names) == (
        "parts 2", 9, 14, 96, 40,
    )  # fmt: skip
    assert spelled.steps == pytest.approx(learned_at(RISE["spelled"]))
    assert (spelled.learned, spelled.accuracy, spelled.break_length) == (True, pytest.approx(0.99), 60)
    assert (spelled.pure_share, spelled.pure_symbolic) == (1, 2)
    more = math.log2(learned_at(RISE["large"]) / learned_at(RISE["base"]))
    vocabulary = cost(found, "steps", "vocabulary")
    assert vocabulary.per_doubling.value == pytest.approx(more / math.log2(320 / 96))
    assert (vocabulary.levels, vocabulary.per_doubling.n) == ("96 320", len(SEEDS))
    assert cost(found, "accuracy_x4", "vocabulary").per_doubling.value == pytest.approx(-0.1 / math.log2(320 / 96))
    assert cost(found, "steps", "vocabulary", "parts 2").per_doubling.value < vocabulary.per_doubling.value
    assert cost(found, "step_hop1", "hops").per_doubling.value == pytest.approx(0)
    effects = {(r.factor, r.level, r.at): r for r in found.rows("effects", Effect) if r.outcome == "steps"}
    assert effects["hops", "3", "base"].difference.value == pytest.approx(200)
    together = effects["parts x vocabulary", "parts 2, vocabulary 320", "base"].difference.value
    assert together == pytest.approx((500 - 400) - (700 - 300))
    assert not any(math.isnan(r.value) for r in found.rows("outcomes", Outcome) if r.outcome == "accuracy_x4")
    assert all(math.isnan(r.value) for r in found.rows("outcomes", Outcome) if r.outcome == "accuracy_x16")


def test_claims_are_judged_over_seeds(sweep: Sweep):
    claims = ww.study("vocabularies", sweep()).claims.set_index("id")
    verdicts = claims["verdict"].to_dict()
    assert verdicts == {
        "vocabularies-letter-alphabet-costs-steps": "holds",
        "vocabularies-spelling-saves-steps": "holds",
        "vocabularies-number-length-costs-most": "not tested",
        "vocabularies-letter-alphabet-costs-most": "holds",
        "vocabularies-hops-cost-steps-number": "not tested",
        "vocabularies-hops-cost-steps-letter": "holds",
        "vocabularies-spelled-letters-need-a-place": "fails",
        "vocabularies-alphabet-keeps-purity": "holds",
        "vocabularies-alphabet-keeps-reach": "fails",
        "vocabularies-number-length-keeps-reach": "not tested",
    }
    assert "vocabulary size with parts 2 less vocabulary size" in claims.loc["vocabularies-spelling-saves-steps", "why"]
    assert "needs runs that learned at the base" in claims.loc["vocabularies-hops-cost-steps-number", "why"]


def test_a_run_that_does_not_learn_counts_with_all_its_steps_and_for_nothing_else(sweep: Sweep):
    found = ww.study("vocabularies", sweep(fails=("large",)))
    (large, _) = (run for run in found.rows("runs", SizedRun) if run.condition == "vocabulary 320")
    assert (large.learned, large.steps) == (False, 24)  # of preset smoke
    assert cost(found, "steps", "vocabulary").per_doubling.n == len(SEEDS)
    assert not any(
        (r.factor, r.at, r.outcome) == ("vocabulary", "base", "pure_share") for r in found.rows("costs", Cost)
    )
    assert "10 of them learn" in " ".join(found.summary.split())  # the path before it is long: lines may break anywhere


def test_no_steps_are_compared_with_those_of_runs_that_did_not_learn(sweep: Sweep):
    found = ww.study("vocabularies", sweep(fails=("spelled", "spelled-large")))
    costs = [(row.factor, row.at) for row in found.rows("costs", Cost) if row.outcome == "steps"]
    assert ("vocabulary", "parts 2") not in costs
    assert cost(found, "steps", "parts").per_doubling.n == len(SEEDS)  # a lower bound
    steps = [(row.factor, row.at) for row in found.rows("effects", Effect) if row.outcome == "steps"]
    assert ("parts", "base") in steps
    assert ("vocabulary", "parts 2") not in steps and "parts x vocabulary" not in dict(steps)
    assert found.claims.set_index("id").loc["vocabularies-spelling-saves-steps", "verdict"] == "not tested"


def test_one_seed_has_no_interval(sweep: Sweep):
    found = ww.study("vocabularies", sweep(seeds=(20,)))
    assert math.isnan(cost(found, "steps", "vocabulary").per_doubling.low)
    assert "seed, no interval" in found.claims.set_index("id").loc["vocabularies-hops-cost-steps-letter", "why"]


def test_a_claim_has_an_interval_from_two_seeds_on():
    assert _finding({20: 2.0}, "steps").interval is None
    found = _finding({20: 1.0, 21: 3.0}, "steps")
    width = math.tan(0.475 * math.pi)  # Student's with one degree of freedom is Cauchy's
    assert (found.value, found.interval) == (2, pytest.approx((2 - width, 2 + width)))
    with pytest.raises(NotTested, match="steps: needs runs that learned"):
        _finding({}, "steps")


def test_several_sizes_are_fitted_through_the_base():
    def run(size: int, condition: str) -> SizedRun:
        return SizedRun(f"v{size}", "letter", 20, condition, 9, 2, size, 1, 9, size, True, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0)

    runs = [run(96, "base"), run(192, "vocabulary 192"), run(384, "vocabulary 384")]
    outcomes = [
        Outcome("v96", "pure_share", 0.5),
        Outcome("v192", "pure_share", 0.6),
        Outcome("v384", "pure_share", 0.9),
    ]
    slope = Doublings(runs, outcomes).slopes("letter", "pure_share", "vocabulary")
    assert slope == {20: pytest.approx((1 * 0.1 + 2 * 0.4) / (1 + 4))}
    assert Doublings(runs, outcomes[1:]).slopes("letter", "pure_share", "vocabulary") == {}
    assert Doublings([], []).slopes("letter", "pure_share", "vocabulary") == {}


def test_what_is_missing_is_named(sweep: Sweep):
    place = sweep()
    (place / "items" / "deep-20" / "test.csv").unlink()
    (place / "items" / "far-20" / "dynamics" / "accuracy.csv").write_text("step\n")
    found = ww.study("vocabularies", place)
    assert {row.item: row.status for row in found.rows("missing", Missing)} == {"deep-20": "done", "far-20": "damaged"}
    assert "2 runs have no results. The first: " in found.summary


def test_the_summary_fits_a_terminal_and_the_figure_is_drawn(sweep: Sweep, tmp_path: Path):
    found = ww.study("vocabularies", sweep(), out=tmp_path / "out")
    assert "vocabulary (parts 2)" in found.summary
    table = [line for line in found.summary.split("\n") if re.search(r" [+-]\d\.\d\d", line)]
    assert table and "nan" not in "".join(table)  # seeds agree, so there is no interval
    assert max(map(len, table)) <= 80
    assert {path.suffix for path in draw({found.name: found}, tmp_path / "figures")} == {".csv", ".pdf", ".png"}


@pytest.mark.parametrize("multiples", [(), (1, 4)])
def test_multiples_that_are_no_longer_inputs_are_refused(multiples: tuple[int, ...]):
    with pytest.raises(WhatwhereError, match=re.escape(f"expected multiples of 2 or more, got {multiples}")):
        VocabulariesSettings(multiples)


def test_a_directory_that_is_no_sweep_or_has_no_results_is_refused(tmp_path: Path):
    message = r"expected the directory of a sweep \(one with a sweep.csv\), got .*: whatwhere sweep FILE --out DIR"
    for source in (tmp_path / "nothing", "shipped"):
        with pytest.raises(WhatwhereError, match=message):
            ww.study("vocabularies", source)
    (tmp_path / "sweep.csv").write_text("item,status,problem\nx,waiting,\n")
    with pytest.raises(WhatwhereError, match=r"expected a sweep with runs that are done, got .* with 1 that are not"):
        ww.study("vocabularies", tmp_path)
