import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from checked_types import unchecked
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.model import dropout
from whatwhere.model.checkpoint import weights_of
from whatwhere.model.gptj import GPTJ
from whatwhere.model.kernel import fused
from whatwhere.model.kernel.build import Kernels, kernels
from whatwhere.store.tensors import load_tensors
from whatwhere.tasks import make_task
from whatwhere.training import gradient, loop
from whatwhere.training.config import Schedule, TrainingConfig
from whatwhere.training.distributed import ALONE, Processes
from whatwhere.training.interrupt import Interrupted
from whatwhere.training.loop import Progress, counters_of, train
from whatwhere.training.run import Run, State


def same_weights(first: GPTJ, second: GPTJ) -> bool:
    one, other = weights_of(first), weights_of(second)
    return all(np.array_equal(one[name].view(np.uint32), other[name].view(np.uint32)) for name in one | other)


def stop_at(step: int):
    """An observer that asks for a stop, as Ctrl-C would, once a step is reached."""

    def observe(progress: Progress) -> None:
        if progress.step == step:
            os.kill(os.getpid(), signal.SIGINT)

    return observe


@pytest.mark.slow
def test_a_run_leaves_what_the_design_promises(run: Run):
    model = train(run)
    rows = run.metrics()
    assert [row["step"] for row in rows] == run.steps()
    assert rows[-1]["step"] == run.config.schedule.steps
    wanted = {"step", "sequences", "loss", "lr", "seconds", "accuracy_hop1", "accuracy_hop4", "accuracy"}
    assert wanted <= rows[0].keys()
    assert np.isnan(rows[0]["loss"])
    assert rows[-1]["accuracy"] == pytest.approx(np.mean([rows[-1][f"accuracy_hop{hop}"] for hop in range(1, 5)]))
    assert same_weights(run.load(), model)
    assert run.load().task == run.task


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tmp_path: Path, config: TrainingConfig):
    models = []
    for name, seed in [("a", 0), ("b", 0), ("c", 1)]:
        run = Run(tmp_path / name)
        run.create(replace(config, seed=seed))
        models.append(train(run))
    assert same_weights(models[0], models[1])
    assert not same_weights(models[0], models[2])


@pytest.mark.parametrize("step", [1, 7, 20])
@pytest.mark.slow
def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path: Path, config: TrainingConfig, run: Run, step: int):
    undisturbed = Run(tmp_path / "undisturbed")
    undisturbed.create(config)
    expected = train(undisturbed)
    with pytest.raises(Interrupted):
        train(run, stop_at(step))
    assert same_weights(train(run), expected)
    untimed = [{k: v for k, v in row.items() if k != "seconds"} for row in run.metrics()]
    assert str(untimed) == str([{k: v for k, v in row.items() if k != "seconds"} for row in undisturbed.metrics()])
    for kept in run.steps():
        assert same_weights(run.load(kept), undisturbed.load(kept))


@pytest.mark.slow
def test_a_run_with_a_penalty_and_random_positions_goes_on_bit_for_bit(tmp_path: Path, config: TrainingConfig):
    config = replace(config, penalty=0.5, penalty_layers=(1,), offsets=9)
    undisturbed, run = Run(tmp_path / "undisturbed"), Run(tmp_path / "run")
    for each in (undisturbed, run):
        each.create(config)
    expected = train(undisturbed)
    with pytest.raises(Interrupted):
        train(run, stop_at(7))
    assert same_weights(train(run), expected)
    plain = Run(tmp_path / "plain")
    plain.create(replace(config, penalty=0.0, penalty_layers=(), offsets=0))
    assert not same_weights(train(plain), expected)


def test_positions_are_drawn_in_order_anew_at_each_step_from_the_seed(run: Run, config: TrainingConfig):
    training = loop._Training(run, print)
    assert training._positions(17) is None
    drawn = []
    for seed, step in ((0, 1), (0, 2), (1, 1), (0, 1)):
        training.config, training.step = replace(config, offsets=5, seed=seed), step
        positions = training._positions(17)
        assert positions is not None
        assert (positions.diff() > 0).all()
        assert int(positions[0]) >= 0 and int(positions[-1]) < 22
        drawn.append(positions.tolist())
    assert drawn[0] == drawn[3]
    assert drawn[0] != drawn[1] != drawn[2] != drawn[0]


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty"])
@pytest.mark.slow
def test_a_damaged_state_is_noticed_and_the_one_before_it_used(
    tmp_path: Path, config: TrainingConfig, run: Run, damage: str
):
    undisturbed = Run(tmp_path / "undisturbed")
    undisturbed.create(config)
    expected = train(undisturbed)
    with pytest.raises(Interrupted):
        train(run, stop_at(18))
    newest = max((run.directory / "resume").iterdir())
    content = newest.read_bytes()
    middle = len(content) // 2
    newest.write_bytes(
        {
            "truncate": content[:middle],
            "flip": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            "empty": b"",
        }[damage]
    )
    warnings: list[str] = []
    assert same_weights(train(run, warn=warnings.append), expected)
    assert len(warnings) == 1
    assert "Continuing from the state before it" in warnings[0]


@pytest.mark.slow
def test_a_run_whose_states_are_all_gone_begins_anew(run: Run):
    expected = train(run)
    for state in (run.directory / "resume").iterdir():
        state.write_bytes(b"nothing")
    warnings: list[str] = []
    assert same_weights(train(run, warn=warnings.append), expected)
    assert len(warnings) == 2


def test_a_full_disk_ends_with_a_message_and_whole_checkpoints(run: Run, monkeypatch: pytest.MonkeyPatch):
    written = 0
    write = Path.write_bytes

    def fills_up(path: Path, content: bytes) -> int:
        nonlocal written
        written += len(content)
        if written > 600_000:
            write(path, content[: len(content) // 2])
            raise OSError(28, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", fills_up)
    with pytest.raises(WhatwhereError, match="No space left on device"):
        train(run)
    assert run.steps()
    for step in run.steps():
        run.load(step)
    assert not list(run.directory.rglob("*.partial"))


@pytest.mark.slow
def test_training_learns(run: Run):
    rows = []
    longer = replace(run.config, schedule=Schedule(1e-2, 10, 170, hold=150), batch=32)
    target = Run(run.directory.parent / "longer")
    target.create(longer)
    train(target, lambda progress: rows.append(progress.loss))
    assert np.mean(rows[-10:]) < np.mean(rows[:10]) - 0.5


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_has_the_threads_of_its_configuration(tmp_path: Path, config: TrainingConfig, threads: int):
    run, before = Run(tmp_path / "run"), torch.get_num_threads()
    run.create(replace(config, threads=threads))
    torch.set_num_threads(3)
    try:
        loop._Training(run, pytest.fail)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


class Cancelled(Processes):
    """Processes whose gradients add up to nothing."""

    def sum_gradients(self, gradients: Sequence[Tensor]) -> None:
        for one in gradients:
            one.zero_()


@pytest.mark.parametrize("processes", [ALONE, Cancelled()])
def test_the_sum_of_all_processes_gradients_moves_the_weights(
    tmp_path: Path, config: TrainingConfig, processes: Processes
):
    run = Run(tmp_path / "run")
    run.create(replace(config, weight_decay=0.0))
    training = loop._Training(run, pytest.fail, processes)
    before = {name: value.copy() for name, value in weights_of(training.model).items()}
    training.step = 1
    training._step(0.1)
    moved = any((value != before[name]).any() for name, value in weights_of(training.model).items())
    assert moved is (processes is ALONE)


@pytest.mark.slow
def test_threads_change_a_run_by_the_order_of_sums_only(tmp_path: Path, config: TrainingConfig):
    losses = []
    for threads in (1, 2, 3):
        run = Run(tmp_path / str(threads))
        run.create(replace(config, threads=threads))
        seen: list[float] = []
        train(run, lambda progress, seen=seen: seen.append(progress.loss))
        losses.append(seen)
    np.testing.assert_allclose(losses[1:], [losses[0]] * 2, rtol=1e-4)


@pytest.mark.parametrize("compiled", [True, False] if kernels().library else [False])
@pytest.mark.slow
def test_bfloat16_trains_with_and_without_a_compiler(
    compiled: bool, tmp_path: Path, config: TrainingConfig, monkeypatch: pytest.MonkeyPatch
):
    if not compiled:
        for place in (loop, fused, dropout):
            monkeypatch.setattr(place, "kernels", lambda: Kernels(None, "none here"))
    run = Run(tmp_path / "run")
    run.create(replace(config, precision="bfloat16"))
    seen: list[float] = []
    warnings: list[str] = []
    train(run, lambda progress: seen.append(progress.loss), warnings.append)
    slow = "Training continues without compiled kernels, at about half the speed: none here"
    assert warnings == ([] if compiled else [slow])
    exact = Run(tmp_path / "exact")
    exact.create(config)
    expected: list[float] = []
    train(exact, lambda progress: expected.append(progress.loss))
    np.testing.assert_allclose(seen, expected, rtol=0.01)
    assert seen != expected


def test_an_epoch_visits_every_sequence_once(config: TrainingConfig, tmp_path: Path):
    run = Run(tmp_path / "run")
    run.create(replace(config, dataset_size=800))
    training = loop._Training(run, lambda _: None)
    size = len(training.train_set)
    batches = [training._batch(index)[0] for index in range(2 * size // 16)]
    seen = torch.cat(batches)[: 2 * size]
    for epoch in (seen[:size], seen[size:]):
        np.testing.assert_array_equal(
            np.unique(epoch.numpy(), axis=0), np.unique(training.train_set.tokens.astype(np.int64), axis=0)
        )
    assert not torch.equal(seen[:size], seen[size:])


@pytest.mark.parametrize("loss", ["nan", "inf"])
def test_a_rate_that_explodes_ends_with_advice(
    tmp_path: Path, config: TrainingConfig, monkeypatch: pytest.MonkeyPatch, loss: str
):
    run = Run(tmp_path / "run")
    run.create(config)
    monkeypatch.setattr(gradient.functional, "cross_entropy", lambda logits, *_, **__: logits.sum() * 0 + float(loss))
    with pytest.raises(WhatwhereError, match=f"the loss became {loss} at step 1; lower the learning rate"):
        train(run)


GOLDEN = [4.8636, 4.8459, 4.7882, 4.7121]
"""Mean losses of the smoke run on the letter task, a quarter of the steps each: a refactor must leave them alone."""


def test_the_golden_run_has_not_changed(run: Run):
    told: list[Progress] = []
    train(run, told.append)
    np.testing.assert_allclose(np.reshape([one.loss for one in told], (4, -1)).mean(1), GOLDEN, atol=2e-3)
    for one in told:
        assert one.sequences_per_second * one.seconds == pytest.approx(one.step * run.config.batch)
    assert [one.step for one in told if one.evaluated] == run.steps()[1:]


KILLS = 8
"""The long form of the fault suite kills a training 30 times (tests/faults/test_kills.py)."""


@pytest.mark.slow
def test_a_run_killed_many_times_ends_with_the_same_weights(tmp_path: Path, config: TrainingConfig):
    lasting = replace(config, schedule=Schedule(1e-3, 4, 704, hold=600), spacing=5)
    undisturbed, victim = Run(tmp_path / "undisturbed"), Run(tmp_path / "victim")
    for run in (undisturbed, victim):
        run.create(lasting)
    expected = train(undisturbed)
    rng = np.random.default_rng(0)
    code = (
        "import sys; from whatwhere.training.run import Run; from whatwhere.training.loop import train;"
        "run = Run(sys.argv[1]); print('ready', flush=True); train(run); print('done', flush=True)"
    )
    kills = 0
    while kills < KILLS:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(victim.directory)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.02, 0.6))
        process.kill()
        rest = process.stdout.read()
        process.wait()
        process.stdout.close()
        assert "done" not in rest, f"the run ended after {kills} kills; make it longer"
        kills += 1
        for path in victim.directory.glob("*/*.safetensors"):
            load_tensors(path, "what a kill left")
    assert same_weights(train(victim), expected)
    for step in undisturbed.steps():
        assert same_weights(victim.load(step), undisturbed.load(step))


def test_counters_that_are_damaged_are_named():
    with pytest.raises(WhatwhereError, match=r"the counters of the state, seconds: expected .*number"):
        counters_of(State(1, {}, {"seconds": "x", "loss_sum": 0.0, "loss_steps": 0}))
    with pytest.raises(WhatwhereError, match="the counters of the state: expected the fields"):
        counters_of(State(1, {}, {"wings": 2}))


@pytest.mark.parametrize(
    ("wanted", "each"), [(8, [2, 2, 2, 2]), (11, [2, 2, 2, 2]), (3, [1, 1, 1, 1]), (400, [5, 5, 5, 5])]
)
def test_accuracy_is_measured_on_the_first_inputs_of_each_hop_class(wanted: int, each: list[int]):
    batch = make_task("number").sample(22, seed=3)  # six of one and two hops, five of three and four
    chosen = loop._equal_classes(batch, wanted, 4)
    assert np.bincount(chosen.hops)[1:].tolist() == each
    assert chosen.hops[:4].tolist() == [1, 2, 3, 4]
    assert (chosen.tokens == batch.tokens[: len(chosen)]).all()


def test_batches_follow_the_order_of_their_epoch_and_go_on_into_the_next(run: Run, config: TrainingConfig):
    training = loop._Training(run, pytest.fail)
    size = len(training.train_set)
    orders = [np.random.default_rng([config.seed, epoch]).permutation(size) for epoch in (0, 1)]
    every = np.concatenate(orders)
    for index in (0, 1, size // 16, size // 16 + 1):
        tokens, answers = training._batch(index)
        rows = every[16 * index : 16 * index + 16]
        assert (tokens.numpy() == training.train_set.tokens[rows]).all()
        assert (answers.numpy() == training.train_set.answers[rows]).all()
        assert tokens.dtype == answers.dtype == torch.int64


@pytest.mark.slow
def test_a_state_is_saved_after_half_a_minute_without_a_checkpoint(run: Run, monkeypatch: pytest.MonkeyPatch):
    assert loop._SAVE_EVERY_SECONDS == 30
    saved: list[int] = []
    monkeypatch.setattr(Run, "save_state", lambda _, state: saved.append(state.step))
    train(run)
    assert saved == run.steps(), "the run is short: states are those of its checkpoints"
    saved.clear()
    monkeypatch.setattr(loop, "_SAVE_EVERY_SECONDS", -1.0)
    again = Run(run.directory.parent / "again")
    again.create(run.config)
    train(again)
    assert saved == list(range(25))


@pytest.mark.slow
def test_the_rows_of_the_metrics_are_what_they_are_called(run: Run):
    told: list[Progress] = []
    train(run, told.append)
    rows, config = run.metrics(), run.config
    assert [row["sequences"] for row in rows] == [16 * row["step"] for row in rows]
    assert [row["lr"] for row in rows[1:]] == [config.schedule.rate(int(row["step"])) for row in rows[1:]]
    assert rows[0]["lr"] == rows[0]["seconds"] == 0 and np.isnan(rows[0]["loss"])
    means = np.reshape([one.loss for one in told], (-1, config.spacing)).mean(1)
    assert [row["loss"] for row in rows[1:]] == pytest.approx(means, rel=1e-6)
    by_step = {row["step"]: row for row in rows}
    for one in told:
        assert (one.steps, one.rate, one.phase) == (24, config.schedule.rate(one.step), config.schedule.phase(one.step))
        if one.evaluated:
            shares = [by_step[one.step][f"accuracy_hop{hop}"] for hop in range(1, 5)]
            assert list(one.by_hop) == pytest.approx(shares)
            assert by_step[one.step]["accuracy"] == pytest.approx(np.mean(shares))
    seconds = [one.seconds for one in told]
    assert seconds == sorted(seconds) and rows[-1]["seconds"] == pytest.approx(seconds[-1])


@pytest.mark.slow
def test_a_run_that_goes_on_tells_its_own_speed_and_all_of_its_time(run: Run):
    with pytest.raises(Interrupted, match="9"):
        train(run, stop_at(8))
    state, _ = run.latest_state()
    assert state is not None
    before = state.counters["seconds"]
    told: list[Progress] = []
    train(run, told.append)
    assert [one.step for one in told] == list(range(10, 25))
    for one in told:
        sped = (one.step - 9) * run.config.batch / one.sequences_per_second
        assert one.seconds >= before
        assert sped == pytest.approx(one.seconds - before, rel=0.5, abs=0.05)


@pytest.mark.slow
def test_a_run_that_has_ended_is_not_trained_again(run: Run):
    first = train(run)
    told: list[Progress] = []
    assert same_weights(train(run, told.append), first)
    assert told == [] and [row["step"] for row in run.metrics()] == run.steps()


@pytest.mark.slow
def test_a_stop_in_the_last_step_is_an_end(run: Run):
    assert same_weights(train(run, stop_at(23)), run.load())


def test_a_state_begins_without_time_or_losses():
    assert vars(loop.Counters()) == {"seconds": 0, "loss_sum": 0, "loss_steps": 0}


@pytest.mark.parametrize("first", [True, False])
def test_the_first_process_holds_the_run_while_it_trains(run: Run, monkeypatch: pytest.MonkeyPatch, first: bool):
    asked: list[str] = []

    class Idle:
        def __init__(self, *_: object) -> None: ...

        def run_steps(self, *_: object) -> str:
            return "trained"

    monkeypatch.setattr(Run, "held", lambda _, work: asked.append(work) or nullcontext())
    monkeypatch.setattr(loop, "_Training", Idle)
    with unchecked():
        assert train(run, processes=SimpleNamespace(first=first)) == "trained"  # pyright: ignore
    assert asked == ["train"] * first
