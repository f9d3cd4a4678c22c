"""Ways to damage a file, chosen by a seed."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whatwhere.store import storage

HOSTILE: tuple[Any, ...] = (
    -1, 0, 10**15, 10**30, 1.5, float("nan"), float("inf"), None, True, [], [[[]]], {}, {"name": "number"},
    "", "\x1b[2J", "../../etc/passwd", "<script>", "\ud800",
)  # fmt: skip
"""Values that somebody might put into a file by hand."""


OTHER_KINDS = (
    pickle.dumps({"a": 1}), b"[1, 2]", b"null", b'{"a": ' * 2000, b"[" * 100_000, b"1" * 10_000,
    b"a,b\n1,2\n", b"\0" * 64, b"\xff\xfe\0", b'{"seal": 3}', b"seal\n1\n",
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
    """Leaves nothing."""
    del rng, other
    path.write_bytes(b"")


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
    """Lets the file come from a later version."""
    del rng, other
    if path.suffix == ".safetensors":
        from safetensors.numpy import save_file

        arrays, notes = storage.load_tensors(path, "it")
        save_file(arrays, path, {**notes, "whatwhere.format": "7", "whatwhere.sha256": "0" * 64})
    else:
        path.write_text(path.read_text().replace("v1:", "v7:"))


def edit(path: Path, rng: random.Random, other: Path) -> None:
    """Changes a value as a person would, and removes the seal."""
    del other
    if path.suffix == ".json":
        content = storage.read_json(path, "it")
        _edit_json(content, rng)
        path.write_text(json.dumps(content), encoding="utf-8", errors="backslashreplace")
    elif path.suffix == ".csv":
        rows = storage.read_csv(path, "it", [])
        row = rng.choice(rows)
        row[rng.choice(list(row))] = str(rng.choice(HOSTILE)).encode("utf-8", "replace").decode()
        lines = [",".join(rows[0]), *(",".join(f'"{cell}"' for cell in each.values()) for each in rows)]
        path.write_text("\n".join(lines) + "\n")
    else:
        _edit_tensors(path, rng)


def _edit_json(content: Any, rng: random.Random) -> None:
    """Changes, adds, renames or drops one value somewhere."""
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in pairs:
            places.append((value, key))
            walk(item)

    walk(content)
    within, key = rng.choice(places)
    deed = rng.choice(["change", "change", "change", "drop", "add"])
    if deed == "add" and isinstance(within, dict):
        within["wings"] = rng.choice(HOSTILE)
    elif deed == "drop":
        del within[key]
    else:
        within[key] = rng.choice(HOSTILE)


def _edit_tensors(path: Path, rng: random.Random) -> None:
    """Another shape, kind, name or description, with a checksum that is right."""
    import numpy as np

    arrays, notes = storage.load_tensors(path, "it")
    name = rng.choice(sorted(arrays))
    match rng.randrange(5):
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
        case _:
            notes = dict.fromkeys(notes, "{")
    storage.save_tensors(path, arrays, notes)


WAYS: dict[str, Callable[[Path, random.Random, Path], None]] = {
    "truncated": truncate,
    "flipped": flip,
    "emptied": empty,
    "another kind": another_kind,
    "of another run": swap_runs,
    "of another name": swap_names,
    "newer": newer,
    "edited": edit,
}
