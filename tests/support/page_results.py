"""Results on disk, made up or measured on the shipped models in seconds, for pages to show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any

from whatwhere.heads.estimate import Estimate
from whatwhere.model.gptj import GPTJ
from whatwhere.store.documents import plain
from whatwhere.studies import study_named
from whatwhere.studies.dynamics.tables import Accuracy, Score
from whatwhere.studies.geometry.tables import FrequencyId, PlaneVector, PlaneWeight
from whatwhere.studies.language_models.tables import About, HeadRow, Look, Token
from whatwhere.studies.language_models.tables import PlaneWeight as Spectrum
from whatwhere.studies.length import tables as length
from whatwhere.studies.mechanism.examples import attention_of, choose_inputs, examples
from whatwhere.studies.mechanism.tables import Ablation, MechanismSettings, Verdict
from whatwhere.studies.results import Results
from whatwhere.tasks import make_task
from whatwhere.training.presets import smoke
from whatwhere.training.run import Run
from whatwhere.zoo.load import load

HOSTILE = "</script><img src=x onerror=\"document.title='ran'\"><b>"
STEPS = tuple(range(0, 1300, 40))
LAYERS = 12
CLAIM = {
    "id": "hostile", "kind": "trained", "title": f"A title {HOSTILE}", "text": HOSTILE, "paper": "Section 3.1",
    "measured": "by eye",
    "threshold": "at most 0", "value": 0.25, "interval": [0.2, 0.3], "inputs": 1200, "verdict": "fails", "why": HOSTILE,
    "seeds": [0.25, 0.5], "paper_value": "about 1", "depends_on": [], "fixed": "2026-11-15", "checksum": "abc",
}  # fmt: skip
CLAIMS = [
    CLAIM,
    CLAIM | {"id": "second", "title": "Another", "verdict": "holds", "interval": None},
    CLAIM | {"id": "third", "title": "A third", "verdict": "not tested", "value": None},
]


def write_results(
    name: str, directory: Path, inputs: dict[str, Any], tables: dict[str, Sequence[Any]], *, ended: bool = True
) -> Results:
    """Results of a study, as measuring leaves them in ``DIR/NAME``."""
    study = study_named(name)
    settings = study.with_settings()
    results = Results(study, settings, name, directory / name)
    assert results.manifest
    results.manifest.begin(name, settings, inputs)
    for table, rows in tables.items():
        results.write(table, rows)
    (results.manifest.finish if ended else results.manifest.pause)(0.0)
    return results


def begin_run(directory: Path, task: str) -> dict[str, Any]:
    """A run without checkpoints; what its results were made from."""
    Run(directory).create(smoke(make_task(task)))
    return {"task": plain(make_task(task).to_dict())}


def write_dynamics(directory: Path, task: str, layers: int = LAYERS, heads: int = 1) -> Results:
    """Heads that turn positional (first half) or symbolic one layer after another; the last is undefined at first."""
    places = [(step, layer, head) for step in STEPS for layer in range(layers) for head in range(heads)]
    scores = []
    for step, layer, head in places:
        grown = min(1.0, step / (200 + 80 * layer))
        one, other = 1 - 0.02 * head, 1 - 0.97 * grown
        both = (one, other) if layer < layers / 2 else (other, one)
        unknown = (step, layer, head) == (0, layers - 1, heads - 1)
        both = (nan, nan) if unknown else both
        scores.append(Score(step, layer, head, "last", 1e-4, *both, 1.0 - grown / 2, 0.9 - grown / 3, 0.1, 16))
    accuracy = [
        Accuracy(step, "validation", hop, _estimate(min(1.0, step / (300 * hop))))
        for step in STEPS
        for hop in range(1, 5)
    ] + [Accuracy(STEPS[-1], "test", hop, _estimate(1 - 0.01 * hop)) for hop in range(1, 5)]
    inputs = {"task": plain(make_task(task).to_dict())}
    return write_results("dynamics", directory, inputs, {"accuracy": accuracy, "scores": scores})


def write_mechanism(directory: Path, task: str) -> Results:
    """What the shipped model of a task does on one input of each hop class, and made-up ablations."""
    model = load(task)
    assert isinstance(model, GPTJ) and model.task
    chosen = choose_inputs(model, model.task, MechanismSettings(examples=1))
    attention, contents = attention_of(model, chosen)
    ablation = [
        Ablation(layer, 0, hop, _estimate(1.0), _estimate(layer / 100 + hop / 10), 0.1, 0.5, False)
        for layer in range(LAYERS) for hop in range(1, 5)
    ]  # fmt: skip
    verdicts = [Verdict(layer, 0, "index", _estimate(0.9), "1", "1", "", "idle") for layer in range(LAYERS)]
    tables = {
        "examples": examples(model, model.task, chosen), "attention": attention, "contents": contents,
        "ablation": ablation, "verdicts": verdicts,
    }  # fmt: skip
    return write_results("mechanism", directory, {"task": plain(model.task.to_dict())}, tables)


def write_geometry(directory: Path, task: str) -> Results:
    """Weights of 64 planes under two measures, and the vectors of one head."""
    weights = [
        PlaneWeight(measure, layer, 0, plane, 1.2**-plane, _estimate(1 / (plane + layer + len(measure))))
        for measure in ("variance", "norm") for layer in range(LAYERS) for plane in range(1, 65)
    ]  # fmt: skip
    ids = [
        FrequencyId("variance", layer, 0, _estimate(3.0 * layer + 1), 0.1, layer + 1, _estimate(0.5), layer or None, 0)
        for layer in range(LAYERS)
    ]
    vectors = [PlaneVector(1, 0, 2, role, name, i - 1.5, 0.5 - i, 7) for i, (role, name) in enumerate(
        [("key", "a"), ("key", "b"), ("query", "1"), ("query", HOSTILE)]
    )]  # fmt: skip
    inputs = {"task": plain(make_task(task).to_dict())}
    return write_results("geometry", directory, inputs, {"weights": weights, "ids": ids, "vectors": vectors})


def write_length(directory: Path, task: str) -> Results:
    """Accuracy that falls with length and hops, also under a change at inference."""
    accuracy = [
        length.Accuracy(variation, tokens, hop, _estimate(17 / tokens / (1 + (hop or 0) / 10)))
        for variation in ("as trained", "log-scaled") for tokens in (17, 33, 65, 145) for hop in (None, 1, 2, 3, 4)
    ]  # fmt: skip
    chain = [
        length.Chain(source, "mass", tokens, None, _estimate(16 / tokens), 4)
        for source in ("measured", "predicted") for tokens in (17, 33, 65)
    ]  # fmt: skip
    breaks = [
        length.Break("accuracy", "measured", None, None, None, None, None, 0.5, Estimate(33.2, 30, 40, 9), 145),
        length.Break("chain mass", "predicted", None, None, None, None, None, 0.5, Estimate(nan, nan, nan, 9), 145),
    ]
    inputs = {"task": plain(make_task(task).to_dict())}
    return write_results("length", directory, inputs, {"accuracy": accuracy, "chain": chain, "breaks": breaks})


def write_reproduction(directory: Path) -> None:
    """Both models with every study but two of the letter model's, and three claims."""
    for task in ("number", "letter"):
        begin_run(directory / task, task)
        write_dynamics(directory / task, task)
        write_mechanism(directory / task, task)
    write_geometry(directory / "number", "number")
    write_length(directory / "number", "number")
    (directory / "claims.json").write_text(json.dumps({"claims": CLAIMS}))


TOKENS = ("The", " cat", HOSTILE, "\n", "", " cat", " sat")
SCORES = {
    (0, 0): (0.97, 0.03), (0, 1): (0.30, 0.80), (1, 0): (0.02, 0.99), (1, 1): (1.0, 1.0), (2, 0): (0.6, 0.5),
    (2, 1): (nan, nan),
}  # fmt: skip
LABELS = ("positional", "mixed", "symbolic", "uniform", "mixed", "undefined")


def write_heads(directory: Path, chosen: Sequence[tuple[int, int]] = tuple(SCORES), *, begins: str = "<s>") -> Results:
    """Six heads of a language model, or some of them, on a text that tries to break out."""
    rows = [_head(*place, label) for place, label in zip(SCORES, LABELS, strict=True) if place in chosen]
    looks = [
        Look(layer, head, 0, query, key, share)
        for layer, head in chosen
        for query, key, share in ((3, 0, 1.0), (6, 1, 0.2 + 0.1 * layer), (6, 2, 0.5), (6, 6, 0.05))
    ]
    tables: dict[str, Sequence[Any]] = {
        "about": [About("LlamaForCausalLM", f"{HOSTILE}.txt", True, 2, 7, 2, begins, "inputs", 0, 2e-6)],
        "heads": rows,
        "spectrum": [Spectrum(*place, plane, 0.1, 0.25) for place in chosen for plane in range(1, 5)],
        "tokens": [Token(0, position, text) for position, text in enumerate(TOKENS)],
        "attention": looks,
    }
    return write_results("heads", directory, {"model": "abc"}, tables)


def _head(layer: int, head: int, label: str) -> HeadRow:
    positional, symbolic = SCORES[layer, head]
    return HeadRow(
        model="abc", revision="1", text="sha256:0", tau=1e-4, gamma=0.1, layer=layer, head=head, label=label,
        positional=Estimate(positional, positional - 0.01, positional + 0.02, 9),
        symbolic=Estimate(symbolic, symbolic - 0.03, symbolic + 0.01, 9),
        positional_centred=1 - symbolic, symbolic_centred=1 - positional, entropy=1.5, entropy_share=0.25, own=0.1,
        previous=0.4, first=0.2, induction=0.7, renormalised_positional=positional, renormalised_symbolic=symbolic,
        rest_positional=symbolic, rest_symbolic=positional,
        rest_label={"positional": "symbolic", "symbolic": "positional"}.get(label, label), planes=4, weighted_id=2.5,
        dominant_id=2, dominant_share=0.6, dominant_frequency=0.1, undefined=0,
    )  # fmt: skip


def _estimate(value: float) -> Estimate:
    return Estimate(value, value * 0.9, value * 1.1, 40)
