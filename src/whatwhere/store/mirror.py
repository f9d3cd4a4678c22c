"""A local mirror of a remote address, and its synchronisation.

A record for each file holds the local and the remote version at the last synchronisation. When work begins,

    changed remotely, or both   the remote file is fetched
    changed locally only        the local file is sent (an earlier upload failed or was killed)
    removed remotely            it is removed locally
    removed locally             it is fetched: a lost cache must not empty a bucket
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from whatwhere.errors import MissingExtraError, WhatwhereError, extra_for
from whatwhere.store.files import TEMPORARY_SUFFIX, cache_directory, write_text

OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "oci", "memory"}
"""Schemes whose uploads are atomic without a rename."""
_VERSIONS = ("ETag", "etag", "md5Hash", "content_md5", "mtime", "LastModified", "last_modified", "updated", "created")
"""Fields that identify the version of a remote file, best first; its size is added."""
Note = Callable[[str], None]


def is_result(path: Path) -> bool:
    """Whether a file belongs to the results: locks and temporary files do not."""
    return not path.name.startswith(".") and path.suffix != TEMPORARY_SUFFIX


@dataclass(frozen=True)
class Mirror:
    """A local directory, its remote address, and the records of synchronised versions."""

    url: str
    files: Any
    """The file system of fsspec."""
    root: str
    """The address without its scheme, as the file system names it."""
    directory: Path
    records: Path

    @classmethod
    def of(cls, url: str) -> Mirror:
        """The mirror of an address; nothing is fetched yet.

        Raises:
            WhatwhereError: it is not an address, or its scheme is unknown.
        """
        scheme, _, rest = url.partition("://")
        parts = [part for part in rest.split("/") if part]
        if not parts or any(part in (".", "..") or part.startswith("~") for part in parts):
            raise WhatwhereError(f"expected an address such as s3://bucket/prefix, got {url!r}.")
        home = cache_directory("remote")
        files = _file_system(scheme.lower(), url)
        root = str(files._strip_protocol(f"{scheme}://{'/' * rest.startswith('/')}{'/'.join(parts)}"))
        below = Path(scheme.lower(), *parts)
        return cls(f"{scheme}://{root}", files, root, home / "files" / below, home / "records" / below)

    def synchronise(self, note: Note, only: Sequence[str] = ()) -> None:
        """Synchronises both sides by the rules above."""
        there, here = self._there(), self._here()
        fetched, sent, gone = [], [], []
        for name in sorted(there.keys() | here.keys()):
            if only and not any(PurePosixPath(name).match(pattern) for pattern in only):
                continue
            last_there, last_here = self._record(name)
            if name in there and (last_there != there[name] or name not in here):
                fetched.append(name)
            elif name in here and last_here != here[name]:
                sent.append(name)
            elif name not in there:
                gone.append(name)
        if fetched:
            note(f"Fetching {len(fetched)} files from {self.url} ...")
            self._fetch(fetched, there)
        if sent:
            note(f"Sending {len(sent)} files that were not yet at {self.url} ...")
        for name in sent:
            self.follow(self.directory / name)
        for name in gone:
            (self.directory / name).unlink(missing_ok=True)
            self._forget(name)

    def send_rest(self) -> None:
        """Sends each local file that changed since the last synchronisation."""
        for name, version in self._here().items():
            if self._record(name)[1] != version:
                self.follow(self.directory / name)

    def follow(self, path: Path) -> None:
        """Sends a local file, or removes the remote one if the local one is gone.

        Raises:
            WhatwhereError: that failed; the local file stays.
        """
        name = path.relative_to(self.directory).as_posix()
        target = f"{self.root}/{name}"
        with self._explained(f"{name} could not be copied to {self.url}", f"It is kept in {path}. "):
            if path.exists():
                version = _version_here(path)
                self._send(path, target)
                self._keep(name, _version_there(self.files.info(target)), version)
            else:
                with suppress(FileNotFoundError):
                    self.files.rm_file(target)
                self._forget(name)

    def _send(self, path: Path, target: str) -> None:
        if self.url.partition("://")[0].lower() in OBJECT_STORES:
            self.files.put_file(str(path), target)
            return
        self.files.makedirs(target.rpartition("/")[0], exist_ok=True)
        self.files.put_file(str(path), target + TEMPORARY_SUFFIX)
        self.files.mv(target + TEMPORARY_SUFFIX, target)

    def _fetch(self, names: Sequence[str], there: dict[str, str]) -> None:
        with self._explained(f"{self.url} could not be read"):
            beside = [self.directory / f"{name}{TEMPORARY_SUFFIX}" for name in names]
            for path in beside:
                path.parent.mkdir(parents=True, exist_ok=True)
            self.files.get([f"{self.root}/{name}" for name in names], [str(path) for path in beside])
            for name, path in zip(names, beside, strict=True):
                path.replace(self.directory / name)
                self._keep(name, there[name], _version_here(self.directory / name))

    def _there(self) -> dict[str, str]:
        """The version of each remote file."""
        with self._explained(f"{self.url} could not be read"):
            found = self.files.find(self.root, detail=True)
        versions = {}
        for path, info in found.items():
            name = PurePosixPath(path.removeprefix(self.root).lstrip("/"))
            if not path.startswith(f"{self.root}/") or not is_result(Path(name)):
                continue
            if ".." in name.parts:
                raise WhatwhereError(f"{self.url} holds {path!r}, which leads out of it; remove that object.")
            versions[name.as_posix()] = _version_there(info)
        return versions

    def _here(self) -> dict[str, str]:
        """The version of each local file."""
        found = [path for path in self.directory.rglob("*") if path.is_file() and is_result(path)]
        return {path.relative_to(self.directory).as_posix(): _version_here(path) for path in found}

    def _record(self, name: str) -> tuple[str | None, str | None]:
        """The remote and local versions at the last synchronisation; None without a readable record."""
        try:
            there, here = json.loads((self.records / f"{name}.json").read_text())
        except (OSError, ValueError, TypeError):
            return None, None
        return str(there), str(here)

    def _keep(self, name: str, there: str, here: str) -> None:
        write_text(self.records / f"{name}.json", json.dumps([there, here]))

    def _forget(self, name: str) -> None:
        (self.records / f"{name}.json").unlink(missing_ok=True)

    @contextmanager
    def _explained(self, what: str, kept: str = "") -> Iterator[None]:
        """Turns the errors of any file system into ours; each library raises its own types, so all are caught."""
        try:
            yield
        except WhatwhereError:
            raise
        except Exception as error:
            bucket = self.root.partition("/")[0]
            if type(error).__name__ == "NoCredentialsError":
                advice = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE."
            elif isinstance(error, FileNotFoundError):
                advice = f"Is there a bucket {bucket!r}? Create it, or choose another address."
            elif isinstance(error, PermissionError):
                advice = f"Ask for the right to read and write {bucket!r}, or choose another address."
            else:
                advice = "Once it can be reached, the same command (with --resume for a training) continues."
            reason = str(error).rstrip(".") or type(error).__name__
            raise WhatwhereError(f"{what}: {reason}. {kept}{advice}") from error


def _file_system(scheme: str, url: str) -> Any:
    with extra_for(f"for {url}", "fsspec", "scale"):
        import fsspec
    if scheme not in fsspec.available_protocols():
        raise WhatwhereError(
            f"the scheme of {url!r} is unknown. Use a path, s3://bucket/prefix, or another address that fsspec knows."
        )
    try:
        return fsspec.filesystem(scheme, use_listings_cache=False, skip_instance_cache=True)
    except ImportError as error:
        if scheme in ("s3", "s3a"):
            raise MissingExtraError("s3fs", "scale", f"for {url}") from error
        raise WhatwhereError(f"{url} needs a package that is not installed: {error}.") from error
    except (TypeError, ValueError) as error:  # a file system that needs a host, say
        raise WhatwhereError(f"{url} cannot be opened: {error}. Use s3://bucket/prefix, or a path.") from error


def _version_there(info: dict[str, Any]) -> str:
    return f"{info.get('size')} {next((info[key] for key in _VERSIONS if info.get(key)), '')}"


def _version_here(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"
