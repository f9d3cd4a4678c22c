"""The rule of validity: a directory of results has a ``manifest.json`` with its settings, inputs and checksums.

    settings, inputs     what determines the results: options, and fingerprints of the model or run
    files                the SHA-256 of each file
    complete             whether the work is finished

A file is valid if its checksum is the one in the manifest. Results are up to date if they are complete and have the
requested settings and inputs; incomplete work continues. Commands, pipelines, sweeps and reports all use this rule.
The version of the code is recorded but not compared: a command notes a difference, and ``--force`` measures again.

Before a file is replaced, the manifest records the new checksum too (``writing``). If the process is killed in between,
the file on disk matches one of the two.
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
"""What to do with existing results: see :meth:`Manifest.begin`."""
FORMAT = 2
"""Format of new directories; it increases when an older whatwhere would misread one."""
NAME = "manifest.json"
_TRIES, _PAUSE = 5, 0.05
"""How often, and after how many seconds, a file with the wrong checksum is read again."""
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
    """Time spent, over all sessions."""
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
        """Files of earlier results, which the first write removes."""
        self._anchor: Path | None = self.path
        """A path that must exist before the next write: if it is gone, the user removed the directory."""

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
            raise WhatwhereError(f"{self.path} is damaged or was edited: remove {self.directory} and make it again.")
        return self._settled(parse(ManifestRecord, content, f"the manifest {self.path}"))

    def _settled(self, record: ManifestRecord) -> ManifestRecord:
        """Checks whether the file in ``writing`` got its new content before the process ended."""
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
        held: bool = False,
    ) -> None:
        """Prepares the directory for results of one kind; nothing on disk changes until the first file is written.

        Args:
            kind: what the results are (the study's name).
            settings: a record or mapping of the user's options.
            inputs: fingerprints of what the results are made from.
            existing: what to do with earlier results. ``discard`` removes them; otherwise those of the same settings
                and inputs stay, and others are an error (``keep``) or removed (``replace``).
            advice: what the error tells the user to do about other results.
            held: whether the caller holds its lock, which made the directory: if it is gone, it was removed since.

        Raises:
            WhatwhereError: it holds other results, and ``existing`` is ``keep``.
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
        self._anchor = self.directory if held or self.directory.is_dir() else None

    def is_made_with(self, kind: str, settings: object) -> bool:
        """Whether the directory holds results of this kind and settings, from any inputs."""
        return self.exists and (self.record.kind, self.record.settings) == (kind, plain(settings))

    def is_current(self, kind: str, settings: object, inputs: Mapping[str, Any]) -> bool:
        """Whether the directory holds complete results of this kind, settings and inputs, each file undamaged."""
        if not self.is_made_with(kind, settings) or self.record.inputs != plain(inputs):
            return False
        paths = {self.directory / name: checksum for name, checksum in self.record.files.items()}
        whole = (path.is_file() and _sha256(path.read_bytes()) == checksum for path, checksum in paths.items())
        return self.record.complete and all(whole)

    def put(self, name: str, content: bytes) -> None:
        """Writes a file and records its checksum."""
        checksum = _sha256(content)
        self._rewrite(replace(self.record, writing={name: checksum}))
        write_bytes(self.directory / name, content)
        self._record = replace(self.record, files={**self.record.files, name: checksum}, writing={})

    def get(self, name: str, what: str) -> bytes:
        """Reads a file and checks its checksum.

        Raises:
            WhatwhereError: it is missing, or it is not the file that the manifest describes.
        """
        for _ in range(_TRIES):
            content = read_bytes(self.directory / name, what)
            if _sha256(content) == self.record.files.get(name):
                return content
            self._record = None  # another process may have written the file and the manifest meanwhile
            time.sleep(_PAUSE)
        raise WhatwhereError(
            f"{what} at {self.directory / name} is not the file that {NAME} describes: it was damaged, edited or put "
            "there from elsewhere. Remove it and run the command again."
        )

    def has(self, name: str) -> bool:
        """Whether a file exists and is in the manifest.

        Raises:
            WhatwhereError: the path is not a regular file.
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
        """Records that the work is complete, and the time of this session."""
        self._rewrite(replace(self.record, complete=True, seconds=self.record.seconds + seconds))

    def pause(self, seconds: float) -> None:
        """Records the time of a session that did not complete the work."""
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
    """A short checksum of a value's JSON form."""
    return hashlib.sha256(json.dumps(plain(description), sort_keys=True).encode()).hexdigest()[:16]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _difference(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The first difference between two sets of results, in words."""
    if known["kind"] != wanted["kind"]:
        return f"expected those of {wanted['kind']!r}, got those of {known['kind']!r}"
    for part, name in (("inputs", "another {}"), ("settings", "{}")):
        for key in {**known[part], **wanted[part]}:
            before, now = known[part].get(key), wanted[part].get(key)
            if before != now:
                return f"expected {name.format(key)} {now!r:.60}, got {before!r:.60}"
    raise AssertionError("no difference")
