"""Verdicts from evidence: seeds, what is missing, what is written down, and the recorded baseline."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from record_claims import record
from whatwhere.errors import WhatwhereError
from whatwhere.studies import study_named
from whatwhere.studies.claim import Claim, Finding, Judged, Kind, listed, read_claims
from whatwhere.studies.evidence import Evidence, NotTested
from whatwhere.studies.judging import all_claims, counts, escaped, judge, markdown, measured, write_claims
from whatwhere.studies.results import Results
from whatwhere.tasks import make_task
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run
from whatwhere.work.reporting import regressions


def claim(measure: Callable[[Evidence], Finding], *, kind: Kind = "trained", **more: str) -> Claim:
    words = {"threshold": "above 0.5"} | more
    return Claim(
        "sky-is-blue", kind, "The sky | is blue", "It is.", "Section 1", "by looking", measure=measure, **words
    )


def seeds(*values: float) -> tuple[list[Evidence], Callable[[Evidence], Finding]]:
    """Evidence of several seeds, and a measure that gives each its value."""

    def nothing(study: str, model: str | None) -> object:
        raise NotTested(f"{study} {model} is not there.", missing=True)

    evidence = [Evidence(nothing) for _ in values]  # pyright: ignore[reportArgumentType]
    known = dict(zip(map(id, evidence), values, strict=True))

    def measure(one: Evidence) -> Finding:
        value = known.get(id(one), math.nan)
        if math.isnan(value):
            one.results("length", "letter")
        return Finding(value, "Measured.", (value - 0.1, value + 0.1), 40)

    return evidence, measure


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((0.9,), "holds"), ((0.1,), "fails"), ((0.55,), "open"), ((0.45,), "open"), ((0.9, 0.7), "holds"),
        ((0.9, 0.55), "open"), ((0.1, 0.3), "fails"),
        ((0.9, 0.8, 0.2), "depends"), ((0.9, 0.2), "depends"), ((0.1, 0.45), "open"), ((math.nan, 0.9), "holds"),
        ((math.nan,), "not tested"),
    ],
)  # fmt: skip
def test_each_seed_decides_with_its_whole_interval_and_where_seeds_differ_it_depends(
    values: tuple[float, ...], verdict: str
):
    evidence, measure = seeds(*values)
    (one,) = judge(evidence, [claim(measure)])
    assert one.verdict == verdict
    assert one.depends_on == (("seed",) if verdict == "depends" else ())
    assert one.seeds == tuple(value for value in values if not math.isnan(value))
    assert one.missing == (verdict == "not tested")


def test_why_says_what_the_verdict_rests_on():
    evidence, measure = seeds(0.9, 0.8, 0.2)
    (one,) = judge(evidence, [claim(measure)])
    assert one.why == "Measured. It holds with 2 of 3 seeds: 0.2 to 0.9. It depends on seed."
    (one,) = judge(seeds(0.45)[0], [claim(lambda _: Finding(0.45, "Measured.", (0.4, 0.6)))])
    assert one.why == "Measured. The interval reaches across 0.5."


@pytest.mark.parametrize(
    ("threshold", "value", "met"),
    [
        ("above 1", 1, False), ("at least 1", 1, True), ("below 1", 1, False), ("at most 1", 1, True),
        ("at most 1", math.inf, False), ("at least 1", math.nan, False), ("at most 1", math.nan, False),
    ],
)  # fmt: skip
def test_thresholds_are_tests_with_a_number(threshold: str, value: float, met: bool):
    assert claim(lambda _: Finding(0, ""), threshold=threshold).met(value) is met


@pytest.mark.parametrize("threshold", ["", "0.9", "at least", "at least much", "about 0.9"])
def test_a_threshold_that_cannot_be_decided_is_refused(threshold: str):
    with pytest.raises(WhatwhereError, match=r"expected a threshold such as 'at least 0.9'"):
        claim(lambda _: Finding(0, ""), threshold=threshold)


def test_what_the_value_does_not_express_can_fail_a_claim():
    evidence, _ = seeds(0.9)
    (one,) = judge(
        evidence, [claim(lambda _: Finding(0.9, "", (0.4, 1), rest_holds=False, elsewhere={"tau": {"1": 1}}))]
    )
    assert (one.verdict, one.depends_on) == ("fails", ())


def test_a_verdict_that_another_temperature_would_change_depends_on_it():
    evidence, _ = seeds(0.9)
    (one,) = judge(evidence, [claim(lambda _: Finding(0.9, "Measured.", elsewhere={"tau": {"0.01": 0.8, "0.1": 0.4}}))])
    assert (one.verdict, one.depends_on) == ("depends", ("tau",))
    assert one.why == (
        "Measured. With other tau (0.01 and 0.1): 0.8 and 0.4. "
        "It depends on tau; under the conditions of the claim it holds."
    )
    (one,) = judge(evidence, [claim(lambda _: Finding(0.9, "", elsewhere={"tau": {"0.01": 0.8}}))])
    assert one.verdict == "holds"


def test_a_verdict_of_some_seeds_says_why_another_has_none():
    evidence, measure = seeds(0.9, math.nan, 0.8)
    (one,) = judge(evidence, [claim(measure)])
    assert one.verdict == "holds"
    assert one.why.endswith("Measured with 2 of 3 seeds; with another: length letter is not there.")


@pytest.mark.parametrize("value", [0.9, 0.1, 0.5])
def test_a_question_that_one_seed_does_not_allow_is_open(value: float):
    evidence, measure = seeds(value, value)

    def of_first(one: Evidence) -> Finding:
        if one is not evidence[0]:
            raise NotTested("no head is needed.")
        return measure(one)

    (one,) = judge(evidence, [claim(of_first)])
    assert one.verdict == "open"
    assert one.why.endswith("Measured with 1 of 2 seeds; with another: no head is needed.")


def test_a_theorem_is_judged_once_whatever_the_number_of_seeds():
    known = Results(study_named("theorems"), None)
    evidence = [Evidence(lambda *_: known), Evidence(lambda *_: known)]

    def of_theory(one: Evidence) -> Finding:
        one.results("theorems")
        return Finding(0.9, "Proved.")

    (one,) = judge(evidence, [claim(of_theory, kind="theorem")])
    assert (one.verdict, one.seeds, one.why) == ("holds", (0.9,), "Proved.")


def test_a_verdict_names_the_models_that_it_rests_on_and_not_those_of_other_claims():
    known = Results(study_named("length"), None)
    evidence = Evidence(lambda *_: known)

    def of_models(one: Evidence) -> Finding:
        one.results("length", "number")
        one.results("length", "letter")
        return Finding(0.9, "Measured.")

    both, none = judge([evidence], [claim(of_models, kind="reading"), claim(lambda _: Finding(0.9, ""))])
    assert (both.models, none.models) == (("letter", "number"), ())
    assert (both.to_row()["models"], both.to_dict()["models"]) == ("letter number", ["letter", "number"])


def test_a_condition_that_only_some_seeds_were_measured_under_says_with_how_many():
    (first, second), measure = seeds(0.9, 0.8)

    def partly(one: Evidence) -> Finding:
        return replace(measure(one), elsewhere={"decoder": {"a probe": 0.2}} if one is first else {})

    (one,) = judge([first, second], [claim(partly)])
    assert (one.verdict, one.depends_on) == ("depends", ("decoder",))
    assert "With other decoder (a probe): 0.2, measured with 1 of 2 seeds." in one.why
    assert "It depends on decoder; under the conditions of the claim it holds." in one.why


def test_a_difference_between_seeds_is_not_one_of_a_condition_that_one_seed_was_measured_under():
    (first, second), measure = seeds(0.2, 0.9)

    def partly(one: Evidence) -> Finding:
        return replace(measure(one), elsewhere={"decoder": {"a probe": 0.3}} if one is first else {})

    (one,) = judge([first, second], [claim(partly)])
    assert (one.verdict, one.depends_on) == ("depends", ("seed",)), (
        "with the first seed both decoders say that it fails"
    )


@pytest.mark.parametrize(
    ("finding", "verdict", "depends"),
    [
        (Finding(0.1, "", (0.0, 0.2), elsewhere={"tau": {"1": 0.9}, "gamma": {"1": 0.3}}), "depends", ("tau",)),
        (Finding(0.55, "", (0.4, 0.7), elsewhere={"tau": {"1": 0.1}}), "open", ()),
        (Finding(0.1, "", (0.0, 0.2), elsewhere={"tau": {"1": 0.2}}), "fails", ()),
    ],
)
def test_only_a_sure_verdict_depends_on_other_conditions(finding: Finding, verdict: str, depends: tuple[str, ...]):
    (one,) = judge(seeds(0.9)[0], [claim(lambda _: finding)])
    assert (one.verdict, one.depends_on) == (verdict, depends)


def test_claims_are_counted_and_listed_by_kind():
    evidence, measure = seeds(0.9)
    low = claim(lambda _: Finding(0.1, "Low."), kind="theorem", paper_value="0.2", reading="more than half")
    judged = judge(evidence, [claim(measure), low, claim(measure)])
    assert counts(judged) == {"theorem": "1 fails", "trained": "2 holds"}
    theorems, trained = markdown(judged).split("## ")[1:]
    assert theorems.startswith("Theorems and identities: 1 fails\n") and theorems.count("\\| is blue") == 1
    assert "| fails | The sky \\| is blue | 0.1 | above 0.5: more than half | Section 1; 0.2 | Low. |" in theorems
    assert trained.startswith("Trained models: 2 holds\n") and trained.count("\\| is blue") == 2
    assert "Changed after" not in trained


def control_world(on_control: float) -> Evidence:
    """Evidence in which a study says 0.9 of the letter model, and another number of the control."""
    known = {"letter": 0.9, "letter-control": on_control, "number": 0.9}
    return Evidence(lambda _, model: Results(study_named("length"), None, "", inputs={"value": known[str(model)]}))


@pytest.mark.parametrize(
    ("kind", "model", "on_control", "verdict"),
    [
        ("trained", "letter", 0.1, "depends"), ("trained", "letter", 0.7, "holds"),
        ("trained", "number", 0.1, "holds"), ("reading", "letter", 0.1, "holds"),
    ],
)  # fmt: skip
def test_the_control_shows_what_depends_on_the_data(kind: Kind, model: str, on_control: float, verdict: str):
    def measure(one: Evidence) -> Finding:
        return Finding(one.results("length", model).inputs["value"], "Measured.")

    (one,) = judge([control_world(on_control)], [claim(measure, kind=kind)])
    assert (one.verdict, one.depends_on) == (verdict, ("data",) if verdict == "depends" else ())
    asked = (kind, model) == ("trained", "letter")
    assert ("On leak-free letter data" in one.why) == asked
    assert one.control == (("fails" if on_control < 0.5 else "holds", (on_control,)) if asked else None)
    assert (one.to_row()["control"], one.to_dict()["control"]) == (
        (one.control[0], {"verdict": one.control[0], "seeds": [on_control]}) if one.control else ("", None)
    )


def test_an_ill_posed_statement_has_no_verdict_and_says_what_it_lacks():
    evidence, measure = seeds(0.9)
    (one,) = judge(evidence, [claim(measure, ill_posed="It has no definition.")])
    assert (one.verdict, one.value) == ("ill-posed", 0.9)
    assert one.why == "It has no definition. Measured."


def test_without_results_every_claim_says_what_is_missing(tmp_path: Path):
    judged = judge([Evidence.in_directory(tmp_path)])
    assert {one.verdict for one in judged} == {"not tested"}
    assert all(one.missing and one.why for one in judged)


def test_ids_are_unique_and_every_field_says_something():
    claims = all_claims()
    assert len({one.id for one in claims}) == len({one.title for one in claims}) == len(claims) >= 50
    for one in claims:
        assert all((one.text, one.paper, one.measured, one.threshold, one.fixed, one.checksum)), one.id
        assert one.id == one.id.lower().replace(" ", "-")


def test_what_is_written_down_can_be_read_by_people_and_programs(tmp_path: Path):
    evidence, measure = seeds(0.9, 0.8)
    judged = judge(evidence, [claim(measure)])
    path = write_claims(tmp_path, judged)
    (content,) = json.loads(path.read_text())["claims"]
    assert (content["verdict"], content["value"], content["seeds"]) == ("holds", 0.9, [0.9, 0.8])
    row = pd.read_csv(tmp_path / "claims.csv").iloc[0]
    assert (row["id"], row["low"], row["inputs"]) == ("sky-is-blue", pytest.approx(0.8), 40)
    assert "The sky \\| is blue" in (tmp_path / "claims.md").read_text()
    assert "## Trained models: 1 holds" in markdown(judged)
    assert counts(judged) == {"trained": "1 holds"}


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (Finding(0.98765, "", (0.9, 1.0), 1200), "0.9877 (0.9 to 1), n = 1,200"),
        (Finding(0.5, "", None, 40), "0.5, n = 40"),
        (Finding(0.5, "", (0.25, 0.75)), "0.5 (0.25 to 0.75)"),
        (Finding(0.5, ""), "0.5"),
        (Finding(math.nan, "", (0.25, 0.75), 40), "-"),
    ],
)
def test_a_value_is_told_with_its_interval_and_inputs_where_it_has_them(finding: Finding, text: str):
    (one,) = judge(seeds(0.9)[0], [claim(lambda _: finding)])
    assert measured(one) == text
    assert f"| {text} | above 0.5 | Section 1 |" in markdown([one])


def test_a_threshold_that_was_changed_after_a_judgement_is_named(tmp_path: Path):
    evidence, measure = seeds(0.9)
    write_claims(tmp_path, judge(evidence, [claim(measure, checksum="a")]))
    write_claims(tmp_path, judge(evidence, [claim(measure, checksum="a")]))
    assert json.loads((tmp_path / "claims.json").read_text())["changes"] == []
    write_claims(tmp_path, judge(evidence, [claim(measure, checksum="b", threshold="above 0.95")]))
    path = write_claims(tmp_path, judge(evidence, [claim(measure, checksum="b", threshold="above 0.95")]))
    change = {"id": "sky-is-blue", "verdict": "holds", "was": "above 0.5", "is": "above 0.95"}
    assert json.loads(path.read_text())["changes"] == [change]
    assert "sky-is-blue: was judged holds with the threshold above 0.5; now it is above 0.95." in (
        path.with_suffix(".md").read_text()
    )


def test_a_measure_that_was_changed_after_a_judgement_is_named(tmp_path: Path):
    evidence, measure = seeds(0.9)
    write_claims(tmp_path, judge(evidence, [claim(measure, checksum="a")]))
    path = write_claims(tmp_path, judge(evidence, [claim(measure, checksum="b")]))
    assert "with the same threshold, above 0.5; its measure or its words were changed since." in (
        path.with_suffix(".md").read_text()
    )


@pytest.mark.parametrize("earlier", ["", "{}", '{"claims": 3}', '{"claims": [{"id": "sky-is-blue"}]}', "[[["])
def test_an_earlier_judgement_that_cannot_be_read_is_replaced(tmp_path: Path, earlier: str):
    (tmp_path / "claims.json").write_text(earlier)
    evidence, measure = seeds(0.9)
    path = write_claims(tmp_path, judge(evidence, [claim(measure)]))
    assert json.loads(path.read_text())["changes"] == []


def test_an_earlier_judgement_that_was_edited_brings_no_changes(tmp_path: Path):
    evidence, measure = seeds(0.9)
    path = write_claims(tmp_path, judge(evidence, [claim(measure, checksum="a")]))
    edited = path.read_text().replace("above 0.5", "above 0.9")
    assert edited != path.read_text()
    for content in (edited, edited.replace('"changes": []', '"changes": [1]')):
        path.write_text(content)
        write_claims(tmp_path, judge(evidence, [claim(measure, checksum="b")]))
        assert json.loads(path.read_text())["changes"] == []


RECORD = """
[sky-is-blue]
kind = "reading"
title = "The sky is blue"
text = "It is."
paper = "nowhere"
measured = "by looking"
measure = "look"
arguments = { place = "up" }
threshold = "at least 1"
"""


def test_claims_are_read_with_their_function_and_a_checksum(tmp_path: Path):
    path = tmp_path / "claims.toml"
    path.write_text(RECORD)
    functions = {"look": lambda evidence, place: Finding(1, f"{evidence} {place}")}
    (one,) = read_claims(path, functions)
    assert one.measure("look").why == "look up"
    path.write_text(RECORD.replace("at least 1", "at least 2"))
    (other,) = read_claims(path, functions)
    assert len({one.checksum, other.checksum, ""}) == len({one.question, other.question, ""}) == 3
    path.write_text(RECORD.replace("title = ", "title = 'Other words: ' # "))
    (reworded,) = read_claims(path, functions)
    assert reworded.question == one.question and reworded.checksum != one.checksum
    with pytest.raises(WhatwhereError, match="expected the name of a function as measure, got none"):
        read_claims(path, {})
    path.write_text(RECORD + 'colour = "blue"')
    with pytest.raises(WhatwhereError, match="got 'colour'"):
        read_claims(path, functions)


def test_names_from_data_bring_no_markup_into_a_table():
    assert escaped("a|b\n<script> `x` *y*") == "a\\|b &lt;script&gt; \\`x\\` \\*y\\*"


def test_words_for_lists():
    assert [listed(names) for names in ([], [1], [1, 2], [1, 2, 3])] == ["none", "1", "1 and 2", "1, 2 and 3"]


def test_what_held_before_and_no_longer_does_is_named(tmp_path: Path):
    evidence, measure = seeds(0.9)
    held = judge(evidence, [claim(measure)])
    baseline = tmp_path / "baseline.json"
    assert record("short", [held], baseline) == ["sky-is-blue"]
    assert regressions(held, "short", baseline) == []
    lost = [Judged(held[0].claim, "fails", "It rained.")]
    assert regressions(lost, "short", baseline) == [
        "sky-is-blue held in the baseline of short and is now: fails. It rained."
    ]
    assert regressions(lost, "paper", baseline) == [], "a preset without a record has no regressions"
    assert record("paper", [held, lost], baseline) == [], "only what holds everywhere is recorded"
    with pytest.raises(WhatwhereError, match="expected a preset of smoke, short, paper, zoo, got 'fast'"):
        record("fast", [held], baseline)
    with pytest.raises(WhatwhereError, match="expected at least one reproduction to record, got none"):
        record("short", [], baseline)


def test_the_control_is_judged_over_its_seeds():
    def measure(one: Evidence) -> Finding:
        return Finding(one.results("length", "letter").inputs["value"], "Measured.")

    (one,) = judge([control_world(0.1), control_world(0.2)], [claim(measure)])
    assert one.control == ("fails", (0.1, 0.2)) and one.depends_on == ("data",)
    assert "On leak-free letter data: fails (0.1, 0.2)." in one.why
    assert one.to_row()["control_seeds"] == "0.1 0.2"
    (one,) = judge([control_world(0.1), control_world(0.8)], [claim(measure)])
    assert one.control == ("depends", (0.1, 0.8)) and one.depends_on == ("data",)


@pytest.mark.slow
def test_a_judgement_says_which_models_it_was_made_on(tmp_path: Path):
    for home, seed in ((tmp_path, 3), (tmp_path / "seeds" / "4", 4)):
        Run(home / "number").create(replace(smoke(make_task("number")), seed=seed))
    evidence, measure = seeds(0.9)
    path = write_claims(tmp_path, judge(evidence, [claim(measure)]))
    assert [(one["model"], one["seed"]) for one in json.loads(path.read_text())["models"]] == [
        ("number", 3),
        ("number", 4),
    ]
    assert "- number: preset smoke, data in-range, seeds 3 and 4." in path.with_suffix(".md").read_text()
