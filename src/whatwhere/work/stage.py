"""One part of a larger work, as data: what it needs, what it leaves on disk, what decides it, and how to run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from whatwhere.studies.mechanism.observation import Progress


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
