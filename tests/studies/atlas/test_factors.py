import pytest

from whatwhere.studies.atlas.factors import changes_of, condition_of, condition_text, item_of, without
from whatwhere.training.options import Options


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        (Options("letter", seed=21), "base"),
        (Options("letter", generator="paper", lr=5e-4, steps=2500, heads=1), "base"),
        (Options("letter", generator="decoy"), "decoy"),
        (Options("number", distractors="any"), "any-integers"),
        (Options("number", lr=2e-4), "rate x0.5"),
        (Options("letter", generator="decoy", lr=1e-3), "decoy, rate x2"),
        (Options("number", steps=4400), "steps x2"),
        (Options("letter", attention_dropout=0.0), "attention dropout 0"),
        (Options("letter", heads=4), "heads 4"),
        (Options("letter", layers=6, weight_decay=0.1), "layers 6, weight decay 0.1"),
        (Options("letter", preset="paper"), "recipe paper"),
    ],
)
def test_a_condition_is_named_by_what_differs_from_the_preset_and_can_be_read_back(options: Options, condition: str):
    assert condition_of(options.config()) == condition
    assert condition_text(changes_of(condition)) == condition


def test_a_setting_that_is_a_list_stays_one_word():
    named = condition_of(Options("letter", close="1-2", layers=2).config())
    assert changes_of(named) == {"closed planes": "((1+2)+(1+2))", "layers": "2"}


def test_both_tasks_have_conditions_of_the_same_names():
    names = [condition_of(Options(task, lr=2 * rate).config()) for task, rate in (("letter", 5e-4), ("number", 4e-4))]
    assert names == ["rate x2", "rate x2"]


def test_a_factor_can_be_taken_out_of_a_condition():
    assert without("decoy, rate x2", "data") == "rate x2"
    assert without("decoy, rate x2", "rate") == "decoy"
    assert without("rate x2", "rate") == "base"
    assert without("rate x2", "heads") == "rate x2"


def test_the_row_of_a_run_has_its_settings():
    row = item_of("it", Options("letter", generator="decoy", heads=2, lr=1e-3, seed=20).config(), learned=True)
    assert (row.task, row.seed, row.condition, row.data, row.rate) == (
        "letter",
        20,
        "decoy, heads 2, rate x2",
        "decoy",
        1e-3,
    )
    assert (row.steps, row.attention_dropout, row.heads, row.layers, row.learned) == (2500, 0.1, 2, 12, True)
    assert item_of("it", Options("number").config(), learned=False).data == "in-range"
