import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from checked_types import unchecked

import whatwhere as ww
from whatwhere.model.gptj import GPTJ


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
    text = "expected token ids [batch, seq], got text. Encode it first"
    refused = {
        "ww.score(model)": "expected a trace, got a GPTJ; make one with whatwhere.trace(model, tokens).",
        "ww.trace(model, 'c2 b1')": f"{text}: task.encode(text)[None]",
        "ww.run(model, ['c2', 'b1'])": text,
        "ww.trace(model, None)": "expected tokens as a table of ids [batch, seq], got a NoneType",
        "ww.trace(model, [[1, 2], [1]])": "expected tokens as a table of ids [batch, seq], got a list",
        "ww.score(model, model.task.sample(2).tokens)": "expected a trace, got a GPTJ",
        "ww.score(ww.trace(model, model.task.sample(2).tokens), 'warm')": "expected a tau above 0, got warm",
        "ww.load(None)": "expected the name of a model or a path, got a NoneType",
        "ww.study('length', 3)": "expected the name of a model or a path, got a int",
        "ww.study('dynamics', model)": "expected a run directory, as whatwhere train makes it, got a GPTJ",
        "ww.study('length', model, step=3)": "expected a run directory, since step 3 was asked for; got a loaded GPTJ",
        "ww.study('heads', model, out='')": "expected a directory, got an empty name",
        "ww.study('heads', model, out=5)": "expected a directory, got a int: 5",
        "ww.study('heads', model, out='~nosuch/x')": "expected a directory, got '~nosuch/x'",
        "ww.trace(model, [[1, 2, 3]], queries=[1.5])": "expected each query position as a whole number in a list",
        "ww.trace(model, [[1, 2, 3]], queries='last')": "expected each query position as a whole number in a list",
        "ww.trace(model, [[1, 2, 3]], queries=[])": "expected at least one query position, got none",
        "ww.trace(model, [[1, 2, 3]], layers=3)": "expected each layer as a whole number in a list, got 3",
        "ww.load('x' * 300)": "expected the name of a model or a path, got 'xxx",
        "ww.study([], 'letter')": "expected a study of ",
        "ww.trace(model, [[1, 2, 3]], interventions=3)": "expected a list of interventions, got a int",
        "ww.run(model, [[1, 2, 3]], ablate=3)": "expected (layer, head) pairs to ablate in a list, got 3",
        "ww.run(model, [[1, 2, 3]], ablate=[(0, 0, 0)])": "expected (layer, head) pairs to ablate in a list",
        "ww.run(model, [[1, 2, 3]], ablate=[('a', 'b')])": "expected a layer from 0 to 11, got 'a'",
        "ww.score(ww.trace(model, [[1, 2, 3]]), samples=1.5)": "expected 1 or more samples, got 1.5",
        "ww.score(ww.trace(model, [[1, 2, 3]]), seed='a')": "expected a seed of 0 or more, and at most",
        "ww.score(ww.trace(model, [[1, 2, 3]]), seed=-1)": "expected a seed of 0 or more, and at most",
        "ww.score(ww.trace(model, [[1, 2, 3]]), among=[1.5])": "expected positions among which keys are swapped, got",
        "ww.LetterTask(letters='x')": "expected letters as a whole number, got 'x'",
        "model.task.sample(1.5)": "expected whole numbers n and extra_target, got 1.5 and 0",
        "model.task.sample(None)": "expected whole numbers n and extra_target, got None and 0",
        "model.task.sample(2, seed='a')": "expected a seed of 0 or more",
    }
    names = {"ww": ww, "model": ww.load("letter")}
    with unchecked():
        for call, message in refused.items():
            with pytest.raises(ww.WhatwhereError, match=f"^{re.escape(message)}"):
                eval(call, names)


@pytest.mark.parametrize("name", ["heads", "length"])
def test_a_model_with_weights_that_are_no_numbers_is_not_measured(name: str):
    model = ww.load("letter")
    assert isinstance(model, GPTJ)
    with torch.no_grad():
        model.head.weight[0, 0] = float("nan")
    with pytest.raises(ww.WhatwhereError, match=r"expected a model with finite weights, got .*head.weight"):
        ww.study(name, model)


def test_queries_that_are_no_numbers_have_no_scores():
    model = ww.load("letter")
    assert isinstance(model, GPTJ)
    with torch.no_grad():
        next(model.blocks[0].parameters())[0] = float("nan")
    assert model.task is not None
    traced = ww.trace(model, model.task.sample(2).tokens)
    with pytest.raises(ww.WhatwhereError, match="expected finite queries, got some in layer 0 that are not"):
        ww.score(traced)


def test_imports_point_one_way():
    found = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports"))], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout
