"""Other people's models: the table of families, and what scoring every head of a real one costs.

SmolLM2-135M on one core, against one forward pass that keeps its attention maps, and against running the model again
for every swap (estimated from that pass). Peak memory is what the process grew by, each figure in a process of its own.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Row, show
from benchmarks.smollm2_study import smollm2

TOKENS, LONG = 1000, 8192
MEASURE = """
import json, re, sys, time, torch
from pathlib import Path
from whatwhere.trace.open import load_rotary
from whatwhere.heads.scores import score
from whatwhere.trace.layer import Trace

torch.set_num_threads(1)
what, tokens, file = sys.argv[1], int(sys.argv[2]), sys.argv[3]
model = load_rotary(file)
ids = torch.randint(49152, (1, tokens), generator=torch.Generator().manual_seed(0))

@torch.no_grad()
def maps(ids):  # as one would look at attention by hand
    model.model.set_attn_implementation("eager")
    model.model(input_ids=ids, output_attentions=True, use_cache=False)
    model.model.set_attn_implementation("sdpa")

def heads(ids):
    model.stream(ids, lambda layer: score(Trace((layer,))))

def one_layer(ids):
    model.stream(ids, lambda layer: score(Trace((layer,))), layers=[0])

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 2**10

run = {"maps": maps, "heads": heads, "layer": one_layer}[what]
run(ids[:, :16])
before, best = peak(), float("inf")
for _ in range(int(sys.argv[4])):
    start = time.perf_counter()
    run(ids)
    best = min(best, time.perf_counter() - start)
print(json.dumps([best, peak() - before]))
"""


def measure(what: str, tokens: int, repeats: int = 2) -> tuple[float, float]:
    """Seconds and MB, in a process of its own."""
    arguments = [sys.executable, "-c", MEASURE, what, str(tokens), str(smollm2()), str(repeats)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory


def families() -> None:
    """The table of docs/language_models.md."""
    from transformers.utils import logging

    sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))  # the tests hold the same families
    from families import FAMILIES, check_family

    logging.set_verbosity_error()
    print("\n| family | attention error | score error | covered |\n|---|---|---|---|")
    for name, family in FAMILIES.items():
        found = check_family(family)
        print(f"| {name} | {found.attention_error:.0e} | {found.score_error:.0e} | {family.features} |")


def main() -> None:
    families()
    heads, maps = measure("heads", TOKENS), measure("maps", TOKENS)
    layer = measure("layer", LONG, repeats=1)
    swaps = math.comb(TOKENS - 1, 2)
    show(
        f"SmolLM2-135M, all 270 heads on {TOKENS} tokens, one core",
        [
            Row("trace and score of every head / one forward pass with attention maps", heads[0] / maps[0]),
            Row("their peak memory", heads[1] / maps[1]),
            Row(f"running again for {swaps:,} swaps, estimated from one / scoring", swaps * maps[0] / heads[0]),
            Row("trace and score of every head", heads[0], "s"),
            Row("peak memory of it, beside the weights", heads[1], "MB"),
            Row("peak memory of the pass with attention maps", maps[1], "MB"),
            Row(f"one layer of 9 heads on {LONG:,} tokens", layer[0], "s"),
            Row("peak memory of it", layer[1], "MB"),
            Row("attention maps of the whole model at that length would take", 270 * LONG**2 * 4 / 1e9, "GB"),
        ],
    )


if __name__ == "__main__":
    main()
