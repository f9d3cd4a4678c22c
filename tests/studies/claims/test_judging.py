"""All claims together: on a world as the paper describes it, on nothing, on seeds; and what is written down."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import write_csv
from whatwhere.studies.chat.claims import COLUMNS
from whatwhere.studies.claims_face import CLAIMS, judge, regressions, write_claims
from whatwhere.studies.judging import escaped
from whatwhere.studies.record import record

FALSE_AS_PRINTED = {
    "theorem-1-index-as-printed",
    "theorem-1-retrieval-without-rotation",
    "theorem-2-index-as-printed",
    "theorem-2-retrieval-as-printed",
    "positional-cannot-retrieve-as-printed",
    "bound-limits-letter-model",  # it contradicts the paper's own 90 % at 850
}


def test_in_the_world_that_the_paper_describes_every_claim_holds_but_those_that_errata_refute(world) -> None:
    world.theory()
    world.llm([("m", task, size, mean) for task, mean in (("number", 0.01), ("letter", 0.95)) for size in (32, 100)])
    verdicts = {name: one.verdict for name, one in world.judged().items()}
    assert {name for name, verdict in verdicts.items() if verdict != "holds"} == FALSE_AS_PRINTED
    assert "not tested" not in verdicts.values()


def test_without_results_nothing_is_tested_and_each_claim_says_what_is_missing(tmp_path: Path) -> None:
    judged = judge(tmp_path)
    assert {one.verdict for one in judged} == {"not tested"}
    assert all(one.missing for one in judged)
    for one in judged:
        assert (
            "no chat model was measured" if "llm" in one.claim.id else "is not there. Make it with: whatwhere "
        ) in one.why


def test_ids_are_unique_and_every_field_says_something() -> None:
    assert len({claim.id for claim in CLAIMS}) == len({claim.title for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert all((claim.text, claim.paper, claim.measured_how, claim.threshold)), claim.id
        assert claim.id == claim.id.lower().replace(" ", "-")


def test_with_several_seeds_the_verdict_is_that_of_most_and_the_spread_is_told(world) -> None:
    for seed in (1, 2):
        other = type(world)(world.directory / "seeds" / str(seed)).everything(seed)
        other.accuracy("letter", (300, 500, 500, 500))
    one = world.one("letter-hops-together")
    assert (one.verdict, one.value, one.seeds) == ("fails", 1.0, (1.0, 500 / 300, 500 / 300))
    assert "It holds with 1 of 3 seeds: 1 to 1.67." in one.why
    assert world.one("number-hops-in-order").verdict == "holds"


def test_the_first_seed_is_not_counted_twice(world) -> None:
    type(world)(world.directory / "seeds" / "0").everything()
    assert len(world.one("exclusion-principle").seeds) == 1


def test_what_is_written_is_what_was_judged(world) -> None:
    path = write_claims(world.directory)
    written = json.loads(path.read_text())["claims"]
    judged = world.judged()
    assert [claim["id"] for claim in written] == list(judged)
    assert set(written[0]) == {
        "id", "title", "text", "paper", "measured_how", "threshold", "value", "interval", "inputs", "verdict", "why",
        "seeds", "paper_value",
    }  # fmt: skip
    assert "NaN" not in path.read_text()
    assert "Infinity" not in path.read_text()
    with path.with_suffix(".csv").open(newline="") as opened:
        rows = {row["id"]: row for row in csv.DictReader(opened)}
    for claim in written:
        row = rows[claim["id"]]
        assert row["verdict"] == claim["verdict"]
        assert (float(row["value"]) if row["value"] else None) == (
            claim["value"] if claim["value"] is None else pytest.approx(claim["value"])
        )
    lines = path.with_suffix(".md").read_text().splitlines()
    assert lines[0].startswith("# Claims: ")
    assert len([line for line in lines if line.startswith("| ")]) == len(CLAIMS) + 1


def test_an_infinite_value_is_null_in_json(world) -> None:
    world.scores("number", lambda _layer, _step: (0.5, 0.6))
    one = world.one("symbolic-purity-early")
    assert (one.verdict, one.value) == ("fails", math.inf)
    assert one.to_dict()["value"] is None


def test_names_from_data_cannot_leave_their_cell(world) -> None:
    world.llm([("a|b\n<script>`x`", task, 32, mean) for task, mean in (("number", 0.9), ("letter", 0.1))])
    write_claims(world.directory)
    text = (world.directory / "claims.md").read_text()
    assert "<script>" not in text
    assert "a\\|b &lt;script&gt;" in text
    assert escaped("a|b_c") == "a\\|b\\_c"


def test_damaged_results_are_an_error_and_not_a_verdict(world) -> None:
    (world.directory / "letter" / "length" / "accuracy.csv").write_text("variation,length\nx,1\n")
    with pytest.raises(WhatwhereError, match="accuracy"):
        judge(world.directory)


def test_a_damaged_table_of_chat_models_is_refused(world) -> None:
    write_csv(
        world.directory / "llm" / "table.csv", COLUMNS, [("m", "one_hop_number", "many", 1, 0.5, 0.1, "measured")]
    )
    with pytest.raises(WhatwhereError, match=r"table\.csv is damaged.*whatwhere llm table"):
        judge(world.directory)


def test_a_damaged_curve_is_refused(world) -> None:
    world.theory()
    (world.directory / "theory" / "figure-5a-discrepancy.csv").write_text("n\nmany\n")
    with pytest.raises(WhatwhereError, match=r"is damaged.*whatwhere theory"):
        judge(world.directory)


def test_a_claim_that_held_and_fails_is_a_regression(world, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    held = record("quick", [judge(world.directory)], path)
    assert "letter-hops-together" in held
    assert regressions(judge(world.directory), "quick", path=path) == []
    world.accuracy("letter", (300, 400, 500, 600))
    (lost,) = regressions(judge(world.directory), "quick", path=path)
    assert lost.startswith("letter-hops-together held in the baseline of quick and is now: fails. 0.9 is first reached")
    assert regressions(judge(world.directory), "laptop", path=path) == []  # nothing recorded


def test_missing_results_are_a_regression_unless_stages_were_left_out(world, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    record("zoo", [judge(world.directory)], path)
    (world.directory / "number" / "geometry" / "keys.csv").unlink()
    judged = judge(world.directory)
    lost = regressions(judged, "zoo", path=path)
    assert [line.split()[0] for line in lost] == ["index-keys-aligned", "index-keys-aligned-within-window"]
    assert regressions(judged, "zoo", partial=True, path=path) == []


def test_only_what_holds_everywhere_is_recorded(world, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    good = judge(world.directory)
    world.accuracy("letter", (300, 400, 500, 600))
    assert set(record("quick", [good], path)) - set(record("laptop", [good, judge(world.directory)], path)) == {
        "letter-hops-together"
    }
    assert set(json.loads(path.read_text())) == {"quick", "laptop"}


def test_what_one_seed_does_not_show_is_not_recorded(world, tmp_path: Path) -> None:
    _, other = (type(world)(world.directory / "seeds" / str(seed)).everything(seed) for seed in (1, 2))
    everything = record("quick", [judge(world.directory)], tmp_path / "baseline.json")
    other.accuracy("letter", (300, 400, 500, 600))
    (most,) = (one for one in judge(world.directory) if one.claim.id == "letter-hops-together")
    assert (most.verdict, most.with_every_seed) == ("holds", False)
    held = record("quick", [judge(world.directory)], tmp_path / "baseline.json")
    assert set(everything) - set(held) == {"letter-hops-together"}


@pytest.mark.parametrize(
    ("preset", "judged", "message"),
    [("huge", [[]], "a preset .* was expected"), ("quick", [], "at least one reproduction")],
)
def test_a_baseline_needs_a_preset_and_a_reproduction(preset, judged, message, tmp_path: Path) -> None:
    with pytest.raises(WhatwhereError, match=message):
        record(preset, judged, tmp_path / "baseline.json")


def test_the_shipped_baseline_names_claims_that_exist() -> None:
    from whatwhere.studies.baseline import BASELINE, PRESETS

    shipped = json.loads(BASELINE.read_text())
    assert set(shipped) <= set(PRESETS)
    assert {name for held in shipped.values() for name in held} <= {claim.id for claim in CLAIMS}
