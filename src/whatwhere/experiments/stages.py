"""Work in stages, each skipped when its results are there and its inputs are unchanged.

A stage is data: what it needs, what it leaves on disk, what decides it, and how to run it. Of each stage that was begun
``DIR/stages/NAME.json`` records a fingerprint of its inputs (its settings and the results of the stages it needs),
and once it is done, one of its results. So a stage runs again if its settings, anything before it or its own results
changed, and not otherwise; an interrupted one goes on, as far as its own work can.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from whatwhere.errors import WhatwhereError
from whatwhere.experiments.observation import Progress
from whatwhere.storage import read_json, remove_file, write_json


@dataclass(frozen=True)
class Stage:
    """One part of the work."""

    name: str
    title: str
    """What it does, for people."""
    needs: tuple[str, ...]
    """The stages whose results it reads."""
    leaves: tuple[str, ...]
    """Its results: patterns of files below the directory of the work."""
    settings: Mapping[str, Any]
    """What decides the results besides those; it must be JSON."""
    run: Callable[[Path, Progress], None]
    """Does the work below a directory, and says how far it is."""
    costly: bool = False
    """Results that are never cleared; ``run`` goes on with what is there."""
    check: Callable[[Path], None] = lambda _: None
    """Refuses a directory whose results this stage must not touch; asked of all stages before anything is done."""

    @property
    def group(self) -> str:
        """``train`` for ``train-number``: stages that can be asked for together."""
        return self.name.partition("-")[0]


@dataclass(frozen=True)
class Record:
    """What is known of a stage that was begun."""

    stage: str
    inputs: str
    results: str | None = None
    """Fingerprint of the results; None until it is done."""
    seconds: float = 0.0
    """Time spent on it, over all sittings."""
    bytes: int = 0
    """Size of the results."""


Event = Literal["kept", "begun", "done"]
Observer = Callable[[Stage, Event], None]
Said = Callable[[str, str, int, int], None]
"""Told the stage, what it is doing, how much of that is done, and how much there is."""


@runtime_checkable
class Crew(Protocol):
    """Those who do the stages."""

    size: int
    """How many stages they can do at a time."""

    def begin(self, stage: Stage) -> None:
        """Takes on a stage."""
        ...

    def wait(self) -> str:
        """Waits until a stage is done, and names it; raises whatever ended one of them early."""
        ...


class Alone:
    """A crew of one, in this process.

    Args:
        directory: of the work.
        said: told how far the stage is.
    """

    size = 1

    def __init__(self, directory: Path, said: Said = lambda _stage, _what, _done, _total: None) -> None:
        self._directory, self._said = directory, said
        self._stage: Stage | None = None

    def begin(self, stage: Stage) -> None:
        """Takes on a stage."""
        self._stage = stage

    def wait(self) -> str:
        """Does it."""
        assert self._stage is not None
        name = self._stage.name
        self._stage.run(self._directory, lambda what, done, total: self._said(name, what, done, total))
        return name


class Work:
    """Stages in the order in which they run, each after all that it needs, and the directory they fill.

    Args:
        stages: the stages.
        directory: where everything goes; it need not exist yet.
    """

    def __init__(self, stages: Sequence[Stage], directory: Path) -> None:
        self.stages = {stage.name: stage for stage in stages}
        self.directory = directory

    def choose(self, names: Collection[str]) -> list[Stage]:
        """The stages of these names or groups, all if there are none, in order.

        Raises:
            WhatwhereError: there is no such stage.
        """
        known = {name for stage in self.stages.values() for name in (stage.name, stage.group)}
        for name in names:
            if name not in known:
                raise WhatwhereError(
                    f"a stage ({', '.join(self.stages)}) or a group of them was expected, and {name!r} arrived."
                )
        return [stage for stage in self.stages.values() if not names or {stage.name, stage.group} & set(names)]

    def run(
        self,
        chosen: Sequence[Stage],
        observer: Observer = lambda _stage, _event: None,
        crew: Crew | None = None,
    ) -> None:
        """Runs what is not done yet; whatever ends it early, the same call goes on.

        Args:
            chosen: what to run, in order.
            observer: told when a stage is begun, done, or kept as it is.
            crew: those who do it; by default one after the other in this process.

        Raises:
            WhatwhereError: a needed stage is not done and not among the chosen, or the work itself cannot be done.
        """
        for stage in self.stages.values():
            stage.check(self.directory)
        crew = crew or Alone(self.directory)
        waiting = list(chosen)
        running: dict[str, float] = {}
        try:
            while waiting or running:
                self._begin_what_can(waiting, running, crew, observer)
                if running:
                    name = self._wait(crew)
                    self._end(name, running.pop(name), done=True)
                    observer(self.stages[name], "done")
        finally:  # time counts also when it was interrupted
            for name, began in running.items():
                self._end(name, began, done=False)

    def _begin_what_can(self, waiting: list[Stage], running: dict[str, float], crew: Crew, observer: Observer) -> None:
        """Begins stages that wait for nothing, while the crew has hands free; those that are done only pass by."""
        for stage in list(waiting):
            if len(running) == crew.size:
                return
            if set(stage.needs) & ({other.name for other in waiting} | set(running)):
                continue
            inputs, record = self._inputs(stage), self.record(stage)
            waiting.remove(stage)
            if record is not None and record.inputs == inputs and self._whole(stage, record):
                observer(stage, "kept")
                continue
            observer(stage, "begun")
            self._prepare(stage, record, inputs)
            running[stage.name] = time.perf_counter()
            crew.begin(stage)

    def _wait(self, crew: Crew) -> str:
        """The next stage that is done; the time until then counts, whatever ends it."""
        since = time.perf_counter()
        try:
            return crew.wait()
        finally:
            passed = self.elapsed + time.perf_counter() - since
            write_json(self._elapsed_path, {"seconds": passed})

    @property
    def elapsed(self) -> float:
        """Seconds in which stages were at work here, over all sittings; those side by side count once."""
        path = self._elapsed_path
        return float(read_json(path, "the time that passed").get("seconds", 0.0)) if path.is_file() else 0.0

    @property
    def _elapsed_path(self) -> Path:
        return self.directory / "stages" / "elapsed.json"

    def record(self, stage: Stage) -> Record | None:
        """What is known of a stage, if it was begun here.

        Raises:
            WhatwhereError: the record is damaged.
        """
        path = self._record_path(stage)
        if not path.is_file():
            return None
        try:
            return Record(**read_json(path, "the record of a stage"))
        except TypeError as error:
            raise WhatwhereError(
                f"{path} is not the record of a stage ({error}); remove it to run the stage."
            ) from error

    def _prepare(self, stage: Stage, record: Record | None, inputs: str) -> None:
        """Clears results that other inputs made or that were changed, and records the beginning."""
        goes_on = record is not None and record.inputs == inputs and record.results is None
        if record is not None and not goes_on and not stage.costly:
            for path in self._files(stage):
                remove_file(path)
        spent = record.seconds if record is not None and (goes_on or stage.costly) else 0.0
        self._write(Record(stage.name, inputs, seconds=spent), stage)

    def _end(self, name: str, began: float, *, done: bool) -> None:
        """Records what a stage left and how long it took, done or not."""
        stage = self.stages[name]
        record = self.record(stage)
        assert record is not None
        size = sum(path.stat().st_size for path in self._files(stage))
        spent = record.seconds + time.perf_counter() - began
        results = self._results(stage) if done else None
        self._write(replace(record, results=results, seconds=spent, bytes=size), stage)

    def _inputs(self, stage: Stage) -> str:
        """A fingerprint of what decides a stage's results."""
        needed = {}
        for name in stage.needs:
            record = self.record(self.stages[name])
            if record is None or not self._whole(self.stages[name], record):
                raise WhatwhereError(
                    f"the stage {stage.name} needs {name}, whose results are not all in {self.directory}. "
                    "Leave --only out, or name it too."
                )
            needed[name] = record.results
        return _digest([json.dumps([stage.name, stage.settings, needed], sort_keys=True).encode()])

    def _whole(self, stage: Stage, record: Record) -> bool:
        """Whether the results are there as they were left."""
        return record.results is not None and record.results == self._results(stage)

    def _results(self, stage: Stage) -> str:
        return _digest(
            part
            for path in self._files(stage)
            for part in (path.relative_to(self.directory).as_posix().encode(), _content(path))
        )

    def _files(self, stage: Stage) -> list[Path]:
        return sorted({path for pattern in stage.leaves for path in self.directory.glob(pattern) if path.is_file()})

    def _record_path(self, stage: Stage) -> Path:
        return self.directory / "stages" / f"{stage.name}.json"

    def _write(self, record: Record, stage: Stage) -> None:
        write_json(self._record_path(stage), asdict(record))


def _content(path: Path) -> bytes:
    """A file's content; of safetensors the header and the size, as ours carry a checksum of all else in the header."""
    if path.suffix != ".safetensors":
        return path.read_bytes()
    with path.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        header = opened.read(min(length, 1 << 20))
    with suppress(ValueError):  # damaged: then its bytes tell that it changed
        header = json.dumps(json.loads(header), sort_keys=True).encode()  # its entries come in any order
    return header + str(path.stat().st_size).encode()


def _digest(parts: Iterator[bytes] | Sequence[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
