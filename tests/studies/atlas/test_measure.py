"""The whole study: from a sweep or from what ships to answers, and what it says of sweeps that are not whole."""

import math
import re
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from atlas_world import LEAK, atlas_rows, use_shipped, write_shipped, write_sweep
from typer.testing import CliRunner

import whatwhere as ww
from whatwhere.cli import app
from whatwhere.errors import WhatwhereError
from whatwhere.heads.estimate import Estimate
from whatwhere.studies import subject
from whatwhere.studies.atlas.claim_map import claim_map, judged_claims, share_of_conditions
from whatwhere.studies.atlas.predictions import Part, came_out, read_predictions
from whatwhere.studies.atlas.seed_effects import values_of
from whatwhere.studies.atlas.seed_numbers import Answered
from whatwhere.studies.atlas.seven_questions import answers
from whatwhere.studies.atlas.sweep_items import sweep_table
from whatwhere.studies.atlas.tables import Answer, Cell, Item, Missing, Point
from whatwhere.studies.claim import meets
from whatwhere.studies.measuring import draw
from whatwhere.studies.results import Results
from whatwhere.training.options import Options

pytestmark = pytest.mark.slow  # sweeps are read and drawn

ITEMS = {
    f"{task}-{name}-{seed}": Options(task, seed=seed, generator=generator)
    for seed in (20, 21)
    for task, name, generator in (("letter", "base", None), ("letter", "decoy", "decoy"), ("number", "base", None))
}
TOGETHER, APART = [300, 300, 300, 300], [200, 400, 600, 800]


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    directory = tmp_path / "sweep"
    write_sweep(directory, ITEMS, {name: TOGETHER if "letter-base" in name else APART for name in ITEMS})
    return directory


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "shipped"
    write_shipped(directory)
    use_shipped(directory, monkeypatch)
    return directory


def answer(atlas: Results, question: str, part: str) -> Answer:
    (row,) = (row for row in atlas.rows("answers", Answer) if (row.question, row.part) == (question, part))
    return row


@pytest.mark.slow
def test_a_sweep_becomes_items_outcomes_verdicts_and_answers(sweep: Path):
    atlas = ww.study("atlas", sweep, points=5)
    items = atlas.rows("items", Item)
    assert [item.item for item in items] == list(ITEMS)
    assert all(item.learned for item in items)
    assert atlas.rows("missing", Missing) == []
    assert len({point.step for point in atlas.rows("curves", Point) if point.item == items[0].item}) == 5
    gap = answer(atlas, "leak", "base")
    steps = 100 + 100 * (0.9 - 0.2) / (0.99 - 0.2), 700 + 100 * (0.9 - 0.2) / (0.99 - 0.2)
    assert gap.value.value == pytest.approx(steps[1] / steps[0] - 1)
    assert (gap.came_out, gap.value.n) == ("open", 2)  # two seeds that agree exactly decide nothing
    assert "3.18 (the same with each of 2 seeds, no interval)" in gap.sentence
    rest = answer(atlas, "heads", "letter")
    assert rest.came_out == "not answered"
    assert rest.sentence == (
        "Not answered: needs letter items of 'base' and of 'heads 4' that learned, with equal seeds."
    )
    cells = {(cell.claim, cell.condition): cell for cell in atlas.rows("map", Cell)}
    assert cells["letter-hops-together", "base"].verdict == "holds"
    assert cells["letter-hops-together", "decoy"].verdict == "fails"
    assert cells["scores-start-high", "decoy"].about == "both"
    claims = dict(zip(atlas.claims["id"], atlas.claims["verdict"], strict=True))
    assert claims["atlas-letter-gap-is-the-leak"] == "not tested"
    assert "a verdict needs 3 seeds" in atlas.claims.set_index("id").loc["atlas-letter-gap-is-the-leak", "why"]
    assert claims["atlas-purity-by-attention-dropout"] == "not tested"
    assert "Is 'the letter task learns all hops at once' made by the leak?" in atlas.summary
    left = sum(row.came_out == "not answered" for row in atlas.rows("answers", Answer))
    assert f"{left} of 22 numbers are not answered yet" in atlas.summary
    assert "Do several heads per layer split" not in atlas.summary


def test_runs_by_another_recipe_are_on_the_map_and_answer_no_question(sweep: Path):
    write_sweep(sweep, {"anchor": Options("letter", preset="paper", seed=10)}, {"anchor": TOGETHER})
    lines = ["item,status,problem", *(f"{name},done," for name in (*ITEMS, "anchor"))]
    (sweep / "sweep.csv").write_text("\n".join([*lines, ""]))
    atlas = ww.study("atlas", sweep)
    assert "recipe paper" in set(atlas["map"]["condition"])
    assert answer(atlas, "last", "letter").value.n == 2  # seeds 20 and 21; predictions were made from seed 10


@pytest.mark.slow
def test_items_that_wait_failed_are_damaged_or_did_not_learn_are_told_apart(sweep: Path):
    waiting, failed, damaged, gone = "letter-x-1", "letter-x-2", "letter-base-21", "letter-decoy-21"
    write_sweep(sweep, {"letter-none-22": Options("letter", seed=22)}, {"letter-none-22": []})
    rows = [f"{name},done," for name in ITEMS] + [f"{waiting},waiting,", f'{failed},failed,"it, broke"']
    lines = ["item,status,problem", *rows, "letter-none-22,failed,the model solves no input"]
    (sweep / "sweep.csv").write_text("\n".join([*lines, ""]))
    (sweep / "items" / damaged / "dynamics" / "accuracy.csv").write_text("step,split\n1,x\n")
    (sweep / "items" / gone / "test.csv").unlink()
    atlas = ww.study("atlas", sweep)
    missing = {row.item: row for row in atlas.rows("missing", Missing)}
    assert set(missing) == {waiting, failed, damaged, gone}
    assert missing[failed].problem == "it, broke"
    assert missing[damaged].status == "damaged"
    learned = {row.item: row.learned for row in atlas.rows("items", Item)}
    assert not learned["letter-none-22"]  # its run ended and was scored: it counts as one that did not learn
    assert {cell.n for cell in atlas.rows("map", Cell) if cell.claim == "letter-hops-together"} == {1}
    assert "4 items have no results" in atlas.summary
    assert "5 of them learn" not in atlas.summary
    assert answer(atlas, "leak", "base").came_out == "open"  # one seed is left
    assert "1 seed, no interval" in answer(atlas, "leak", "base").sentence


def test_a_directory_that_is_no_sweep_is_refused(tmp_path: Path):
    with pytest.raises(
        WhatwhereError, match=r"expected the directory of a sweep \(one with a sweep.csv\), or shipped, got"
    ):
        ww.study("atlas", tmp_path / "nothing")
    with pytest.raises(WhatwhereError, match="expected no step, got 3"):
        ww.study("atlas", tmp_path, step=3)


@pytest.mark.parametrize("content", ["", "name,status\nx,done\n", 'item,status,problem\n"x,done\n', "\x00\x01"])
def test_a_damaged_table_of_the_sweep_is_refused(tmp_path: Path, content: str):
    (tmp_path / "sweep.csv").write_text(content)
    with pytest.raises(WhatwhereError, match="is damaged: expected columns item, status and problem"):
        ww.study("atlas", tmp_path)


def test_names_of_items_cannot_leave_the_sweep(tmp_path: Path):
    (tmp_path / "sweep.csv").write_text("item,status,problem\n../../other,done,\n")
    with pytest.raises(WhatwhereError, match=r"expected names of items without a path, got '../../other'"):
        sweep_table(tmp_path)


def test_a_sweep_without_results_is_refused(tmp_path: Path):
    write_sweep(tmp_path, {"a": Options("letter")}, {})
    with pytest.raises(WhatwhereError, match=r"expected a sweep with items that are done, got .* with 1 that are not"):
        ww.study("atlas", tmp_path)


def test_fewer_than_two_points_of_a_curve_are_refused(tmp_path: Path):
    with pytest.raises(WhatwhereError, match="expected points of 2 or more, got 1"):
        ww.study("atlas", tmp_path, points=1)


def test_when_the_sweep_grows_the_results_are_no_longer_up_to_date(sweep: Path):
    first = subject.SWEEP.open(sweep).inputs
    assert subject.SWEEP.open(str(sweep)).inputs == first
    write_sweep(sweep, {"more": Options("letter", seed=22)}, {"more": TOGETHER})
    assert subject.SWEEP.open(sweep).inputs != first


@pytest.mark.slow
def test_what_ships_is_taken_if_nothing_is_named(shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["atlas"], catch_exceptions=False)
    assert "84 runs, 28 conditions, seeds 20, 21, 22. 83 of them learn" in re.sub(r"\s+", " ", done.stdout)
    results = tmp_path / "analysis-shipped" / "atlas"
    assert {"report.html", "effects.csv", "map.csv", "answers.csv"} <= {path.name for path in results.iterdir()}
    assert pd.read_csv(results / "items.csv").equals(pd.read_csv(shipped / "items.csv"))
    figures = {path.name for path in (results / "figures").iterdir()}
    assert {"atlas-map.png", "atlas-map.csv", "atlas-paper.pdf", "atlas-effects.png"} <= figures


def test_a_version_without_an_atlas_says_how_to_make_one(shipped: Path):
    (shipped / "curves.csv").unlink()
    with pytest.raises(WhatwhereError, match=r"got no curves.csv: none ships .* whatwhere sweep atlas --out DIR"):
        ww.study("atlas")


@pytest.mark.usefixtures("shipped")
def test_answers_have_the_numbers_that_were_put_in():
    atlas = ww.study("atlas", "shipped")
    base, rates = answer(atlas, "leak", "base"), answer(atlas, "leak", "rates")
    assert base.value.value == pytest.approx(LEAK + 0.03)
    assert base.value.low == pytest.approx(LEAK + 0.03 - 4.302653 * 0.03 / math.sqrt(3), rel=1e-6)
    assert rates.value.value == pytest.approx(LEAK + 0.03 + 0.05 / 3)
    assert answer(atlas, "purity", "letter-dropout").value.value == pytest.approx(-0.3)
    assert answer(atlas, "purity", "number-rate").value.value == -3
    assert answer(atlas, "purity", "tau").value.value == pytest.approx(0.6 - 0.89)
    assert answer(atlas, "length", "letter-steps").value.value == pytest.approx(0.1)
    assert "the largest is that of steps x2" in answer(atlas, "length", "letter-steps").sentence
    assert answer(atlas, "length", "number").value.value == 1
    assert answer(atlas, "last", "letter").value.value == pytest.approx(2 / 3)
    assert answer(atlas, "last", "order").value.value == pytest.approx(0.8)
    assert answer(atlas, "heads", "split").value.value == 2
    correlation = answer(atlas, "shortcuts", "hops")
    assert correlation.value.value == pytest.approx(mean_rank_correlation("layers_per_hop", "chain_accuracy"))
    claims = dict(zip(atlas.claims["id"], atlas.claims["verdict"], strict=True))
    assert claims["atlas-letter-gap-is-the-leak"] == "holds"  # with its whole interval
    assert claims["atlas-positional-heads-by-rate"] == "holds"  # -3 with every seed: no interval
    rows = atlas.rows("answers", Answer)
    assert all(row.came_out != "not answered" for row in rows)
    assert len(rows) == sum(len(one.parts) for one in read_predictions().values())


def mean_rank_correlation(first: str, second: str) -> float:
    """With pandas, over the items of each task and seed that learned."""
    items, outcomes, _, _ = atlas_rows()
    values = {(row.item, row.outcome): row.value for row in outcomes}
    found = []
    for task, seed in product(("letter", "number"), (20, 21, 22)):
        names = [item.item for item in items if (item.task, item.seed, item.learned) == (task, seed, True)]
        pairs = pd.DataFrame([(values[name, first], values[name, second]) for name in names])
        found.append(pairs.rank().corr().to_numpy()[0, 1])
    return float(np.mean(found))


def test_the_map_counts_seeds_of_items_that_learned():
    items, _, verdicts, _ = atlas_rows()
    cells = claim_map(items, verdicts, judged_claims())
    always, seldom, rates = [claim.id for claim in judged_claims() if "letter" in claim.id][:3]
    of = {(cell.claim, cell.condition): cell for cell in cells}
    assert (of[always, "base"].verdict, of[always, "base"].share, of[always, "base"].n) == ("holds", 1, 3)
    assert (of[seldom, "base"].verdict, of[seldom, "base"].share) == ("depends", pytest.approx(1 / 3))
    assert (of[rates, "rate x2"].verdict, of[rates, "decoy, rate x2"].verdict) == ("fails", "fails")
    assert of[always, "layers 4"].n == 2  # its third seed did not learn
    shares = share_of_conditions(cells)
    assert shares[always] == 1
    assert shares[rates] == pytest.approx(15 / 17)


def test_a_claim_about_both_tasks_is_on_the_map_only_if_both_items_of_the_pair_learned():
    items, _, verdicts, _ = atlas_rows()
    unlearned = [
        replace(item, learned=item.learned and (item.task, item.condition) != ("number", "heads 4")) for item in items
    ]
    of = {(cell.claim, cell.condition): cell for cell in claim_map(unlearned, verdicts, judged_claims())}
    assert of["scores-start-high", "base"].n == 3
    assert ("scores-start-high", "heads 4") not in of
    letter_alone = next(claim.id for claim in judged_claims() if "letter" in claim.id)
    assert of[letter_alone, "heads 4"].n == 3


@pytest.mark.parametrize(("conditions", "counts"), [(("base", "decoy"), False), (("base", "decoy", "strict"), True)])
def test_a_finding_counts_as_robust_or_seldom_from_three_conditions_on(conditions: tuple[str, ...], counts: bool):
    items, outcomes, verdicts, _ = atlas_rows()
    of = {item.item: item for item in items}
    few = next(claim.id for claim in judged_claims() if claim.kind == "trained" and "letter" in claim.id)
    some = [row for row in verdicts if row.claim != few or of[row.item].condition in conditions]
    values = values_of(items, outcomes)
    rows = {row.part: row for row in answers(Answered(items, values, some, [])) if row.question == "robust"}
    assert (few in rows["most"].sentence) is counts


def test_the_sentence_about_the_last_layer_counts_models():
    items, outcomes, verdicts, _ = atlas_rows()
    found = Answered(items, values_of(items, outcomes), verdicts, [])
    (row,) = [row for row in answers(found) if (row.question, row.part) == ("last", "letter")]
    deep = [item for item in items if item.task == "letter" and item.layers == 12]
    assert f"last in {len(deep) * 2 // 3} of {len(deep)} models, and does not end pure in 0" in row.sentence


def test_a_correlation_over_condition_means_stands_beside_that_of_each_seed():
    first = {"base": (1.0, 4.0), "a": (2.0, 3.0), "b": (3.0, 2.0), "c": (7.0, 1.0)}
    values: dict[tuple[str, str, str], dict[int, float]] = {
        ("letter", name, "layers_per_hop"): dict(zip((20, 21), pair, strict=True)) for name, pair in first.items()
    }
    values |= {("letter", name, "accuracy_850"): {20: place, 21: place} for place, name in enumerate(first)}
    items = [Item(name, "letter", 20, name, "paper", 5e-4, 2500, 0.1, 1, 12, 1e-4, True) for name in first]
    whole, by_seed = Answered(items, values, [], []).correlation_of_means("letter", "layers_per_hop", "accuracy_850")
    assert by_seed == [pytest.approx(1), pytest.approx(-1)]
    assert whole == pytest.approx(pd.Series([2.5, 2.5, 2.5, 4.0]).corr(pd.Series(range(4)), method="spearman"))


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (Estimate(0.3, 0.1, 0.5, 3), "as expected"),
        (Estimate(0.3, -0.1, 0.7, 3), "open"),
        (Estimate(-0.3, -0.5, -0.1, 3), "otherwise"),
        (Estimate(0.3, 0.1, 0.5, 2), "open"),
        (Estimate(0.3, math.nan, math.nan, 1), "open"),
        (Estimate(0.3, math.nan, math.nan, 3), "as expected"),
        (Estimate(0.0, math.nan, math.nan, 3), "otherwise"),
        (Estimate(math.nan, math.nan, math.nan, 0), "not answered"),
    ],
)
def test_a_prediction_comes_out_if_the_whole_interval_says_so(value: Estimate, result: str):
    assert came_out(Part("a number", "yes", "above 0"), value) == result


def test_every_prediction_has_a_threshold_that_can_be_tested():
    for question in read_predictions().values():
        for part in question.parts.values():
            assert meets(part.threshold, 0.0, part.number) in (True, False)


@pytest.mark.usefixtures("shipped")
@pytest.mark.slow
def test_figures_show_every_cell_with_a_sign(tmp_path: Path):
    atlas = ww.study("atlas")
    files = draw({atlas.name: atlas}, tmp_path)
    assert {"atlas-map.pdf", "atlas-paper.png", "atlas-effects.csv"} <= {file.name for file in files}
    figure = atlas.figures()["atlas-map"]
    signs = [text.get_text() for text in figure.axes[0].texts]
    counted = Counter(cell.verdict for cell in atlas.rows("map", Cell))
    assert signs.count("+") == counted["holds"]
    assert signs.count("\N{MINUS SIGN}") == counted["fails"]
    assert sum(bool(re.fullmatch(r"\d/\d", sign)) for sign in signs) == counted["depends"]
    pale = [patch for patch in figure.axes[0].patches if patch.get_alpha() != 1]
    assert len(pale) == sum(cell.n < 3 for cell in atlas.rows("map", Cell)) > 0
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()][:4] == [
        "base",
        "any-integers",
        "decoy",
        "strict",
    ]


def test_an_item_that_stands_twice_in_the_table_does_not_count_twice(tmp_path: Path) -> None:
    (tmp_path / "sweep.csv").write_text("item,status,problem\na,done,\nb,done,\na,done,\n")
    with pytest.raises(WhatwhereError, match="expected one row for each item, got several for one; make it again"):
        sweep_table(tmp_path)
