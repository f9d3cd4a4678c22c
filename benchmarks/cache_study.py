"""The numbers of docs/cache.md: ``python -m benchmarks.cache_study MODEL OUT [SETTING=VALUE ...]``.

The texts are Python's own: its language reference, a module of its library, docstrings, and its licence. Each setting
of the study ``cache`` may follow, such as ``window=256``.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import turtle
from pathlib import Path
from pydoc_data.topics import topics

from rich.console import Console

from whatwhere.cli import app

TOPICS = ("import", "objects", "specialnames")


def write_texts(into: Path) -> list[Path]:
    """Four texts of different kinds, some thousand tokens each."""
    functions = [one for _, one in inspect.getmembers(turtle, inspect.isfunction)]
    texts = {
        "reference": "\n\n".join(topics[name] for name in TOPICS),
        "source": inspect.getsource(argparse),
        "docstrings": "\n\n".join(f"{one.__name__}: {inspect.getdoc(one)}" for one in functions),
        "licence": next(Path(inspect.getfile(inspect)).parent.glob("LICENSE*")).read_text(),
    }
    into.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (into / f"{name}.txt").write_text(text)
    return [into / f"{name}.txt" for name in texts]


def main(model: str, out: Path, *settings: str) -> None:
    """Writes the texts and runs the study on them, as the command does."""
    texts = ",".join(map(str, write_texts(out / "texts")))
    options = [word for one in settings for word in (f"--{one.partition('=')[0]}", one.partition("=")[2])]
    Console(stderr=True).print(f"{' '.join(settings) or 'default settings'}: {model}")
    app(["cache", model, "--text", texts, "--out", str(out), *options])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
