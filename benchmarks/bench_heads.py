"""The study ``heads`` on a real language model against one forward pass with attention maps on the same windows.

SmolLM2-135M, and Gemma 3 270M if ``WHATWHERE_GEMMA3`` names its GGUF file (docs/language_models.md says where it comes
from). Processor time of one thread, in turns within one run, since machines are shared; loading is measured apart.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.measure import Row, show
from benchmarks.model_study import write_texts
from benchmarks.smollm2_study import smollm2
from whatwhere.studies.language_models.scored_inputs import inputs_of
from whatwhere.studies.language_models.tables import HeadsSettings
from whatwhere.studies.measuring import study
from whatwhere.trace.open import load_rotary

WINDOWS, TOKENS = 4, 256
REPEATS = 2


def processor_seconds(*functions: Callable[[], object]) -> list[float]:
    """The least processor time of each function; they take turns."""
    best = [float("inf")] * len(functions)
    for _ in range(REPEATS):
        for at, function in enumerate(functions):
            start = time.process_time()
            function()
            best[at] = min(best[at], time.process_time() - start)
    return best


def rows(name: str, file: Path, texts: tuple[str, ...]) -> list[Row]:
    """The ratio, and what loading takes once the file was converted."""
    model = load_rotary(str(file))  # converts it, if it was not
    (loading,) = processor_seconds(lambda: load_rotary(str(file)))
    settings = HeadsSettings(text=texts, inputs=WINDOWS, window=TOKENS)
    ids = inputs_of(model, settings).ids

    @torch.no_grad()
    def maps() -> None:  # as one would look at attention by hand
        model.model.set_attn_implementation("eager")
        model.model(input_ids=ids, output_attentions=True, use_cache=False)
        model.model.set_attn_implementation("sdpa")

    def heads(queries: str) -> Callable[[], object]:
        return lambda: study("heads", model, text=texts, inputs=WINDOWS, window=TOKENS, queries=queries)

    last, eight, whole = processor_seconds(heads("last"), heads("8"), maps)
    return [
        Row(f"{name}: heads, one query a window / one forward pass with attention maps", last / whole, goal="<= 2"),
        Row(f"{name}: heads, eight queries a window (the default) / the same pass", eight / whole, goal="<= 2"),
        Row(f"{name}: loading the GGUF file again", loading, "s"),
    ]


def main() -> None:
    """Prints the table."""
    torch.set_num_threads(1)
    models: dict[str, Path] = {"SmolLM2-135M": smollm2()}
    if gemma := os.environ.get("WHATWHERE_GEMMA3"):
        models["Gemma 3 270M"] = Path(gemma)
    with TemporaryDirectory() as place:
        texts = tuple(map(str, write_texts(Path(place))[::3]))
        found = [row for name, file in models.items() for row in rows(name, file, texts)]
    show(f"The study heads on {WINDOWS} windows of {TOKENS} tokens, processor time of one thread", found)


if __name__ == "__main__":
    main()
