"""Real language models in docs: ``python -m benchmarks.model_study STUDY MODEL OUT [SETTING=VALUE ...]``.

Runs one study (heads, causal, cache, prompt) of a language model on twelve texts that come with Python 3.11, under its
free licence: sections of its language reference, sources and docstrings of its library, and the licence itself. One
window of each text makes intervals over windows intervals over texts. Each setting of the study may follow, such as
``window=256``; ``texts=4`` takes four of the texts, of different kinds.
"""

from __future__ import annotations

import argparse
import heapq
import inspect
import statistics
import sys
import textwrap
import turtle
import zipfile
from pathlib import Path
from pydoc_data.topics import topics
from types import ModuleType

from rich.console import Console

from whatwhere.cli import app

TOPICS = ("specialnames", "import", "types", "formatstrings", "try")
SOURCES = (argparse, heapq, statistics, textwrap)
DOCSTRINGS = (turtle, zipfile)


def write_texts(into: Path) -> list[Path]:
    """Twelve texts of different kinds, at least a thousand tokens each."""
    texts = {f"reference-{name}": topics[name] for name in TOPICS}
    texts |= {f"source-{module.__name__}": inspect.getsource(module) for module in SOURCES}
    texts |= {f"docstrings-{module.__name__}": _docstrings(module) for module in DOCSTRINGS}
    texts["licence"] = next(Path(inspect.getfile(inspect)).parent.glob("LICENSE*")).read_text()
    into.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (into / f"{name}.txt").write_text(text)
    return [into / f"{name}.txt" for name in texts]


def _docstrings(module: ModuleType) -> str:
    functions = dict(inspect.getmembers(module, inspect.isfunction))
    for _, kind in inspect.getmembers(module, inspect.isclass):
        functions |= dict(inspect.getmembers(kind, inspect.isfunction))
    return "\n\n".join(f"{name}: {inspect.getdoc(one)}" for name, one in functions.items() if inspect.getdoc(one))


def main(study: str, model: str, out: Path, *settings: str) -> None:
    """Writes the texts and runs the study on them, as the command does."""
    chosen = dict(one.split("=", 1) for one in settings)
    files = write_texts(out / "texts")
    texts = ",".join(map(str, files[:: len(files) // int(chosen.pop("texts", len(files)))]))
    options = [word for name, value in chosen.items() for word in (f"--{name}", value)]
    Console(stderr=True).print(f"{study}, {' '.join(settings) or 'default settings'}: {model}")
    app([study, model, "--text", texts, "--out", str(out), *options])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
