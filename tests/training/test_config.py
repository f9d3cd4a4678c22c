from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.errors import WhatwhereError
from whatwhere.machine.limits import LARGEST_SEED
from whatwhere.model.gptj import GPTJ
from whatwhere.tasks import make_task
from whatwhere.training.config import Schedule, TrainingConfig, is_checkpoint
from whatwhere.training.presets import PRESETS, paper, preset, smoke

NUMBER = make_task("number")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_whole_configuration_that_survives_json(name: str):
    config = preset(name, NUMBER)
    assert config.preset == name
    assert TrainingConfig.from_dict(config.to_dict()) == config


def test_the_rate_warms_up_holds_and_falls_to_nothing():
    schedule = Schedule(peak=1.0, warmup=4, steps=13, hold=4)
    assert [schedule.rate(step) for step in range(1, 14)] == pytest.approx(
        [0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2]
    )
    assert [schedule.phase(step) for step in (1, 4, 5, 8, 9, 13)] == [
        "warm-up", "warm-up", "hold", "hold", "decay", "decay",
    ]  # fmt: skip


@given(warmup=st.integers(0, 500), hold=st.integers(0, 3000), decay=st.integers(1, 3000))
@pytest.mark.slow
def test_the_rate_never_leaves_its_bounds(warmup: int, hold: int, decay: int):
    schedule = Schedule(peak=1.0, warmup=warmup, steps=warmup + hold + decay, hold=hold)
    assert all(0 < schedule.rate(step) <= 1 for step in range(1, schedule.steps + 1))


def test_the_paper_preset_is_the_authors_recipe():
    config = paper(NUMBER)
    assert config.schedule == Schedule(peak=1e-4, warmup=750, steps=20_250)
    assert (config.betas, config.weight_decay, config.batch, config.clip) == ((0.95, 0.999), 1e-4, 64, 1.0)
    assert (config.model.dropout, config.model.attention_dropout, config.model.activation) == (0.1, 0.1, "gelu")
    assert (config.model.layers, config.model.heads, config.model.d_model, config.model.d_mlp) == (12, 1, 128, 512)


def test_the_paper_preset_keeps_about_five_hundred_checkpoints():
    config = paper(NUMBER)
    kept = [step for step in range(config.schedule.steps + 1) if is_checkpoint(config, step)]
    assert (kept[0], kept[1], kept[-1], len(kept)) == (0, 40, 20_250, 508)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": 0}, "expected batch of 1 or more, got 0"),
        ({"threads": 0}, "expected threads of 1 or more"),
        ({"threads": 5000}, "expected threads of at most 1,024, got 5,000"),
        ({"seed": 2**64}, "expected seed of at most"),
        ({"spacing": 0}, "expected spacing of 1 or more"),
        ({"task": make_task("letter")}, "expected a model with the 128 tokens of the letter task, got one with 136"),
        ({"clip": 0.0}, "expected clip above 0"),
        ({"weight_decay": -1.0}, "weight_decay of 0 or more"),
        ({"penalty": -1.0}, "expected a penalty of 0 or more, got -1.0"),
        ({"penalty": float("nan")}, "expected a penalty of 0 or more, got nan"),
        ({"penalty_layers": (0,)}, "expected a penalty with penalty_layers, got none"),
        ({"penalty": 1.0, "penalty_layers": (2,)}, r"expected penalty_layers among 0 to 1, each once, got \(2,\)"),
        ({"penalty": 1.0, "penalty_layers": (1, 1)}, r"each once, got \(1, 1\)"),
        ({"offsets": -1}, "expected offsets of 0 to 32,768 positions, got -1"),
        ({"offsets": 10**6}, "expected offsets of 0 to 32,768 positions, got 1,000,000"),
    ],
)
def test_impossible_runs_are_refused(changes: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        replace(smoke(NUMBER), **changes)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0.0, 1, 1), "expected a learning rate above 0, got 0.0"),
        ((float("nan"), 1, 1), "expected a learning rate above 0, got nan"),
        ((1.0, -1, 1), "got warmup -1"),
        ((1.0, 5, 4), "that fit into steps"),
        ((1.0, 2, 4, 3), "that fit into steps"),
        ((1.0, 0, 0), "got warmup 0, hold 0, steps 0"),
    ],
)
def test_impossible_schedules_are_refused(numbers: tuple[Any, ...], message: str):
    with pytest.raises(WhatwhereError, match=message):
        Schedule(*numbers)


def test_damaged_configurations_are_refused():
    content = smoke(NUMBER).to_dict()
    with pytest.raises(WhatwhereError, match="got 'colour'"):
        TrainingConfig.from_dict(content | {"colour": 1})
    with pytest.raises(WhatwhereError, match="expected the field 'schedule', got none"):
        TrainingConfig.from_dict({key: value for key, value in content.items() if key != "schedule"})
    with pytest.raises(WhatwhereError, match=r"the run's schedule: .* got 'speed'"):
        TrainingConfig.from_dict(content | {"schedule": {"speed": 1}})
    with pytest.raises(WhatwhereError, match="the run's configuration, batch: expected a valid integer, got '16'"):
        TrainingConfig.from_dict(content | {"batch": "16"})
    with pytest.raises(WhatwhereError, match="expected a task as its name and parameters, got 'number'"):
        TrainingConfig.from_dict(content | {"task": "number"})


def test_an_unknown_preset_is_refused_with_those_that_exist():
    with pytest.raises(WhatwhereError, match="expected a preset of smoke, short, paper, got 'fast'"):
        preset("fast", NUMBER)


def test_long_inputs_are_refused_with_a_penalty_only():
    task = make_task("letter", target=300, context=300)
    with pytest.raises(WhatwhereError, match=r"at most 512 tokens with a penalty, got 601.*Shorten a window"):
        replace(smoke(task), penalty=0.1)
    assert smoke(task).penalty == 0


def test_configurations_written_before_a_field_existed_still_load_and_keep_their_name():
    content = smoke(NUMBER).to_dict()
    assert not {"penalty", "penalty_layers", "offsets"} & set(content)
    assert TrainingConfig.from_dict(content) == smoke(NUMBER)
    used = replace(smoke(NUMBER), penalty=0.5, penalty_layers=(0, 1), offsets=3)
    assert TrainingConfig.from_dict(used.to_dict()) == used
    assert used.decisive() != smoke(NUMBER).decisive()


@pytest.mark.parametrize("task", ["number", "letter"])
def test_memory_is_ten_times_the_weights_and_twice_the_data_with_eight_batches(task: str):
    config = smoke(make_task(task))
    weights = sum(each.nbytes for each in GPTJ(config.model, seed=0).parameters())
    batch = config.task.sample(5, seed=0)
    sequence = sum(array.nbytes for array in batch.arrays().values()) / len(batch)
    assert config.memory == 10 * weights + 2 * sequence * (config.dataset_size + 8 * config.batch)


def test_what_is_not_said_is_the_authors_recipe():
    config = TrainingConfig(NUMBER, smoke(NUMBER).model, Schedule(1e-3, 0, 1))
    assert (config.preset, config.seed, config.dataset_size, config.batch) == ("custom", 0, 480_000, 64)
    assert (config.weight_decay, config.betas, config.clip) == (1e-4, (0.95, 0.999), 1.0)
    assert (config.spacing, config.validation, config.threads) == (40, 400, 2)
    assert (config.device, config.precision) == ("cpu", "float32")
    assert (config.penalty, config.penalty_layers, config.offsets) == (0, (), 0)
    assert config.schedule.hold == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"batch": 1}, {"spacing": 1}, {"validation": 1}, {"threads": 1}, {"dataset_size": 1}, {"threads": 1024},
        {"seed": LARGEST_SEED}, {"seed": 0}, {"weight_decay": 0.0}, {"clip": 1e-9}, {"offsets": 32_768}, {"offsets": 1},
        {"penalty": 1e-9}, {"penalty": 1.0, "penalty_layers": (0,)}, {"penalty": 1.0, "penalty_layers": (1, 0)},
    ],
)  # fmt: skip
def test_values_at_the_limits_are_taken(changes: dict[str, Any]):
    assert TrainingConfig.from_dict(replace(smoke(NUMBER), **changes).to_dict()) == replace(smoke(NUMBER), **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset_size": 0}, "expected dataset_size of 1 or more, got 0"),
        ({"validation": 0}, "expected validation of 1 or more, got 0"),
        ({"threads": 1025}, "expected threads of at most 1,024, got 1,025"),
        ({"seed": LARGEST_SEED + 1}, "expected seed of at most 9,223,372,036,854,775,807"),
        ({"seed": -1}, "expected a seed of 0 or more, got -1"),
        ({"weight_decay": float("nan")}, "weight_decay of 0 or more, got 1.0 and nan"),
        ({"clip": float("nan")}, "expected clip above 0"),
        ({"offsets": 32_769}, "expected offsets of 0 to 32,768 positions, got 32,769"),
        ({"penalty": float("inf")}, "expected a penalty of 0 or more, got inf"),
        ({"penalty": 1.0, "penalty_layers": (-1,)}, r"among 0 to 1, each once, got \(-1,\)"),
    ],
)
def test_values_just_beyond_the_limits_are_refused(changes: dict[str, Any], message: str):
    with pytest.raises(WhatwhereError, match=message):
        replace(smoke(NUMBER), **changes)


@pytest.mark.parametrize(("context", "refused"), [(211, False), (212, True)])
def test_up_to_512_tokens_can_be_penalised(context: int, refused: bool):
    config = smoke(make_task("letter", target=300, context=context))
    if refused:
        with pytest.raises(WhatwhereError, match="at most 512 tokens with a penalty, got 513"):
            replace(config, penalty=0.1)
    else:
        assert replace(config, penalty=0.1).task.length == 512


@pytest.mark.parametrize(
    ("peak", "warmup", "steps", "hold"), [(1e-9, 0, 1, 0), (1.0, 1, 1, 0), (1.0, 0, 1, 1), (1.0, 2, 4, 2)]
)
def test_a_schedule_may_be_short_or_have_no_decay(peak: float, warmup: int, steps: int, hold: int):
    schedule = Schedule(peak, warmup, steps, hold)
    assert schedule.rate(steps) == peak
    assert schedule.phase(steps) == ("hold" if hold else "warm-up" if warmup else "decay")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((0.0, 0, 1, 0), "expected a learning rate above 0, got 0.0"),
        ((float("inf"), 0, 1, 0), "expected a learning rate above 0, got inf"),
        ((float("nan"), 0, 1, 0), "expected a learning rate above 0, got nan"),
        ((1.0, -1, 1, 0), "got warmup -1, hold 0, steps 1"),
        ((1.0, 0, 1, -1), "got warmup 0, hold -1, steps 1"),
        ((1.0, 0, 0, 0), "got warmup 0, hold 0, steps 0"),
        ((1.0, 1, 2, 2), "got warmup 1, hold 2, steps 2"),
    ],
)
def test_an_impossible_schedule_is_refused(asked: tuple[float, int, int, int], message: str):
    with pytest.raises(WhatwhereError, match=message):
        Schedule(*asked)


def test_the_decay_begins_after_the_hold_and_ends_one_step_before_nothing():
    schedule = Schedule(peak=2.0, warmup=2, steps=10, hold=3)
    assert [schedule.rate(step) for step in range(1, 11)] == pytest.approx([1, 2, 2, 2, 2, 2, 1.6, 1.2, 0.8, 0.4])
    assert [schedule.phase(step) for step in (2, 3, 5, 6)] == ["warm-up", "hold", "hold", "decay"]


def test_a_run_may_go_on_with_another_device_precision_or_number_of_threads():
    config = smoke(NUMBER)
    other = replace(config, device="cuda", precision="bfloat16", threads=7)
    assert other.decisive() == config.decisive()
    assert replace(config, batch=17).decisive() != config.decisive()
    assert set(config.to_dict()) - set(config.decisive()) == {"device", "precision", "threads"}


def test_a_checkpoint_is_kept_at_each_spacing_and_at_the_end():
    config = replace(smoke(NUMBER), spacing=5)
    assert [step for step in range(25) if is_checkpoint(config, step)] == [0, 5, 10, 15, 20, 24]
