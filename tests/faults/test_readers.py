"""Every reader of outside data, given whatever hypothesis thinks of: a result or our own error, nothing else.

In the long form (``make faults``) each gets 1,000 inputs.
"""

from __future__ import annotations

import json
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from damage import write_vouched
from harness import HANGS, LONG, TASK, TooLong, copy
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from odd_inputs import damaged, documents, json_bytes, tables, toml, values

from whatwhere.errors import WhatwhereError
from whatwhere.store.documents import parse, plain, read_json
from whatwhere.store.manifest import Manifest, fingerprint
from whatwhere.store.tables import columns, from_frame, read_csv
from whatwhere.store.tensors import load_tensors, save_tensors
from whatwhere.studies import STUDIES, study_named
from whatwhere.studies.dynamics import measure as history
from whatwhere.studies.language_models.passages import FINGERPRINT
from whatwhere.studies.study import Study
from whatwhere.tasks import task_from_dict
from whatwhere.training.loop import counters_of
from whatwhere.training.options import Options
from whatwhere.training.run import Run

Record = Callable[[str, object], None]
EXAMPLES = 1000 if LONG else 15


@dataclass(frozen=True)
class Reader:
    """What is read, and inputs near what it expects."""

    inputs: st.SearchStrategy[Any]
    read: Callable[[Any], object]


def _file(path: Path, read: Callable[[], object]) -> Callable[[bytes], object]:
    """A reader of a file that is written again for each input."""

    def write_and_read(content: bytes) -> object:
        path.write_bytes(content)
        return read()

    return write_and_read


def documents_(run: Path) -> Reader:
    path = run / "document.json"
    return Reader(json_bytes({"a": [1, {"b": None}]}), _file(path, lambda: read_json(path, "it")))


def settings_of_studies(_: Path) -> Reader:
    def usual(study: Study) -> Any:
        kind = study.settings_type()
        needs_text = study.name in ("cache", "prompt", "causal")
        return plain(kind(text=(f"{FINGERPRINT}0",)) if needs_text else kind())

    made = [st.tuples(st.just(study), documents(usual(study))) for study in (study_named(name) for name in STUDIES)]

    def read(pair: tuple[Any, Any]) -> None:
        study, content = pair
        made = parse(study.settings_type(), content, "the settings")
        study.with_settings(**{str(key): value for key, value in plain(made).items()})

    return Reader(st.one_of(made), read)


def options_of_training(_: Path) -> Reader:
    whole = {"task": "number", "preset": "smoke", "seed": 1, "layers": 2, "lr": 0.1, "batch": 2, "threads": 1}
    return Reader(documents(whole), lambda content: parse(Options, content, "the options").config())


def descriptions_of_tasks(_: Path) -> Reader:
    return Reader(documents(TASK.to_dict()) | values, task_from_dict)


def manifests(run: Path) -> Reader:
    whole = json.loads((run / "manifest.json").read_text()) | {"writing": {"config.json": "0"}}

    def read(content: bytes) -> object:
        (run / "manifest.json").write_bytes(content)
        manifest = Manifest(run)
        return manifest.record, [manifest.has(name) for name in manifest.record.files], manifest.has_lost_files()

    def sealed(made: Any) -> bytes:
        if isinstance(made, dict):
            made.pop("checksum", None)
            made["checksum"] = fingerprint(made)
        return json.dumps(made).encode()

    return Reader(documents(whole).map(sealed) | json_bytes(whole), read)


def configurations_of_runs(run: Path) -> Reader:
    whole = json.loads((run / "config.json").read_text())

    def read(content: bytes) -> object:
        write_vouched(run / "config.json", content)
        return Run(run).config.memory

    return Reader(json_bytes(whole), read)


def metrics_of_runs(run: Path) -> Reader:
    def read(content: bytes) -> object:
        write_vouched(run / "metrics.csv", content)
        return history._validation(Run(run)), [row["seconds"] for row in Run(run).metrics()]

    return Reader(tables((run / "metrics.csv").read_bytes()), read)


def results_of_tests(run: Path) -> Reader:
    def read(content: bytes) -> object:
        write_vouched(run / "test.csv", content)
        return history._test(Run(run))

    return Reader(tables((run / "test.csv").read_bytes()), read)


def tables_of_studies(_: Path) -> Reader:
    from whatwhere.studies.chat.tables import Quoted

    every = [study_named(name) for name in STUDIES]
    kinds = [Quoted, *(study.row_type(table) for study in every for table in study.tables)]

    def whole(kind: type) -> bytes:
        cells = {name: "1" if hint is not str else "a" for name, hint in columns(kind).items()}
        return pd.DataFrame([cells, cells]).to_csv(index=False).encode()

    made = [st.tuples(st.just(kind), tables(whole(kind))) for kind in kinds]
    return Reader(st.one_of(made), lambda pair: from_frame(pair[0], read_csv(pair[0], pair[1], "the table")))


def headers_of_checkpoints(run: Path) -> Reader:
    """With a checksum that is right."""
    from whatwhere.model.checkpoint import load_model

    path = max((run / "checkpoints").iterdir())
    arrays, notes = load_tensors(path, "it")

    def read(text: bytes) -> object:
        save_tensors(path, arrays, {"whatwhere": text.decode("utf-8", "replace")})
        return load_model(path, {"step": 10})

    return Reader(json_bytes(json.loads(notes["whatwhere"])), read)


def checkpoints(run: Path) -> Reader:
    from whatwhere.model.checkpoint import load_model

    path = max((run / "checkpoints").iterdir())
    whole = path.read_bytes()
    header = whole[: 8 + int.from_bytes(whole[:8], "little") + 40]  # what is flipped should rarely be a weight
    return Reader(
        damaged([header]).map(lambda made: made + whole[len(header) :]) | damaged([whole]),
        _file(path, lambda: load_model(path)),
    )


def states_of_runs(run: Path) -> Reader:
    path = max((run / "resume").iterdir())
    arrays, notes = load_tensors(path, "it")

    def read(text: bytes) -> object:
        save_tensors(path, arrays, {"state": text.decode("utf-8", "replace")})
        state, _ = Run(run).latest_state()
        return None if state is None else counters_of(state)

    return Reader(json_bytes(json.loads(notes["state"])), read)


def data_sets(run: Path) -> Reader:
    from whatwhere.tasks.dataset import load_dataset

    TASK.dataset(400, 0).save(run / "data")
    whole = json.loads((run / "data" / "manifest.json").read_text())
    return Reader(json_bytes(whole), _file(run / "data" / "manifest.json", lambda: load_dataset(run / "data")))


def splits_of_data_sets(run: Path) -> Reader:
    from whatwhere.tasks.dataset import load_dataset

    TASK.dataset(400, 0).save(run / "data")
    path = run / "data" / "validation.safetensors"
    return Reader(damaged([path.read_bytes()]), _file(path, lambda: load_dataset(run / "data")))


def sweeps(run: Path) -> Reader:
    from whatwhere.work.sweep_spec import read_sweep

    keys = ["seed", "layers", "heads", "lr", "batch", "symbols", "generator", "models", "steps", "task", "preset",
            "grid", "measure", "inputs", "tau", "rope_base", "close", "device"]  # fmt: skip
    path = run / "sweep.toml"
    return Reader(toml(keys), _file(path, lambda: read_sweep(path)))


def texts(run: Path) -> Reader:
    from whatwhere.studies.language_models.passages import read_passage

    whole = ["Wo stehst du? Où? 何処 " * 9, "\ufeffplain text, and more of it", "a"]
    path = run / "text.txt"
    made = damaged([one.encode() for one in whole]) | damaged([whole[0].encode("utf-16")]) | st.binary(max_size=200)
    return Reader(made, _file(path, lambda: read_passage(str(path), 4).fingerprint))


def gguf_files(run: Path) -> Reader:
    from gguf import GGUFWriter

    from whatwhere.trace.gguf import read_header

    path = run / "model.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_token_list(["a", "b"])
    writer.add_token_scores([0.5, 1.5])
    writer.add_add_bos_token(True)
    writer.add_tensor("weights", np.zeros((2, 32), np.float32))
    for write in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file):
        write()
    writer.close()
    whole = path.read_bytes()
    return Reader(damaged([whole, whole[:300]]), _file(path, lambda: read_header(path).tensors))


def typed_sequences(_: Path) -> Reader:
    return Reader(damaged([TASK.decode(TASK.sample(1, seed=0).tokens[0]).encode()]).map(_text), TASK.encode)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def arguments_of_chat_models(_: Path) -> Reader:
    from whatwhere.studies.chat.plan import cost, make_plan
    from whatwhere.studies.chat.redaction import check_arguments
    from whatwhere.studies.results import Results

    study = study_named("chat")
    whole = [b'{"noise": 0.1, "headers": {"a": ["$X"]}}', b"noise=0.1 b=[1]", b"reference/counter", b"a=1"]

    def read(pair: tuple[str, str]) -> None:
        settings_ = study.with_settings(model_args=pair[0])
        plan = make_plan(pair[1], settings_)
        check_arguments(plan.arguments)
        assert plan.folder and cost(pair[1], settings_, Results(study, settings_)).text

    names = st.just("reference/counter") | damaged([b"openai/gpt-5", b"hf/a/b", b"reference/counter"]).map(_text)
    return Reader(st.tuples(damaged(whole).map(_text), names), read)


def replies_of_chat_models(_: Path) -> Reader:
    from whatwhere.studies.chat.extraction import TOKENS, is_single_token, read_answer

    whole = [b"The answer is **7**.", b"b", b"<b> wait, no: 'c'\nOutput: c", b"12\n\nBecause"]
    made = st.tuples(st.sampled_from(sorted(TOKENS)), damaged(whole).map(_text) | st.text())
    return Reader(made, lambda pair: (read_answer(*pair), is_single_token(pair[1])))


READERS: dict[str, Callable[[Path], Reader]] = {
    "JSON documents": documents_,
    "settings of studies": settings_of_studies,
    "options of training": options_of_training,
    "descriptions of tasks": descriptions_of_tasks,
    "manifests": manifests,
    "configurations of runs": configurations_of_runs,
    "metrics of runs": metrics_of_runs,
    "test results of runs": results_of_tests,
    "tables of studies": tables_of_studies,
    "headers of checkpoints": headers_of_checkpoints,
    "checkpoints": checkpoints,
    "states of runs": states_of_runs,
    "data sets": data_sets,
    "splits of data sets": splits_of_data_sets,
    "sweeps": sweeps,
    "texts": texts,
    "GGUF files": gguf_files,
    "typed sequences": typed_sequences,
    "arguments of chat models": arguments_of_chat_models,
    "replies of chat models": replies_of_chat_models,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_any_input_gives_a_result_or_our_own_error(
    name: str,
    finished: Path,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("whatwhere.store.manifest._PAUSE", 0)
    monkeypatch.chdir(tmp_path)
    reader = READERS[name](copy(finished, tmp_path / "run"))
    tried = refused = 0

    def stop(*_: object) -> None:
        raise TooLong(name)

    @settings(
        max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )  # fmt: skip
    @given(made=reader.inputs)
    def check(made: Any) -> None:
        nonlocal tried, refused
        tried += 1
        handler = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, HANGS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                reader.read(made)
        except WhatwhereError as error:
            assert str(error).isprintable() or len(str(error)) < 2000
            refused += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)

    check()
    assert tried >= EXAMPLES
    record_property("figure", f"{name}: {tried:,} inputs read, {refused:,} of them refused, no other error")
