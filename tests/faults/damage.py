"""Kinds of damage to a file, chosen by a seed."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from whatwhere.store.documents import read_json
from whatwhere.store.manifest import fingerprint
from whatwhere.store.tensors import load_tensors, save_tensors

HOSTILE: tuple[Any, ...] = (
    -1, 0, 10**15, 10**30, 1.5, float("nan"), float("inf"), None, True, [], [[[]]], {}, {"name": "number"},
    "", "\x1b[2J", "../../etc/passwd", "<script>", "\ud800",
)  # fmt: skip
"""Values that somebody might put into a file by hand."""
OTHER_KINDS = (
    pickle.dumps({"a": 1}), b"[1, 2]", b"null", b'{"a": ' * 2000, b"[" * 100_000, b"1" * 10_000,
    b"a,b\n1,2\n", b"\0" * 64, b"\xff\xfe\0", b'{"checksum": 3}', b'{"format": 2}', b"step\n1\n",
)  # fmt: skip


def truncate(path: Path, rng: random.Random, other: Path) -> None:
    """Cuts the file off anywhere."""
    del other
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content))])


def flip(path: Path, rng: random.Random, other: Path) -> None:
    """Flips one to three bits."""
    del other
    content = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 3)):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def empty(path: Path, rng: random.Random, other: Path) -> None:
    """Leaves nothing in it."""
    del rng, other
    path.write_bytes(b"")


def remove(path: Path, rng: random.Random, other: Path) -> None:
    """Takes the file away."""
    del rng, other
    path.unlink()


def another_kind(path: Path, rng: random.Random, other: Path) -> None:
    """Puts something else in its place: noise, a pickle, other JSON, a table, a directory, a dangling link."""
    del other
    made = rng.choice([*OTHER_KINDS, rng.randbytes(500), "directory", "link"])
    path.unlink()
    if made == "directory":
        path.mkdir()
    elif made == "link":
        path.symlink_to(path.parent / "nowhere")
    else:
        assert isinstance(made, bytes)
        path.write_bytes(made)


def swap_runs(path: Path, rng: random.Random, other: Path) -> None:
    """Takes the file of the same name from another run."""
    del rng
    path.write_bytes(other.read_bytes())


def swap_names(path: Path, rng: random.Random, other: Path) -> None:
    """Takes another file of the same kind from the same directory, or from the same run."""
    del other
    there = sorted(each for each in path.parent.glob(f"*{path.suffix}") if each != path)
    there = there or sorted(each for each in path.parent.rglob(f"*{path.suffix}") if each != path)
    path.write_bytes(rng.choice(there).read_bytes() if there else b"")


def newer(path: Path, rng: random.Random, other: Path) -> None:
    """Lets the file come from a later version; a table has no version of its own but that of its manifest."""
    del rng, other
    if path.suffix == ".safetensors":
        from safetensors.numpy import save_file

        arrays, notes = load_tensors(path, "it")
        save_file(arrays, path, {**notes, "whatwhere.format": "7", "whatwhere.sha256": "0" * 64})
    else:
        manifest = path.parent / "manifest.json"
        content = read_json(manifest, "it")
        content["format"] = 7
        _write_manifest(manifest, content)


def edit(path: Path, rng: random.Random, other: Path) -> None:
    """Changes a value as a person would."""
    del other
    if path.suffix == ".json":
        content = read_json(path, "it")
        _edit_json(content, rng)
        path.write_text(json.dumps(content), encoding="utf-8", errors="backslashreplace")
    elif path.suffix == ".csv":
        rows = pd.read_csv(io.BytesIO(path.read_bytes()), dtype=str, keep_default_na=False)
        if len(rows):
            value = str(rng.choice(HOSTILE)).encode("utf-8", "replace").decode()
            rows.iloc[rng.randrange(len(rows)), rng.randrange(rows.shape[1])] = value
        if rng.randrange(5) == 0:
            rows = rows.drop(columns=rng.choice(list(rows.columns)))
        rows.to_csv(path, index=False)
    else:
        _edit_tensors(path, rng)


def forge(path: Path, rng: random.Random, other: Path) -> None:
    """Changes a value and every checksum with it: only the fields and their types are left to notice it."""
    edit(path, rng, other)
    manifest = path.parent / "manifest.json"
    if path.suffix == ".safetensors" or not manifest.is_file():
        return
    if path == manifest:
        _write_manifest(manifest, json.loads(manifest.read_text()))
    else:
        write_vouched(path, path.read_bytes())


def write_vouched(path: Path, content: bytes) -> None:
    """Writes a file, and a manifest that vouches for it."""
    path.write_bytes(content)
    about = json.loads((path.parent / "manifest.json").read_text())
    about["files"][path.name] = hashlib.sha256(content).hexdigest()
    _write_manifest(path.parent / "manifest.json", {**about, "writing": {}})


def _write_manifest(path: Path, content: dict[str, Any]) -> None:
    content.pop("checksum", None)
    text = json.dumps({**content, "checksum": fingerprint(content)})
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def _edit_json(content: Any, rng: random.Random) -> None:
    """Changes, adds or drops one value somewhere."""
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in pairs:
            places.append((value, key))
            walk(item)

    walk(content)
    within, key = rng.choice(places)
    change = rng.choice(["change", "change", "change", "drop", "add"])
    if change == "add" and isinstance(within, dict):
        within["wings"] = rng.choice(HOSTILE)
    elif change == "drop":
        del within[key]
    else:
        within[key] = rng.choice(HOSTILE)


def _edit_tensors(path: Path, rng: random.Random) -> None:
    """Another shape, type, name or description, with a checksum that is right."""
    import numpy as np

    arrays, notes = load_tensors(path, "it")
    name = rng.choice(sorted(arrays))
    match rng.randrange(6):
        case 0:
            arrays[name] = arrays[name].astype(np.float64)
        case 1:
            arrays[name] = arrays[name].reshape(-1)[:-1]
        case 2:
            arrays["wings"] = arrays.pop(name)
        case 3:
            about = {key: json.loads(text) for key, text in notes.items()}
            if about:
                _edit_json(about, rng)
            notes = {key: json.dumps(value) for key, value in about.items()}
        case 4 if arrays[name].dtype.kind == "f":
            arrays[name] = np.full_like(arrays[name], rng.choice([np.nan, np.inf]))
        case _:
            notes = dict.fromkeys(notes, "{")
    save_tensors(path, arrays, notes)


DAMAGE: dict[str, Callable[[Path, random.Random, Path], None]] = {
    "truncated": truncate,
    "flipped": flip,
    "emptied": empty,
    "removed": remove,
    "of another kind": another_kind,
    "of another run": swap_runs,
    "of another name": swap_names,
    "newer": newer,
    "edited": edit,
    "forged": forge,
}
