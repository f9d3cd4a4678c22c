"""The one rule of validity: a directory of results has a ``manifest.json`` that tells what made it and what is in it.

    settings, inputs     what decides the results: options, and fingerprints of the model or run they were made from
    files                the SHA-256 of each file
    complete             whether the work has ended

A file is whole if its checksum is the manifest's. Results are up to date if settings and inputs are those that are
asked for and the work has ended; if it has not, it goes on. Commands, pipelines, sweeps and reports all ask it. The
code is not part of the rule: the manifest names the version that wrote it, the command notes when that is another one,
and ``--force`` measures anew.

Before a file is replaced, the manifest takes the checksum of the new content beside that of the old one (``writing``).
So a process that is killed between the two leaves a file that the manifest knows, whichever of the two it is.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import parse, plain, read_json, write_json
from whatwhere.store.files import read_bytes, remove_file, write_bytes

Existing = Literal["keep", "replace", "discard"]
"""What becomes of results that are there: see :meth:`Manifest.begin`."""
FORMAT = 2
"""Of every directory that is written; it grows when an older whatwhere would misread one."""
NAME = "manifest.json"
_TRIES, _PAUSE = 5, 0.05
"""How often and after how many seconds a file is read again that does not fit."""
_OF_EARLIER_VERSIONS = ("settings.json", "stages")


@dataclass(frozen=True)
class ManifestRecord:
    """What a manifest holds."""

    format: int
    whatwhere: str
    """The version that wrote it."""
    kind: str
    """The study that the results belong to, or ``run``."""
    settings: dict[str, Any]
    inputs: dict[str, Any]
    complete: bool = False
    seconds: float = 0.0
    """Time spent on it, over all sittings."""
    files: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of each file."""
    writing: dict[str, str] = field(default_factory=dict)
    """The SHA-256 of the file that is being replaced."""


class Manifest:
    """The manifest of one directory.

    Args:
        directory: the directory; it need not exist yet.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = Path(directory)
        self.path = self.directory / NAME
        self._record: ManifestRecord | None = None
        self._stale: tuple[str, ...] = ()
        """Files of earlier results, which go with the first write."""
        self._anchor: Path | None = self.path
        """What the next write expects to be there: without it, the directory was removed, and must not come back."""

    @property
    def exists(self) -> bool:
        """Whether the directory holds results."""
        return self._record is not None or self.path.is_file()

    @property
    def record(self) -> ManifestRecord:
        """What the manifest says.

        Raises:
            WhatwhereError: there is none, it is damaged, or it has a newer format.
        """
        if self._record is None:
            self._record = self._read()
        return self._record

    def _read(self) -> ManifestRecord:
        if not self.path.is_file():
            raise WhatwhereError(f"expected results with a {NAME} in {self.directory}, got none.{self._older()}")
        content = read_json(self.path, "the manifest of the results")
        found = content.get("format")
        if type(found) is not int or found > FORMAT:
            raise WhatwhereError(
                f"{self.path}: expected a format up to {FORMAT}, got {found!r}. It was written by a newer whatwhere: "
                "update this one."
            )
        checksum = content.pop("checksum", None)
        if checksum != fingerprint(content):
            raise WhatwhereError(f"{self.path} is damaged or was edited: remove {self.directory} and make it anew.")
        return self._settled(parse(ManifestRecord, content, f"the manifest {self.path}"))

    def _settled(self, record: ManifestRecord) -> ManifestRecord:
        """Finds out whether the file that was being written got its new content before the process ended."""
        files = dict(record.files)
        for name, checksum in record.writing.items():
            path = self.directory / name
            if path.is_file() and _sha256(read_bytes(path, "a file of the results")) == checksum:
                files[name] = checksum
        return replace(record, files=files, writing={})

    def _older(self) -> str:
        if any((self.directory / name).exists() for name in _OF_EARLIER_VERSIONS):
            return (
                " What is there was made by whatwhere 0.1, which this version does not read: choose another directory."
            )
        return ""

    def begin(
        self,
        kind: str,
        settings: object,
        inputs: Mapping[str, Any],
        *,
        existing: Existing = "keep",
        advice: str = "choose another directory",
    ) -> None:
        """Takes the directory for results of one kind; nothing on disk changes until the first of them is there.

        Args:
            kind: what the results are (the study's name).
            settings: a record or mapping; what a user chose.
            inputs: fingerprints of what the results are made from.
            existing: what becomes of earlier results. Those of the same settings and inputs stay, unless it is
                ``discard``; others are refused by ``keep`` and replaced by ``replace`` and ``discard``.
            advice: what the caller's user may do about other results.

        Raises:
            WhatwhereError: it holds other results, and ``existing`` is to keep them.
        """
        wanted = {"kind": kind, "settings": plain(settings), "inputs": plain(inputs)}
        begun = ManifestRecord(format=FORMAT, whatwhere=version("whatwhere"), **wanted)
        stale: tuple[str, ...] = ()
        if self.exists:
            known, stale = {name: getattr(self.record, name) for name in wanted}, tuple(self.record.files)
            if known == wanted and existing != "discard":
                return
            if known != wanted and stale and existing == "keep":
                raise WhatwhereError(f"{self.directory} holds other results: {_difference(known, wanted)}; {advice}.")
        elif older := self._older():
            raise WhatwhereError(f"{self.directory} cannot take results.{older}")
        self._record, self._stale = begun, stale
        self._anchor = self.directory if self.directory.is_dir() else None

    def is_made_with(self, kind: str, settings: object) -> bool:
        """Whether the directory holds results of this kind and settings, of whatever inputs."""
        return self.exists and (self.record.kind, self.record.settings) == (kind, plain(settings))

    def is_current(self, kind: str, settings: object, inputs: Mapping[str, Any]) -> bool:
        """Whether the directory holds all results of this kind, settings and inputs, each file whole."""
        if not self.is_made_with(kind, settings) or self.record.inputs != plain(inputs):
            return False
        paths = {self.directory / name: checksum for name, checksum in self.record.files.items()}
        whole = (path.is_file() and _sha256(path.read_bytes()) == checksum for path, checksum in paths.items())
        return self.record.complete and all(whole)

    def put(self, name: str, content: bytes) -> None:
        """Writes a file that the manifest vouches for."""
        checksum = _sha256(content)
        self._rewrite(replace(self.record, writing={name: checksum}))
        write_bytes(self.directory / name, content)
        self._record = replace(self.record, files={**self.record.files, name: checksum}, writing={})

    def get(self, name: str, what: str) -> bytes:
        """Reads a file and checks it.

        Raises:
            WhatwhereError: it is missing, damaged, or another's.
        """
        for _ in range(_TRIES):
            content = read_bytes(self.directory / name, what)
            if _sha256(content) == self.record.files.get(name):
                return content
            self._record = None  # another process may have written both meanwhile
            time.sleep(_PAUSE)
        raise WhatwhereError(
            f"{what} at {self.directory / name} is not the file that {NAME} describes: it was damaged, edited or put "
            "there from elsewhere. Remove it and run the command again."
        )

    def has(self, name: str) -> bool:
        """Whether a file is there and the manifest knows it.

        Raises:
            WhatwhereError: something that is not a file is in its place.
        """
        path = self.directory / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise WhatwhereError(f"expected a file at {path}, got something else. Remove it and run the command again.")
        return path.is_file() and name in self.record.files

    def has_lost_files(self) -> bool:
        """Whether a file that the manifest names was removed."""
        paths = (self.directory / name for name in self.record.files)
        return any(not path.exists() and not path.is_symlink() for path in paths)

    def finish(self, seconds: float) -> None:
        """Records that the work has ended, and the time it took in this sitting."""
        self._rewrite(replace(self.record, complete=True, seconds=self.record.seconds + seconds))

    def pause(self, seconds: float) -> None:
        """Records the time of a sitting that did not end the work."""
        self._rewrite(replace(self.record, seconds=self.record.seconds + seconds, complete=False))

    def _rewrite(self, record: ManifestRecord) -> None:
        if self._anchor is not None and not self._anchor.exists():
            raise WhatwhereError(f"{self.directory} was removed while it was written to; run the command again.")
        for name in self._stale:
            remove_file(self.directory / name)
        self._stale, self._anchor = (), self.path
        content = plain(record)
        write_json(self.path, {**content, "checksum": fingerprint(content)})
        self._record = record


def fingerprint(description: object) -> str:
    """A short name for a description: equal ones (as JSON) have equal names."""
    return hashlib.sha256(json.dumps(plain(description), sort_keys=True).encode()).hexdigest()[:16]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _difference(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The first thing in which two sets of results differ."""
    if known["kind"] != wanted["kind"]:
        return f"expected those of {wanted['kind']!r}, got those of {known['kind']!r}"
    for part, name in (("inputs", "another {}"), ("settings", "{}")):
        for key in {**known[part], **wanted[part]}:
            before, now = known[part].get(key), wanted[part].get(key)
            if before != now:
                return f"expected {name.format(key)} {now!r:.60}, got {before!r:.60}"
    raise AssertionError("no difference")
