import subprocess
import sys
from pathlib import Path

import pytest

import whatwhere as ww


def test_every_public_name_is_there():
    for name in ww.__all__:
        assert getattr(ww, name) is not None


def test_an_unknown_name_is_refused_with_those_that_exist():
    with pytest.raises(AttributeError, match=r"has no attribute 'scroe'; it has .*score"):
        _ = ww.scroe  # pyright: ignore[reportAttributeAccessIssue]


def test_importing_the_package_and_the_command_line_loads_nothing_heavy():
    heavy = "torch matplotlib transformers safetensors"
    code = f"import sys, whatwhere, whatwhere.cli; print([m for m in {heavy.split()!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_what_is_of_another_kind_is_refused_with_what_to_do():
    """In a process of its own: here the types are checked before."""
    text = "expected token ids [batch, seq], got text. Encode it first"
    refused = {
        "ww.score(model)": "expected a trace, got a GPTJ; make one with whatwhere.trace(model, tokens).",
        "ww.trace(model, 'c2 b1')": f"{text}: task.encode(text)[None]",
        "ww.run(model, ['c2', 'b1'])": text,
    }
    code = "import whatwhere as ww\nmodel = ww.load('letter')\n"
    code += "".join(f"try: {call}\nexcept ww.WhatwhereError as error: print(error)\n" for call in refused)
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(told) == len(refused)
    for line, message in zip(told, refused.values(), strict=True):
        assert line.startswith(message), line


def test_imports_point_one_way():
    found = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports"))], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout
