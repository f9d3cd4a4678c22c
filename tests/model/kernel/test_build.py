import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.model.kernel import build as module
from whatwhere.model.kernel.build import Kernels, kernels

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, module._COMPILERS)), reason="runs with a C compiler")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, nothing loaded yet, and none of the user's settings."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("CC", "WHATWHERE_KERNELS"):
        monkeypatch.delenv(name, raising=False)
    module._kernels.cache_clear()
    yield module.cache_directory("kernels")
    module._kernels.cache_clear()


@pytest.fixture
def small_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that do nothing, and are compiled at once."""
    parts = [f"{name}_{way}" for name in ("norm", "mix", "residual", "layers") for way in ("forward", "backward")]
    empty = "".join(f"void {name}(void) {{}}\n" for name in (*parts, "dropout_mask", "swap_scores"))
    source = tmp_path / "small.c"
    numbers = ("scratch_size", "layer_scratch", "sequences_together", "own_products", "panel", "swaps_fit")
    sizes = "".join(f"long long {name}(void) {{ return 0; }}\n" for name in numbers)
    source.write_text(empty + sizes)
    monkeypatch.setattr(module, "SOURCES", (source,))


def again() -> Kernels:
    module._kernels.cache_clear()
    return kernels()


def compiler(path: Path, script: str) -> str:
    """A program that stands in for a compiler."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return str(path)


@needs_compiler
@pytest.mark.slow
def test_they_are_built_once_and_found_again(own_cache: Path):
    assert kernels().library is not None
    (built,) = own_cache.glob("*.so")
    made = built.stat().st_mtime_ns
    assert again().library is not None
    assert built.stat().st_mtime_ns == made


@needs_compiler
@pytest.mark.parametrize("damage", ["half of it", "one bit", "no checksum", "no text in the checksum"])
@pytest.mark.usefixtures("small_source")
def test_a_damaged_library_is_built_again(own_cache: Path, damage: str):
    assert kernels().library is not None
    (library,), (checksum,) = own_cache.glob("*.so"), own_cache.glob("*.sha256")
    content = library.read_bytes()
    library.unlink()  # this process has it mapped: the damage must be done to another file
    if damage == "half of it":
        library.write_bytes(content[: len(content) // 2])
    elif damage == "one bit":
        library.write_bytes(content[:-9] + bytes([content[-9] ^ 4]) + content[-8:])
    else:
        library.write_bytes(content)
        checksum.write_bytes(b"" if damage == "no checksum" else b"\xff\xfe")
    assert again().library is not None
    assert checksum.read_text() == hashlib.sha256(library.read_bytes()).hexdigest()


@needs_compiler
@pytest.mark.usefixtures("small_source")
def test_a_library_that_is_whole_and_does_not_load_here_is_built_again(own_cache: Path):
    library = own_cache / f"{module._made_from(module._compiler())}.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"made for another system")
    library.with_suffix(".sha256").write_text(module._checksum(library))
    assert again().library is not None
    assert library.read_bytes() != b"made for another system"


@needs_compiler
@pytest.mark.usefixtures("small_source")
def test_threads_that_ask_at_once_get_the_same(own_cache: Path):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: kernels(), range(8)))
    assert {id(each.library) for each in found} == {id(found[0].library)}
    assert len(list(own_cache.glob("*.so"))) == 1


@needs_compiler
def test_another_source_compiler_or_processor_gets_a_library_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    names = {module._made_from(["cc"])}
    with monkeypatch.context() as patch:
        (tmp_path / "cpuinfo").write_text("model name : abacus\nflags : beads\n")
        patch.setattr(module, "_CPU", tmp_path / "cpuinfo")
        names.add(module._made_from(["cc"]))
        patch.setattr(module, "_CPU", tmp_path / "none")  # not Linux
        names.add(module._made_from(["cc"]))
    with monkeypatch.context() as patch:
        (tmp_path / "other.c").write_text("int x;")
        patch.setattr(module, "SOURCES", (tmp_path / "other.c",))
        names.add(module._made_from(["cc"]))
    names.add(module._made_from([compiler(tmp_path / "other", "echo version 7")]))
    assert len(names) == 5


@needs_compiler
@pytest.mark.slow
def test_a_compiler_that_does_not_know_the_processor_compiles_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    simple = compiler(tmp_path / "simple", 'case "$*" in *native*) exit 1;; esac; exec cc "$@"')
    monkeypatch.setenv("CC", simple)
    assert kernels().library is not None


def test_they_can_be_switched_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHATWHERE_KERNELS", "off")
    assert kernels() == Kernels(None, "they are switched off by WHATWHERE_KERNELS.")


def test_a_machine_without_a_compiler_is_told_of(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert kernels() == Kernels(None, "there is no C compiler (cc, gcc or clang) here.")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("[ $1 = --version ] || { echo 'block.c: too modern' >&2; exit 1; }", "could not compile them: block.c: too"),
        ("[ $1 = --version ] || exit 3", "could not compile them: exit code 3"),
        ("exit 0", "made cannot be loaded"),
        ("while [ $1 != -o ]; do shift; done; echo no library > $2", "made cannot be loaded"),
    ],
)
def test_a_compiler_that_fails_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path, script: str, message: str
):
    guarded = script if "--version" in script else f"[ $1 = --version ] && exit 0\n{script}"
    monkeypatch.setenv("CC", compiler(tmp_path / "broken", guarded))
    found = kernels()
    assert found.library is None
    assert re.search(message, found.missing), found.missing
    assert not list(own_cache.glob("*.partial"))


def test_a_program_that_cannot_be_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "cc").write_bytes(b"\x7fELF")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "cc"))
    assert "cc could not be run: " in kernels().missing


@needs_compiler
def test_a_cache_that_cannot_be_written_leaves_the_plain_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert kernels().missing.startswith("could not write")


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    "processor", [["-march=native"], []]
)  # with and without products of our own, where it has them
def test_nothing_outside_of_the_arrays_is_touched_and_nothing_is_left_undefined(tmp_path: Path, processor: list[str]):
    program = tmp_path / "bounds"
    flags = ["-std=c11", "-g", "-O1", "-fopenmp-simd", "-Wall", "-Wextra", "-Werror", *processor]
    source, where = str(Path(__file__).with_name("bounds.c")), str(module.SOURCES[0].parent)
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    built = module._run([*module._compiler(), *flags, *checks, "-I", where, "-o", str(program), source, "-lm"])
    if "cannot find" in built.stderr:
        pytest.skip("runs where the sanitizers of the compiler are installed")
    assert built.returncode == 0, built.stderr
    done = module._run([str(program)])
    assert done.returncode == 0, done.stderr


@needs_compiler
@pytest.mark.usefixtures("small_source")
def test_a_library_that_others_could_have_written_is_built_again(own_cache: Path):
    assert kernels().library is not None
    (library,) = own_cache.glob("*.so")
    assert (own_cache.stat().st_mode & 0o777, library.stat().st_mode & 0o022) == (0o700, 0)
    made = library.stat().st_mtime_ns
    library.chmod(0o666)
    assert again().library is not None
    (library,) = own_cache.glob("*.so")
    assert library.stat().st_mtime_ns != made


def test_a_place_of_somebody_else_or_without_a_fixed_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(WhatwhereError, match="expected an absolute path in XDG_CACHE_HOME, got here"):
        module._check_place(Path("here/whatwhere/kernels"))
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    if tmp_path.stat().st_uid == 0:
        os.chown(tmp_path, 12345, -1)
    with pytest.raises(WhatwhereError, match="to belong to this user"):
        module._check_place(tmp_path)
