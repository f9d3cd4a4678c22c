"""The arms of a sweep, compared and judged on made-up results."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from scipy import stats

from compare_arms import report
from whatwhere.errors import WhatwhereError
from whatwhere.studies.evidence import NotTested
from whatwhere.studies.judging import judge
from whatwhere.studies.preference.arms import arm_of, compare, evidence_of_arms, grouped, read_arms
from whatwhere.studies.preference.claims import CLAIMS
from whatwhere.studies.preference.figures import draw_arms
from whatwhere.studies.preference.tables import Accuracy
from whatwhere.studies.results import Results
from whatwhere.tasks import make_task
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run
from whatwhere.work.sweep_spec import read_sweep

SURE = ["holds"] * 4


def verdicts(sweep: Path) -> list[str]:
    return [one.verdict for one in judge(evidence_of_arms(sweep), CLAIMS)]


def test_the_shipped_specification_has_six_arms_with_three_seeds_each() -> None:
    items = read_sweep(Path("preference"))
    configs = [item.training for item in items]
    arms = {arm_of(config) for config in configs if config}
    assert len(items) == 18
    assert arms == {
        "plain", "penalty 1", "planes 1-16 closed", "rotary base 500000", "random positions +9", "NoPE from layer 1",
    }  # fmt: skip
    assert {config.seed for config in configs if config} == {20, 21, 22}


def test_an_arm_is_named_by_all_that_it_changes() -> None:
    config = smoke(make_task("both"))
    changed = replace(config, penalty=0.5, model=replace(config.model, rope_base=None))
    assert arm_of(changed) == "penalty 0.5, no rotation"


def test_the_claims_hold_where_the_penalty_does_what_it_should(sweep) -> None:
    assert verdicts(sweep()) == SURE


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"symbolic": 0.7}, ["fails", "holds", "holds", "holds"]),
        ({"symbolic": 0.5}, ["fails", "fails", "holds", "holds"]),
        ({"at_850": 0.1}, ["holds", "holds", "fails", "holds"]),
        ({"trained": 0.95}, ["holds", "holds", "holds", "fails"]),
        ({"plain": 0.5}, ["holds", "not tested", "not tested", "holds"]),
    ],
)
def test_each_claim_fails_where_its_own_statement_does(sweep, changed: dict, expected: list[str]) -> None:
    assert verdicts(sweep(**changed)) == expected


def test_a_sweep_without_an_arm_tests_nothing_of_it(sweep) -> None:
    results = evidence_of_arms(sweep())
    with pytest.raises(NotTested, match="expected one run of the arm closed with seed 3, got none"):
        results[0].results("preference", "closed")


def test_outcomes_are_means_over_seeds_with_students_interval(sweep) -> None:
    table = compare(sweep()).set_index(["arm", "outcome"])
    assert list(dict.fromkeys(table.index.get_level_values("arm"))) == ["plain", "penalty 1", "random positions +9"]
    row = table.loc[("penalty 1", "symbolic")]
    low, high = stats.t.interval(0.95, 1, 0.955, stats.sem([0.95, 0.96]))
    assert high > 1  # a share ends at 1, and so does its interval
    assert (row["mean"], row["low"], row["high"], row["seeds"]) == pytest.approx((0.955, low, 1.0, 2))
    assert row["each"] == "0.95 0.96"
    assert table.loc[("plain", "learned_step"), "mean"] == 20
    assert table.loc[("plain", "seconds"), "mean"] == 40
    assert table.loc[("plain", "accuracy"), "seeds"] == 0  # no test split was measured: undefined, with its count


def test_an_item_that_is_not_done_is_left_out(sweep) -> None:
    directory = sweep()
    results = read_arms(directory)["penalty 1, seed 4"]
    assert results.manifest
    results.manifest.pause(0.0)
    assert "penalty 1, seed 4" not in read_arms(directory)
    assert verdicts(directory) == SURE  # by the seed that is left


def test_a_single_seed_is_drawn_without_an_interval(made_up: Results) -> None:
    figure = draw_arms({"plain, seed 1": made_up})
    assert [len(axes.lines) for axes in figure.axes] == [2] * 4  # the seed and the mean, no bar
    figure = draw_arms({"plain, seed 1": made_up, "plain, seed 2": made_up})
    assert [len(axes.lines) for axes in figure.axes] == [2] * 4  # seeds that agree show no spread


def test_the_bar_of_a_share_ends_at_1(sweep) -> None:
    figure = draw_arms(read_arms(sweep()))
    bars = [line for line in figure.axes[0].lines if line.get_linewidth() == 4]
    assert max(float(np.max(np.asarray(bar.get_xdata()))) for bar in bars) == 1  # the penalised arm: 0.95 and 0.96
    assert {bar.get_solid_capstyle() for bar in bars} == {"butt"}  # and no cap goes beyond


def test_names_are_grouped_by_arm_with_plain_first() -> None:
    assert grouped(["b, seed 2", "plain, seed 1", "b, seed 1"]) == {
        "plain": ["plain, seed 1"], "b": ["b, seed 1", "b, seed 2"],
    }  # fmt: skip


def test_runs_that_differ_in_more_than_arm_and_seed_are_not_taken_for_one_another(sweep) -> None:
    directory = sweep()
    shutil.copytree(directory / "items" / "both-pay-3", directory / "items" / "both-pay-3-other")
    with pytest.raises(
        WhatwhereError, match="expected one run of 'penalty 1, seed 3', got both-pay-3 and both-pay-3-o"
    ):
        read_arms(directory)


def test_two_penalties_leave_the_claims_about_the_penalty_untested(sweep) -> None:
    directory = sweep()
    other = Run(directory / "items" / "both-more-3")
    other.create(replace(smoke(make_task("both")), seed=3, penalty=2.0))
    shutil.copytree(directory / "items" / "both-pay-3" / "preference", other.directory / "preference")
    with pytest.raises(NotTested, match="arm penalty with seed 3, got penalty 2, seed 3 and penalty 1, seed 3"):
        evidence_of_arms(directory)[0].results("preference", "penalty")


def test_a_folder_without_such_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WhatwhereError, match=r"expected a sweep that measured preference.*whatwhere sweep preference"):
        read_arms(tmp_path)


def test_table_figure_and_verdicts_are_written(sweep, tmp_path: Path) -> None:
    told = report(sweep(), tmp_path / "arms.csv", tmp_path / "figures")
    assert [line.partition(":")[0] for line in told] == [claim.id for claim in CLAIMS]
    assert all(": holds, " in line for line in told)
    assert (tmp_path / "arms.csv").read_text().startswith("arm,outcome,mean,low,high,seeds,each\n")
    assert (tmp_path / "figures" / "preference-arms.png").stat().st_size > 5000


def test_the_summary_tells_readings_lengths_and_heads_within_80_columns(made_up: Results) -> None:
    text = made_up.summary
    assert text.startswith("Letters or distances: runs/[bold]\n")
    assert "…" not in text
    lines = text.splitlines()
    assert ["every", "hop", "2", "0.70", "0.68-0.72", "0.15", "0.13-0.17", "0.15", "0.13-0.17", "100"] in [
        line.split() for line in lines
    ]
    assert max(len(line) for line in lines if "hop" in line and "0.7" in line) <= 80
    assert ["850", "0.30", "0.28-0.32", "0.70", "0.15", "0.15", "100"] in [line.split() for line in lines]
    assert ["1.0", "0.50", "0.60"] in [line.split() for line in lines]


def test_the_figure_of_one_model_is_drawn(made_up: Results) -> None:
    figure = made_up.figures()["preference"]
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]
    assert titles == ["answers where the cues disagree", "longer inputs (95 %)", "scores of the heads"]
    widths = [bar.get_width() for bar in figure.axes[0].patches if isinstance(bar, Rectangle)]
    assert sum(widths) == pytest.approx(4)  # four bars: two hop classes, two kinds of conflict


def test_each_finding_is_the_difference_of_two_arms_with_both_ends(sweep) -> None:
    evidence = evidence_of_arms(sweep(symbolic=0.9, at_850=0.7, trained=0.97))[0]
    found = [(one.value, one.interval, one.inputs, one.why) for one in (claim.measure(evidence) for claim in CLAIMS)]
    near = pytest.approx
    assert found == [
        (near(0.9), near((0.896, 0.904)), 100, "Cues disagree on every hop; mean over hop classes."),
        (near(0.3), near((0.292, 0.308)), 100, "Penalised 0.90, plain 0.60 of symbolic answers."),
        (near(0.5), near((0.492, 0.508)), 100, "Penalised 0.70, plain 0.20 right at 850 tokens."),
        (near(-0.03), near((-0.034, -0.022)), 100, "Penalised 0.97, plain 1.00 right at 17 tokens."),
    ]


def test_an_arm_that_was_not_measured_at_850_tokens_is_named(sweep) -> None:
    directory = sweep()
    for seed in (3, 4):
        results = read_arms(directory)[f"plain, seed {seed}"]
        results.write("accuracy", [row for row in results.rows("accuracy", Accuracy) if row.length != 850])
    (one,) = (one for one in judge(evidence_of_arms(directory), CLAIMS) if one.claim.id == "penalised-carries-further")
    assert (one.verdict, one.why) == ("not tested", "the plain model was not measured at 850 tokens.")
