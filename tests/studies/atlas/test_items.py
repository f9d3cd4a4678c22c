"""The numbers and verdicts of single items, from made-up tables whose answers are known."""

import math
from pathlib import Path

import pytest
from atlas_world import write_sweep
from dynamics_world import EARLY, POSITIONAL, START, SYMBOLIC, made_up, made_up_mechanism

from whatwhere.heads.estimate import Estimate
from whatwhere.studies.atlas.claim_map import judged_claims
from whatwhere.studies.atlas.item_outcomes import curve_of, outcomes_of
from whatwhere.studies.atlas.item_verdicts import NO_PARTNER, RESTATED, as_asked_today, judge_items
from whatwhere.studies.atlas.tables import Item, ItemVerdict
from whatwhere.studies.geometry import GEOMETRY
from whatwhere.studies.geometry.tables import FrequencyId, GeometrySettings
from whatwhere.studies.length import LENGTH
from whatwhere.studies.length.tables import Accuracy, Break, LengthSettings
from whatwhere.studies.mechanism.tables import Chain, LayersUsed
from whatwhere.studies.results import Results
from whatwhere.training.options import Options
from whatwhere.training.run import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    write_sweep(tmp_path, {"it": Options("letter", heads=2)}, {"it": [300, 400, 500, 600]})
    return Run(tmp_path / "items" / "it")


def exactly(value: float) -> Estimate:
    return Estimate(value, value, value, 100)


def test_timing_and_purity_are_those_of_the_curves(run: Run):
    def score(layer: int, step: int) -> tuple[float, float]:
        if step == 0:
            return START
        return (SYMBOLIC if layer else POSITIONAL) if step >= 300 + 100 * layer else EARLY

    found = outcomes_of(run, {"dynamics": made_up("letter", [300, 400, 500, 600], score, layers=4)})
    assert found["timing_gap"] == pytest.approx(found["step_hop4"] / found["step_hop1"])
    assert found["step_hop1"] == pytest.approx(200 + 100 * (0.9 - 0.2) / (0.99 - 0.2))
    assert (found["pure_positional"], found["pure_symbolic"], found["pure_share"]) == (1, 3, 1)
    assert found["pure_symbolic_tau0.1"] == 3
    assert (found["last_to_purify"], found["last_layer_is_last"], found["last_layer_never_pure"]) == (3, 1, 0)
    assert found["purity_order"] == pytest.approx(1.0)
    assert (found["learned"], found["worst_accuracy"], found["test_accuracy"]) == (1, 0.99, pytest.approx(0.99))


def test_a_last_layer_that_is_first_or_never_pure_is_not_last(run: Run):
    def backwards(layer: int, step: int) -> tuple[float, float]:
        return SYMBOLIC if step >= 800 - 100 * layer else EARLY

    found = outcomes_of(run, {"dynamics": made_up("letter", [300] * 4, backwards, layers=4)})
    assert (found["last_to_purify"], found["last_layer_is_last"], found["purity_order"]) == (0, 0, pytest.approx(-1))

    def never(layer: int, step: int) -> tuple[float, float]:
        return SYMBOLIC if layer < 3 and step >= 300 else EARLY

    found = outcomes_of(run, {"dynamics": made_up("letter", [300] * 4, never, layers=4)})
    assert (found["last_layer_is_last"], found["last_layer_never_pure"]) == (0, 1)
    assert math.isnan(found["purity_order"])
    found = outcomes_of(run, {"dynamics": made_up("letter", [300] * 4, lambda _a, _b: EARLY, layers=4)})
    assert found["pure_share"] == 0
    assert math.isnan(found["last_to_purify"])


def test_a_layer_with_pure_heads_of_both_kinds_is_split(run: Run):
    frame = made_up("number", [300] * 4, lambda _layer, _step: SYMBOLIC, layers=3, heads=2)
    scores = frame["scores"]
    chosen = (scores["layer"] == 1) & (scores["head"] == 0)
    scores.loc[chosen, ["positional", "symbolic"]] = POSITIONAL
    assert outcomes_of(run, {"dynamics": frame})["split_layers"] == 1


def test_a_class_that_is_never_learned_leaves_the_gap_undefined(run: Run):
    found = outcomes_of(run, {"dynamics": made_up("letter", [300, 400, 500, 9999])})
    assert math.isnan(found["timing_gap"])
    assert math.isnan(found["step_hop4"])


def test_the_mechanism_gives_sets_layers_and_chains(run: Run):
    mechanism = made_up_mechanism("letter", [2], "0.0 3.0 5.0", None)
    mechanism.write("layers_used", [LayersUsed(hop, exactly(hop + 0.8), 1, exactly(0.25), 0) for hop in (1, 4)])
    mechanism.write("chains", [Chain(hop, hop <= 4, exactly(1 - hop / 10), 0.1) for hop in range(1, 7)])
    found = outcomes_of(run, {"mechanism": mechanism})
    assert (found["sufficient_hop2"], found["sufficient_heads"], found["needed_heads"]) == (3, 3, 1)
    assert (found["layers_hop4"], found["layers_per_hop"], found["shortcut_share"]) == (4.8, 1.2, 0.25)
    assert found["chain_accuracy"] == pytest.approx((0.5 + 0.4) / 2)


def test_length_and_frequencies_are_those_of_the_whole_model(run: Run):
    length = Results(LENGTH, LengthSettings(), "letter")
    length.write("accuracy", [Accuracy(kind, n, hop, exactly(0.5 if hop is None else 1)) for kind in ("as trained", "x")
                              for n in (17, 145, 850) for hop in (1, None) if kind != "x" or hop == 1])  # fmt: skip
    cell = (None, None, None, None)
    length.write("breaks", [Break("accuracy", "measured", hop, *cell, 0.5, exactly(60.0 + (hop or 0)), 850)
                            for hop in (1, None)])  # fmt: skip
    geometry = Results(GEOMETRY, GeometrySettings(), "letter")
    ids = [
        FrequencyId(measure, layer, head, exactly(10.0 + layer + 2 * head), 0.1, 1, exactly(1), None, 0)
        for measure in ("variance", "norm") for layer in range(12) for head in (0, 1)
    ]  # fmt: skip
    geometry.write("ids", ids)
    found = outcomes_of(run, {"length": length, "geometry": geometry})
    assert (found["accuracy_145"], found["accuracy_850"], found["break_length"]) == (0.5, 0.5, 60)
    assert "accuracy_325" not in found
    assert found["frequency_layer0"] == pytest.approx(
        2 * 11
    )  # two heads share the width: 32 planes each, told as of 64
    assert found["frequency_first"] == pytest.approx(2 * (11 + 1.5))


def test_curves_are_thinned_and_keep_both_ends():
    dynamics = made_up("letter", [300, 400, 500, 600])
    points = curve_of("it", dynamics, 4)
    assert sorted({point.step for point in points}) == [0, 300, 700, 1000]
    assert len(points) == 4 * 4
    assert [point.accuracy for point in points if point.step == 300] == [0.99, 0.2, 0.2, 0.2]


def item(task: str, seed: int = 20, condition: str = "base", data: str = "paper") -> Item:
    return Item(f"{task}-{condition}-{seed}", task, seed, condition, data, 5e-4, 2500, 0.1, 1, 12, 1e-4, True)


@pytest.mark.slow
def test_claims_are_judged_on_an_item_or_on_a_pair_of_the_same_seed_and_settings():
    letter, number = item("letter"), item("number")
    decoy, alone = item("letter", condition="decoy", data="decoy"), item("letter", 21)
    any_integers = item("number", condition="any", data="any")
    together, apart = made_up("letter", [300] * 4), made_up("letter", [200, 400, 600, 800])
    order = made_up("number", [200, 400, 600, 800])
    results = {
        letter.item: {"dynamics": together}, decoy.item: {"dynamics": apart}, alone.item: {"dynamics": together},
        number.item: {"dynamics": order}, any_integers.item: {"dynamics": order},
    }  # fmt: skip
    rows = judge_items([letter, number, decoy, alone, any_integers], results, judged_claims())
    of = {(row.item, row.claim): row for row in rows}
    assert of[letter.item, "letter-hops-together"].met is True
    assert of[decoy.item, "letter-hops-together"].met is False
    assert of[number.item, "number-hops-in-order"].met is True
    assert (number.item, "letter-hops-together") not in of
    assert of[decoy.item, "control-hops-in-order"].met is True
    assert of[letter.item, "control-hops-in-order"].met is None
    both = "scores-start-high"
    assert of[letter.item, both].partner == of[decoy.item, both].partner == number.item
    assert of[any_integers.item, both].partner == letter.item
    assert (number.item, both) not in of  # the pair was told with the letter item
    assert of[alone.item, both].met is None
    assert of[alone.item, both].why == NO_PARTNER
    assert of[letter.item, "letter-heads-retrieval"].met is None
    assert "no results of mechanism" in of[letter.item, "letter-heads-retrieval"].why


def test_a_damaged_table_leaves_its_claims_untested(tmp_path: Path):
    write_sweep(tmp_path, {"it": Options("letter")}, {"it": [300] * 4})
    place = tmp_path / "items" / "it" / "dynamics"
    from whatwhere.studies.dynamics import DYNAMICS

    dynamics = Results.open(DYNAMICS, place, "it")
    (place / "scores.csv").write_text("nonsense")
    rows = judge_items([item("letter")], {item("letter").item: {"dynamics": dynamics}}, judged_claims())
    of = {row.claim: row for row in rows}
    assert of["letter-hops-together"].met is True
    assert of["letter-last-layer-last"].met is None
    assert "is not the file that manifest.json describes" in of["letter-last-layer-last"].why


def test_a_verdict_on_a_claim_that_was_restated_is_not_tested():
    first, second, *_ = judged_claims()
    stands = ItemVerdict("letter-20", None, first.id, 0.9, True, "", first.question)
    earlier = ItemVerdict("letter-20", None, second.id, 0.9, True, "", "another measure or threshold")
    gone = ItemVerdict("letter-20", None, "no-such-claim", 0.9, True, "", "")
    same, other = as_asked_today([stands, earlier, gone], [first, second])
    assert same == stands
    assert (other.claim, other.met, other.why) == (second.id, None, RESTATED)
    assert math.isnan(other.value)
