from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.tasks import make_task
from whatwhere.training.config import Schedule, TrainingConfig, checkpoint_steps
from whatwhere.training.presets import PRESETS, laptop, paper, preset, smoke

NUMBER = make_task("number")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_whole_configuration_that_survives_json(name: str):
    config = preset(name, NUMBER)
    assert config.preset == name
    assert TrainingConfig.from_dict(config.to_dict()) == config


def test_the_rate_warms_up_holds_and_falls_to_nothing():
    schedule = Schedule(peak=1.0, warmup=4, hold=3, hold_at_most=6, decay=5)
    assert [schedule.rate(step, 8) for step in range(1, 14)] == pytest.approx(
        [0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2]
    )
    assert schedule.rate(500, None) == 1.0


@given(warmup=st.integers(0, 500), hold=st.integers(0, 30_000), decay=st.integers(1, 3000), count=st.integers(1, 600))
def test_checkpoints_rise_from_the_start_to_the_last_step(warmup: int, hold: int, decay: int, count: int):
    schedule = Schedule(peak=1.0, warmup=warmup, hold=hold, hold_at_most=hold, decay=decay)
    steps = checkpoint_steps(replace(laptop(NUMBER), schedule=schedule, checkpoints=count))
    assert steps[0] == 0
    assert steps[-1] == schedule.longest
    assert steps == sorted(set(steps))
    assert len(steps) <= count + 2


def test_the_presets_keep_as_many_checkpoints_as_they_promise():
    assert len(checkpoint_steps(laptop(NUMBER))) >= 40
    assert 450 <= len(checkpoint_steps(paper(NUMBER))) <= 502


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": 0}, "batch must be 1 or more, not 0"),
        ({"threads": 0}, "threads must be 1 or more"),
        ({"threads": 5000}, "threads must be at most 1,024, not 5,000"),
        ({"seed": 2**64}, "seed must be at most"),
        ({"checkpoints": 10**9}, "checkpoints must be at most 1,000,000"),
        ({"task": make_task("letter")}, "the letter task has 128 tokens, and the model 136"),
        ({"clip": 0.0}, "clip must be above 0"),
        ({"weight_decay": -1.0}, "weight_decay not below"),
    ],
)
def test_impossible_runs_are_refused(changes: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        replace(smoke(NUMBER), **changes)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0.0, 1, 1, 1, 1), "the learning rate must be above 0"),
        ((1.0, -1, 1, 1, 1), "a schedule needs"),
        ((1.0, 1, 5, 1, 1), "hold_at_most of at least hold"),
        ((1.0, 0, 0, 0, 0), "one step in all"),
    ],
)
def test_impossible_schedules_are_refused(numbers: tuple[float, int, int, int, int], message: str):
    with pytest.raises(WhatwhereError, match=message):
        Schedule(*numbers)


def test_damaged_configurations_are_refused():
    content = smoke(NUMBER).to_dict()
    with pytest.raises(WhatwhereError, match="unknown field 'colour'"):
        TrainingConfig.from_dict(content | {"colour": 1})
    with pytest.raises(WhatwhereError, match="lacks 'schedule'"):
        TrainingConfig.from_dict({key: value for key, value in content.items() if key != "schedule"})
    with pytest.raises(WhatwhereError, match="the run's schedule has the unknown field 'speed'"):
        TrainingConfig.from_dict(content | {"schedule": {"speed": 1}})
    with pytest.raises(WhatwhereError, match="batch of the run's configuration should be a whole number, and '16'"):
        TrainingConfig.from_dict(content | {"batch": "16"})
    with pytest.raises(WhatwhereError, match="a task is described by its name"):
        TrainingConfig.from_dict(content | {"task": "number"})


def test_an_unknown_preset_is_refused_with_those_that_exist():
    with pytest.raises(WhatwhereError, match=r"\(smoke, quick, laptop, paper\) was expected, and 'fast' arrived"):
        preset("fast", NUMBER)
