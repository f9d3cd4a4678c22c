import json
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.studies import study_named
from whatwhere.studies.vocabularies.run_factors import conditions_of
from whatwhere.training.config import TrainingConfig
from whatwhere.work import sweep_spec
from whatwhere.work.sweep_spec import Item, read_sweep


def items(tmp_path: Path, text: str, name: str = "sweep.toml") -> list[Item]:
    (tmp_path / name).write_text(text)
    return read_sweep(tmp_path / name)


def training(item: Item) -> TrainingConfig:
    config = item.training
    assert config is not None
    return config


def test_every_combination_is_an_item_with_a_name_of_its_own(tmp_path: Path):
    made = items(tmp_path, 'preset = "smoke"\ntask = ["number", "letter"]\nseed = [0, 1]\nrope_base = [0, 1e4]\n')
    assert [item.name for item in made] == [
        f"{task}-seed{seed}-rope_base{base}" for task in ("number", "letter") for seed in (0, 1) for base in (0, 10000)
    ]
    first, last = training(made[0]), training(made[-1])
    assert (first.task.name, first.seed, first.model.rope_base) == ("number", 0, None)
    assert (last.task.name, last.seed, last.model.rope_base, last.preset) == ("letter", 1, 10000.0, "smoke")
    assert {training(item).threads for item in made} == {1}


def test_grids_stand_side_by_side_on_common_ground(tmp_path: Path):
    text = """
        preset = "smoke"
        seed = [0, 1]
        [measure.length]
        inputs = 20
        [[grid]]
        task = "number"
        symbols = [60, 120]
        close = "1-4"
        [[grid]]
        task = "letter"
        heads = 2
    """
    made = items(tmp_path, text)
    assert [item.name for item in made] == [
        "number-seed0-symbols60-close1-4", "number-seed0-symbols120-close1-4", "number-seed1-symbols60-close1-4",
        "number-seed1-symbols120-close1-4", "letter-seed0-heads2", "letter-seed1-heads2",
    ]  # fmt: skip
    assert training(made[0]).task.vocab_size == 76
    assert training(made[0]).model.closed_planes == ((1, 2, 3, 4),) * 2
    assert made[0].measures == {"length": {"inputs": 20}}


def test_models_are_named_by_themselves_or_by_a_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("runs/a", "runs/b"):
        (tmp_path / name).mkdir(parents=True)
    made = items(tmp_path, 'models = ["number", "runs/*", "s3://bucket/run"]')
    assert [item.settings["model"] for item in made] == ["number", "runs/a", "runs/b", "s3://bucket/run"]
    assert [item.name for item in made] == ["number", "runs_a", "runs_b", "s3_bucket_run"]
    assert {item.training for item in made} == {None}
    assert made[0].measures == {"heads": {}}
    absolute = items(tmp_path, f'models = ["{tmp_path}/runs/*"]')
    assert [item.settings["model"] for item in absolute] == [f"{tmp_path}/runs/a", f"{tmp_path}/runs/b"]


def test_json_says_the_same_as_toml(tmp_path: Path):
    content = {"task": ["letter"], "preset": "smoke", "seed": [3]}
    toml = items(tmp_path, 'task = ["letter"]\npreset = "smoke"\nseed = [3]')
    assert items(tmp_path, json.dumps(content), "sweep.json") == toml


def test_what_is_the_machines_does_not_make_another_item(tmp_path: Path):
    made = [
        items(tmp_path, f'task = "letter"\npreset = "smoke"\nprecision = "{p}"')[0] for p in ("float32", "bfloat16")
    ]
    assert training(made[0]).decisive() == training(made[1]).decisive()
    assert made[0].decisive() != made[1].decisive()  # asked for by name, it does


TWICE = 'task = "number"\n[[grid]]\nlr = 0.1\n[[grid]]\nlr = 0.10000001'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "asks for nothing: give it a task"),
        ("task = ", "is not valid TOML"),
        ('seed = [0]\npreset = "smoke"', "lacks the task"),
        ('task = "number"\ncolour = 1', "unknown entry 'colour'"),
        ('task = "number"\nseed = []', "seed in .* expected a value or a list of values"),
        ('task = "number"\nseed = ["x"]', "number-seedx of .* is impossible: the item, seed: expected a valid integer"),
        ('task = "number"\nheads = [3]', "the item number-heads3 of .* is impossible: expected d_model"),
        ('task = ["number", "letter"]\nsymbols = [60]', "the item letter-symbols60 of .* got 'symbols'"),
        ('task = "colour"', "the item colour of .* is impossible"),
        ('task = "number"\nclose = "a"', "expected planes by their IDs from 1, such as 1-8,20, got 'a'"),
        ('task = "number"\nclose = "5-2"', "expected planes by their IDs"),
        ('task = "number"\n[[grid]]\nseed = 1\n[[grid]]\nseed = 1\nheads = 1\n[grid2]', "unknown entry 'grid2'"),
        ('grid = 3\ntask = "number"', r"headed \[\[grid\]\]"),
        ('task = "number"\n[measure]\nspeed = 3', r"expected a table \[measure.STUDY\] for each study"),
        ('task = "number"\n[measure.speed]', "expected a study of dynamics"),
        ('task = "number"\n[measure.atlas]', r"expected studies of a model or a run in \[measure.STUDY\], got 'atlas'"),
        ('task = "number"\n[measure.chat]', "got 'chat', which is asked alone: whatwhere chat"),
        ('task = "number"\n[measure.length]\ncolour = 1', "study 'length': expected a setting of"),
        ("models = 3", "models in .*: expected a list of names and paths"),
        ('models = ["nowhere/at/all"]', "there is nothing of that name or at that path"),
        ('models = ["nowhere/*"]', "there are none"),
        (TWICE, "two different items of the name 'number-lr0.1'"),
        ('task = "number"\nseed = [0, 1, 2]\nbatch = [1, 2, 3, 4]', "expected at most 10 items, got 12; split it"),
    ],
)  # fmt: skip
def test_a_specification_with_a_mistake_is_refused_as_a_whole(
    tmp_path: Path, text: str, message: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sweep_spec, "MOST_ITEMS", 10)
    with pytest.raises(WhatwhereError, match=message):
        items(tmp_path, text)


@pytest.mark.parametrize(("text", "message"), [("[1]", "should hold an object"), ("{", "is not valid JSON")])
def test_json_of_another_kind_is_refused(tmp_path: Path, text: str, message: str):
    with pytest.raises(WhatwhereError, match=message):
        items(tmp_path, text, "sweep.json")


def test_a_specification_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(WhatwhereError, match=r"expected the specification of a sweep.* at .*nowhere.toml"):
        read_sweep(tmp_path / "nowhere.toml")
    with pytest.raises(
        WhatwhereError,
        match=r"at hops, got nothing there.*name a study that brings one: atlas, preference, vocabularies\.",
    ):
        read_sweep(Path("hops"))  # a study that brings none


def test_the_conditions_of_the_atlas_ship_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    made = read_sweep(Path("atlas"))
    assert len(made) == len({item.name for item in made}) == 99
    assert made[0].name == "letter-seed20-generatorpaper"
    assert {training(item).seed for item in made} == {20, 21, 22}
    assert list(made[0].measures) == ["dynamics", "mechanism", "geometry", "length"]
    Path("atlas").write_text('preset = "smoke"\ntask = "letter"\n')  # a file of that name goes before
    assert [item.name for item in read_sweep(Path("atlas"))] == ["letter"]


def test_the_sizes_of_vocabularies_ship_and_change_one_at_a_time_around_a_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    made = {item.name: training(item) for item in read_sweep(Path("vocabularies"))}
    conditions = conditions_of(made)
    by_task = {
        task: sorted({conditions[name] for name, one in made.items() if one.task.name == task})
        for task in ("letter", "number")
    }
    assert by_task["letter"] == ["base", "hops 4", "length 17", "parts 2", "vocabulary 320"]
    assert by_task["number"] == ["base", "hops 4", "length 17", "length 17, parts 2", "parts 2", "vocabulary 575"]
    assert len(made) == 3 * sum(map(len, by_task.values())) == 33
    assert {one.seed for one in made.values()} == {20, 21, 22}


def test_the_evidence_of_vocabularies_adds_larger_sizes_to_the_same_runs():
    default = study_named("vocabularies").sweep
    assert default is not None
    small, large = (
        {item.name: item for item in read_sweep(path)} for path in (default, default.parent / "evidence.toml")
    )
    assert all(large[name].decisive() == item.decisive() for name, item in small.items())
    conditions = conditions_of({name: training(item) for name, item in large.items()})
    assert len(large) == 48
    assert {conditions[name] for name in large.keys() - small.keys()} == {
        "length 33", "parts 2, vocabulary 4352", "parts 4", "vocabulary 4352",
    }  # fmt: skip
