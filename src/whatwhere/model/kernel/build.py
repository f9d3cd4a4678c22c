"""Compiles the C files beside it where they are first used, and loads them.

The compiler writes for the very processor that is here, which is what makes it fast, so the library is built on the
machine (in about a second) and kept in the user's cache under a name that says what it was made from: source, compiler,
processor. Where there is no compiler, or ``WHATWHERE_KERNELS=off`` is set, :func:`kernels` says so and the model takes
its plain path, which computes the same at about half the speed.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from whatwhere.errors import WhatwhereError
from whatwhere.store.files import cache_directory, whole_file, write_text

SOURCES = tuple(Path(__file__).with_name(name) for name in ("layer.c", "layers.h", "block.c", "numbers.h", "swaps.c"))
"""The first is compiled, and includes the others."""
_FLAGS = ("-std=c11", "-O3", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast")
_FOR_THIS_PROCESSOR = (("-march=native", "-mprefer-vector-width=512"), ("-march=native",), ("-mcpu=native",), ())
"""Tried in turn: gcc on x86, clang on x86, ARM, and whatever else compiles C."""
_COMPILERS = ("cc", "gcc", "clang")
_SECONDS = 60
_ONE_AT_A_TIME = threading.Lock()
_CPU = Path("/proc/cpuinfo")


class Shape(ctypes.Structure):
    """``Shape`` of ``block.c``."""

    _fields_ = (
        *(
            (name, ctypes.c_int64)
            for name in ("batch", "seq", "kept", "heads", "width", "inner", "planes", "half", "exact")
        ),
        ("scale", ctypes.c_float),
        ("epsilon", ctypes.c_float),
    )


class SwapShape(ctypes.Structure):
    """``Swaps`` of ``swaps.c``."""

    _fields_ = tuple((name, ctypes.c_int64) for name in ("rows", "queries", "keys", "width", "planes", "weightings"))


class Mask(ctypes.Structure):
    """``Dropout`` of ``numbers.h``: where the random words of one mask begin, and what becomes of them."""

    _fields_ = (
        ("first", ctypes.c_int64),
        *((name, ctypes.c_uint32) for name in ("before", "between", "threshold")),
        ("kept", ctypes.c_float),
    )


class Layer(ctypes.Structure):
    """``Layer`` of ``layer.c``."""

    _fields_ = tuple(
        (name, ctypes.c_void_p)
        for name in (
            "norm_weight", "norm_bias", "w_in", "b_mlp", "w_out", "b_out", "query_turn", "key_turn",
            "attention", "output", "into", "into_t", "back", "back_t", "y", "u", "z", "mean", "inverse_std", "weights",
            "out", "grad_norm_weight", "grad_norm_bias", "grad_w_in", "grad_b_mlp", "grad_w_out", "grad_b_out",
        )
    )  # fmt: skip


@dataclass(frozen=True)
class Kernels:
    """What compiling gave."""

    library: ctypes.CDLL | None
    missing: str = ""
    """Why there is no library."""


def kernels() -> Kernels:
    """The compiled kernels of this machine, built now if they are not there yet."""
    with _ONE_AT_A_TIME:
        return _kernels()


@cache
def _kernels() -> Kernels:
    try:
        return Kernels(_load())
    except WhatwhereError as error:
        return Kernels(None, str(error))


def _load() -> ctypes.CDLL:
    """The library, from the cache if it is there and whole."""
    if os.environ.get("WHATWHERE_KERNELS", "").lower() in ("off", "0", "no"):
        raise WhatwhereError("they are switched off by WHATWHERE_KERNELS.")
    compiler = _compiler()
    path = cache_directory("kernels") / f"{_made_from(compiler)}.so"
    _check_place(path.parent)
    if _is_as_compiled(path):
        with suppress(OSError):  # made beside other system libraries than are here now
            return _declared(ctypes.CDLL(str(path)))
    with whole_file(path) as target:
        _compile(compiler, target)
        target.chmod(0o755)
    write_text(path.with_suffix(".sha256"), _checksum(path))
    try:
        return _declared(ctypes.CDLL(str(path)))
    except OSError as error:
        raise WhatwhereError(f"what {compiler[0]} made cannot be loaded: {error}.") from error


def _is_as_compiled(path: Path) -> bool:
    """Whether the library is there, ours and whole: one changed bit of it could compute something else."""
    try:
        return _is_ours(path) and path.with_suffix(".sha256").read_bytes() == _checksum(path).encode()
    except OSError:
        return False


def _check_place(directory: Path) -> None:
    """Closes the place of the libraries to others: anyone who could put one there could run code here."""
    if not directory.is_absolute():
        raise WhatwhereError(f"expected an absolute path in XDG_CACHE_HOME, got {directory.parents[1]}.")
    with suppress(OSError):  # who may not write there is told so by the first write
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o700)
    if directory.exists() and not _is_ours(directory):
        raise WhatwhereError(f"expected {directory} to belong to this user and nobody else to write there.")


def _is_ours(path: Path) -> bool:
    """Whether a file or directory is this user's or root's, and nobody else may write to it."""
    about = path.stat()
    return not hasattr(os, "geteuid") or (about.st_uid in (os.geteuid(), 0) and not about.st_mode & 0o022)


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _compiler() -> list[str]:
    """The command of a C compiler: ``$CC``, or the first that is found."""
    try:
        wanted = shlex.split(os.environ.get("CC", ""))
    except ValueError as error:
        raise WhatwhereError(f"expected a command in $CC, got {os.environ['CC']!r:.80}: {error}.") from error
    found = wanted if wanted and shutil.which(wanted[0]) else next(([c] for c in _COMPILERS if shutil.which(c)), [])
    if not found:
        raise WhatwhereError("there is no C compiler (cc, gcc or clang) here.")
    return found


def _made_from(compiler: list[str]) -> str:
    """A name for the library: another source, compiler or processor gets another one."""
    lines = _CPU.read_text().splitlines() if _CPU.is_file() else [platform.processor()]
    processor = {line for line in lines if line.startswith(("model name", "flags", "Features")) or len(lines) == 1}
    flags = [*_FLAGS, *(flag for special in _FOR_THIS_PROCESSOR for flag in special)]
    version = _run([*compiler, "--version"]).stdout
    parts = [
        *(source.read_text() for source in SOURCES),
        *flags,
        *compiler,
        version,
        platform.machine(),
        *sorted(processor),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def _compile(compiler: list[str], target: Path) -> None:
    """Writes the library, for this processor if the compiler can."""
    complaint = ""
    for special in _FOR_THIS_PROCESSOR:
        done = _run([*compiler, *_FLAGS, *special, "-shared", "-fPIC", "-o", str(target), str(SOURCES[0]), "-lm"])
        if done.returncode == 0:
            return
        complaint = done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"exit code {done.returncode}"
    raise WhatwhereError(f"{compiler[0]} could not compile them: {complaint}")


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WhatwhereError(f"{command[0]} could not be run: {error}.") from error


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    """Says what the functions take and return."""
    pointer, whole = ctypes.c_void_p, ctypes.c_int64
    arguments = {
        "norm_forward": [pointer] * 8, "norm_backward": [pointer] * 11, "mix_forward": [pointer, whole, *[pointer] * 8],
        "mix_backward": [pointer] * 10, "residual_forward": [pointer] * 7, "residual_backward": [pointer] * 6,
        "dropout_mask": [pointer, whole, pointer], "swap_scores": [pointer] * 10,
        "layers_forward": [pointer, pointer, whole, whole, *[pointer] * 2],
        "layers_backward": [pointer, pointer, whole, *[pointer] * 5],
    }  # fmt: skip
    sizes = {
        "scratch_size": [pointer], "layer_scratch": [pointer], "sequences_together": [pointer], "swaps_fit": [pointer],
        "own_products": [whole], "panel": [],
    }  # fmt: skip
    for name, types in (arguments | sizes).items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, whole if name in sizes else None
    return library
