import math

import pytest
from atlas_world import LEAK, atlas_rows

from whatwhere.studies.atlas.seed_effects import effects, paired, recipes, values_of
from whatwhere.studies.atlas.tables import Item, Outcome


def row(item: str, condition: str, seed: int, learned: bool = True) -> Item:
    return Item(item, "letter", seed, condition, "paper", 5e-4, 2500, 0.1, 1, 12, 1e-4, learned)


def test_differences_are_paired_by_seed_and_leave_out_seeds_that_lack_one():
    items = [row("a", "base", 20), row("b", "base", 21), row("c", "rate x2", 21), row("d", "rate x2", 22)]
    outcomes = [Outcome(name, "pure_share", value) for name, value in zip("abcd", (0.1, 0.2, 0.7, 0.9), strict=True)]
    values = values_of(items, outcomes)
    assert paired(values, "letter", "pure_share", "rate x2", "base") == {21: pytest.approx(0.5)}
    (effect,) = effects(values)
    assert (effect.factor, effect.level, effect.at, effect.reference) == ("rate", "x2", "base", 0.2)
    assert (effect.difference.value, effect.difference.n) == (pytest.approx(0.5), 1)
    assert math.isnan(effect.difference.low)


def test_the_preset_stands_beside_the_authors_recipe_for_each_task_and_data_that_both_have():
    conditions = ("base", "recipe paper", "decoy", "decoy, recipe paper", "recipe other", "layers 4, recipe paper")
    items = [row(f"{name}-{seed}", name, seed) for name in conditions for seed in (20, 21)]
    outcomes = [
        Outcome(item.item, "timing_gap", 1 + conditions.index(item.condition) + item.seed - 20) for item in items
    ]
    rows = recipes(values_of(items, [*outcomes, Outcome(items[0].item, "break_length", 1.0)]))
    told = {one.condition: (one.short.value, one.paper.value, one.paper.n) for one in rows}
    assert told == {"base": (1.5, 2.5, 2), "decoy": (3.5, 4.5, 2)}
    assert {one.outcome for one in rows} == {"timing_gap"}


def test_items_that_did_not_learn_count_for_learning_alone():
    items = [row("a", "base", 20), row("b", "base", 21, learned=False)]
    outcomes = [Outcome(name, what, 1.0) for name in "ab" for what in ("learned", "pure_share")]
    values = values_of(items, outcomes)
    assert set(values["letter", "base", "learned"]) == {20, 21}
    assert set(values["letter", "base", "pure_share"]) == {20}


def test_a_factor_is_told_at_each_setting_of_the_others():
    items, outcomes, _, _ = atlas_rows()
    found = [one for one in effects(values_of(items, outcomes)) if (one.task, one.outcome) == ("letter", "timing_gap")]
    leak = {one.at: one.difference for one in found if (one.factor, one.level) == ("data", "decoy")}
    assert set(leak) == {"base", "rate x0.5", "rate x2", "attention dropout 0", "weight decay 0.1"}
    assert leak["base"].value == pytest.approx(LEAK + 0.03)  # the mean of 0, 0.03 and 0.06 comes on top
    assert leak["rate x2"].value == pytest.approx(LEAK + 0.03 + 0.05)


def test_an_interaction_is_the_difference_of_two_differences():
    items, outcomes, _, _ = atlas_rows()
    found = effects(values_of(items, outcomes))
    both = {(one.factor, one.level): one for one in found if " x " in one.factor}
    assert set(both) == {
        ("data x rate", "decoy, rate x0.5"), ("data x rate", "decoy, rate x2"),
        ("data x attention dropout", "decoy, attention dropout 0"),
    }  # fmt: skip
    assert both["data x rate", "decoy, rate x2"].difference.value == pytest.approx(0.05)
    assert both["data x rate", "decoy, rate x0.5"].difference.value == pytest.approx(0.0, abs=1e-12)
    assert both["data x rate", "decoy, rate x2"].outcome == "timing_gap"
    assert both["data x attention dropout", "decoy, attention dropout 0"].outcome == "pure_share"
