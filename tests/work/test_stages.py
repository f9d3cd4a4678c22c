"""Stages of toy work: the second doubles what the first wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store.storage import save_tensors
from whatwhere.studies.mechanism.observation import Progress
from whatwhere.work.stage import Event, Stage
from whatwhere.work.stages import Work


class Toy:
    """Two stages, and a log of what ran."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log: list[str] = []
        self.fail = False

    def work(self, number: int = 3, factor: int = 2, costly: bool = False) -> Work:
        def first(directory: Path, progress: Progress) -> None:
            self.log.append("make-one")
            directory.mkdir(exist_ok=True)
            progress("writing", 0, 1)
            (directory / "one.txt").write_text(str(number))

        def second(directory: Path, _: Progress) -> None:
            self.log.append("make-two")
            if self.fail:
                (directory / "part.txt").write_text("half")
                raise KeyboardInterrupt
            self.log += ["goes on"] * (directory / "part.txt").exists()
            (directory / "two.txt").write_text(str(factor * int((directory / "one.txt").read_text())))

        return Work(
            [
                Stage("make-one", "one made", (), ("one.txt",), {"number": number}, first, costly=costly),
                Stage("make-two", "two made", ("make-one",), ("t*.txt", "part.txt"), {"factor": factor}, second),
            ],
            self.directory,
        )

    def run(self, work: Work, *only: str) -> list[tuple[str, Event]]:
        self.log.clear()
        events: list[tuple[str, Event]] = []
        work.run(work.choose(only), lambda stage, event: events.append((stage.name, event)))
        return events


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path / "work")


def test_what_is_done_is_kept(toy: Toy) -> None:
    assert toy.run(toy.work()) == [(f"make-{n}", event) for n in ("one", "two") for event in ("begun", "done")]
    assert (toy.directory / "two.txt").read_text() == "6"
    assert toy.run(toy.work()) == [("make-one", "kept"), ("make-two", "kept")]
    assert toy.log == []


def test_changed_settings_run_a_stage_and_what_needs_it(toy: Toy) -> None:
    toy.run(toy.work())
    toy.run(toy.work(factor=5))
    assert toy.log == ["make-two"]
    toy.run(toy.work(number=4, factor=5))
    assert toy.log == ["make-one", "make-two"]
    assert (toy.directory / "two.txt").read_text() == "20"


def test_changed_or_lost_results_are_made_again(toy: Toy) -> None:
    toy.run(toy.work())
    (toy.directory / "two.txt").write_text("7")
    toy.run(toy.work())
    assert toy.log == ["make-two"]
    assert (toy.directory / "two.txt").read_text() == "6"
    (toy.directory / "one.txt").unlink()
    toy.run(toy.work())
    assert toy.log == ["make-one"]  # it made the same again, so what needs it stays


def test_an_interrupted_stage_goes_on_and_its_time_adds_up(toy: Toy) -> None:
    toy.fail = True
    with pytest.raises(KeyboardInterrupt):
        toy.run(toy.work())
    work = toy.work()
    begun = work.record(work.stages["make-two"])
    assert begun is not None
    assert begun.results is None
    toy.fail = False
    toy.run(work)
    assert toy.log == ["make-two", "goes on"]
    done = work.record(work.stages["make-two"])
    assert done is not None
    assert done.seconds > begun.seconds > 0
    assert done.bytes == len("6") + len("half")


def test_an_interrupted_stage_begins_anew_when_its_inputs_changed(toy: Toy) -> None:
    toy.fail = True
    with pytest.raises(KeyboardInterrupt):
        toy.run(toy.work())
    toy.fail = False
    toy.run(toy.work(factor=5))
    assert toy.log == ["make-two"]
    assert not (toy.directory / "part.txt").exists()


def test_costly_results_are_never_cleared(toy: Toy) -> None:
    toy.run(toy.work(costly=True))
    toy.directory.joinpath("one.txt").write_text("own")
    work = toy.work(number=9, costly=True)
    seen: list[str] = []
    stage = work.stages["make-one"]
    work.stages["make-one"] = Stage(
        "make-one", "", (), stage.leaves, stage.settings, lambda d, _: seen.append((d / "one.txt").read_text()),
        costly=True,
    )  # fmt: skip
    work.run(work.choose(["make-one"]))
    assert seen == ["own"]


def test_a_check_refuses_before_anything_is_done(toy: Toy) -> None:
    work = toy.work()

    def refuse(_: Path) -> None:
        raise WhatwhereError("not this directory")

    work.stages["late"] = Stage("late", "", (), (), {}, lambda _d, _p: None, check=refuse)
    with pytest.raises(WhatwhereError, match="not this directory"):
        work.run(work.choose(["make"]))
    assert not toy.directory.exists()


def test_stages_are_chosen_by_name_or_group_in_order(toy: Toy) -> None:
    work = toy.work()
    assert [stage.name for stage in work.choose(["make-two", "make-one"])] == ["make-one", "make-two"]
    assert [stage.name for stage in work.choose(["make"])] == ["make-one", "make-two"]
    with pytest.raises(WhatwhereError, match=r"a stage \(make-one, make-two\).*'made' arrived"):
        work.choose(["made"])


def test_a_stage_without_what_it_needs_is_refused(toy: Toy) -> None:
    with pytest.raises(WhatwhereError, match="make-two needs make-one, whose results are not all in"):
        toy.run(toy.work(), "make-two")
    toy.run(toy.work())
    (toy.directory / "one.txt").unlink()
    with pytest.raises(WhatwhereError, match="make-two needs make-one"):
        toy.run(toy.work(), "make-two")


def test_a_damaged_record_is_explained(toy: Toy) -> None:
    toy.run(toy.work())
    (toy.directory / "stages" / "make-one.json").write_text('{"colour": "red"}')
    with pytest.raises(WhatwhereError, match=r"the record of a stage at .* has the unknown field 'colour'"):
        toy.run(toy.work())


def test_changed_weights_are_noticed_by_their_checksum(tmp_path: Path) -> None:
    import numpy as np

    path = tmp_path / "a.safetensors"
    save_tensors(path, {"a": np.zeros(4)})
    stage = Stage("a", "", (), ("*.safetensors",), {}, lambda _d, _p: None, costly=True)
    events: list[Event] = []
    for value in (0.0, 0.0, 1.0):
        save_tensors(path, {"a": np.full(4, value)})
        Work([stage], tmp_path).run([stage], lambda _, event: events.append(event))
    assert events == ["begun", "done", "kept", "begun", "done"]


def test_a_damaged_time_is_explained(toy: Toy) -> None:
    toy.run(toy.work())
    (toy.directory / "stages" / "elapsed.json").write_text('{"seconds": "many"}')
    with pytest.raises(WhatwhereError, match="should tell seconds, and 'many' stands there; remove it"):
        _ = toy.work().elapsed


def test_a_directory_removed_while_a_stage_works_does_not_come_back(tmp_path: Path) -> None:
    directory = tmp_path / "work"

    def run(_: Path, __: object) -> None:
        shutil.rmtree(directory)

    work = Work([Stage("sweep-up", "sweeps up", (), ("*.csv",), {}, run)], directory)
    with pytest.raises(WhatwhereError, match="was removed while the stage sweep-up was at work there"):
        work.run(list(work.stages.values()))
    assert not directory.exists()
