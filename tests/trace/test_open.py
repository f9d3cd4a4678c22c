"""Loading: directories, names, GGUF files, and what cannot be loaded."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, tiny_model
from safetensors.torch import load_file, save_file

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.machine import memory
from whatwhere.trace import gguf
from whatwhere.trace.open import load_rotary
from whatwhere.trace.weights import check_files, load_weights


@pytest.fixture
def directory(tmp_path: Path, save_tokenizer: Any) -> Path:
    """A tiny model as save_pretrained writes it, with a tokenizer of whole words."""
    place = tmp_path / "tiny"
    tiny_model(FAMILIES["Llama"]).save_pretrained(place)
    save_tokenizer(place)
    return place


def test_a_directory_is_loaded_with_its_tokenizer(directory: Path):
    loaded = load_rotary(str(directory))
    assert (loaded.depth, loaded.heads, loaded.family) == (2, 4, "LlamaForCausalLM")
    ids = torch.tensor([loaded.tokenizer("w3 w4 w5 w6")["input_ids"]])
    assert ids.tolist() == [[3, 4, 5, 6]]
    assert len(loaded.trace(ids).layers) == 2
    assert not any(weights.requires_grad for weights in loaded.model.parameters())


@pytest.mark.parametrize("name", ["nowhere/at/all", "./missing", "missing.gguf"])
def test_a_wrong_path_is_refused(name: str):
    with pytest.raises(WhatwhereError, match=f"got {name}, where there is nothing"):
        load_rotary(name)


def test_a_directory_that_holds_no_model_is_refused(tmp_path: Path):
    with pytest.raises(WhatwhereError, match=r"save_pretrained wrote, got .* holds no config.json"):
        load_rotary(str(tmp_path))


def test_a_file_that_is_no_model_is_refused(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("words")
    with pytest.raises(WhatwhereError, match=r"notes.txt, which is another file"):
        load_rotary(str(tmp_path / "notes.txt"))


def test_a_model_that_is_not_here_while_offline_is_refused_at_once(monkeypatch: pytest.MonkeyPatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(WhatwhereError, match=r"nobody/nothing is neither .*HF_HUB_OFFLINE is set.* when online"):
        load_rotary("nobody/nothing")


def test_a_hub_out_of_reach_is_named(monkeypatch: pytest.MonkeyPatch):
    from huggingface_hub import constants

    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(WhatwhereError, match=r"127.0.0.1 cannot be reached"):
        load_rotary("nobody/nothing")


@pytest.mark.parametrize(
    ("kind", "message"),
    [("GatedRepoError", "accept its terms"), ("RepositoryNotFoundError", "the hub has no model of this name")],
)
def test_what_the_hub_answers_is_explained(directory: Path, monkeypatch: pytest.MonkeyPatch, kind: str, message: str):
    import huggingface_hub.errors
    from transformers import AutoConfig

    class Answer:
        headers: dict[str, str] = {}  # noqa: RUF012 (never changed)
        request = None

    def refuse(*_: Any, **__: Any) -> None:
        try:
            raise getattr(huggingface_hub.errors, kind)("no", response=Answer())
        except OSError as error:
            raise OSError("You are trying to access something") from error

    monkeypatch.setattr(AutoConfig, "from_pretrained", refuse)
    with pytest.raises(WhatwhereError, match=message):
        load_rotary(str(directory))


def test_a_damaged_configuration_is_refused(directory: Path):
    (directory / "config.json").write_text("{")
    with pytest.raises(WhatwhereError, match=r"the model .*tiny cannot be loaded: "):
        load_rotary(str(directory))


def test_a_model_without_tokenizer_can_be_traced(tmp_path: Path):
    tiny_model(FAMILIES["Llama"]).save_pretrained(tmp_path)
    model = load_rotary(str(tmp_path))
    assert model.tokenizer is None
    assert repr(model) == f"RotaryModel({tmp_path}: {model.depth} layers of {model.heads} heads)"
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(WhatwhereError, match=r"without a tokenizer .*tokenizer.json"):
        load_rotary(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "weights", "message"),
    [
        ("model.norm.weight", None, "1 are missing from it: model.norm.weight"),
        ("model.layers.0.extra", torch.zeros(2), "1 are in it and not in its model: model.layers.0.extra"),
        ("model.norm.weight", torch.zeros(3), "1 have another shape than its model: model.norm.weight"),
        ("model.norm.weight", torch.full((32,), torch.nan), "1 are not finite .*: model.norm.weight"),
        ("lm_head.weight", torch.full((50, 32), torch.inf), "1 are not finite .*: lm_head.weight"),
    ],
)
def test_weights_that_are_not_those_of_the_model_are_refused_by_name(
    directory: Path, name: str, weights: torch.Tensor | None, message: str
):
    file = directory / "model.safetensors"
    kept = load_file(file)
    kept = {key: value for key, value in kept.items() if key != name} | ({} if weights is None else {name: weights})
    save_file(kept, file, metadata={"format": "pt"})
    with pytest.raises(WhatwhereError, match=f"expected a checkpoint of .*tiny .* got one where {message}"):
        load_rotary(str(directory))


def test_code_that_comes_with_a_checkpoint_is_never_run(directory: Path):
    (directory / "mine.py").write_text("raise SystemExit('the code ran')")
    config = json.loads((directory / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"}}
    (directory / "config.json").write_text(json.dumps(config))
    with pytest.raises(WhatwhereError, match=r"the model .*tiny cannot be loaded: "):
        load_rotary(str(directory))


def test_nobody_is_asked_whether_code_of_a_checkpoint_may_run(directory: Path, monkeypatch: pytest.MonkeyPatch):
    """A family that transformers knows, but not as a language model: its own code would be the only way."""
    config = json.loads((directory / "config.json").read_text())
    config |= {"model_type": "vit", "auto_map": {"AutoModelForCausalLM": "mine.Model"}}
    (directory / "config.json").write_text(json.dumps(config))
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "n"

    monkeypatch.setattr("builtins.input", answer)
    with pytest.raises(ValueError, match="custom code"):
        load_weights("tiny", str(directory))
    assert not asked


def test_a_model_that_does_not_fit_is_refused_with_its_size_before_it_is_loaded(
    directory: Path, monkeypatch: pytest.MonkeyPatch
):
    for file in directory.glob("*.safetensors"):
        file.unlink()  # nothing of it may be read
    monkeypatch.setattr(memory, "free_bytes", lambda: 10_000)
    with pytest.raises(WhatwhereError, match=r"tiny, \d+,\d+ weights in float32, would take about .* and 10.0 kB are"):
        load_rotary(str(directory))


def test_a_family_without_rotation_is_refused_before_it_is_loaded(tmp_path: Path):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(WhatwhereError, match=r"\(gpt2\) cannot be read: it has no rotary positions"):
        load_rotary(str(tmp_path))


def test_a_damaged_gguf_file_is_refused_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "broken.gguf"
    file.write_bytes(gguf.MAGIC + b"\x03\0\0\0 and no more")
    with pytest.raises(WhatwhereError, match=r"broken.gguf cannot be read as a GGUF model"):
        load_rotary(str(file))
    assert [path for path in gguf.cache_directory("gguf").iterdir() if path.suffix != ".lock"] == []


def test_a_gguf_file_is_converted_once_and_whole_or_not_at_all(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "model.gguf"
    file.write_bytes(gguf.MAGIC)
    reads: list[Path] = []

    def read(path: Path) -> tuple[Any, Any]:
        reads.append(path)
        model = AutoModelForCausalLM.from_pretrained(directory)
        model.config.quantization_config = "as transformers leaves it"
        if len(reads) == 1:
            monkeypatch.setattr(model, "save_pretrained", _full_disk)
        return model, AutoTokenizer.from_pretrained(directory)

    monkeypatch.setattr(gguf, "_read", read)
    with pytest.raises(WhatwhereError, match=r"could not be converted .* No space left.*XDG_CACHE_HOME"):
        load_rotary(str(file))
    assert [path.name for path in gguf.cache_directory("gguf").iterdir() if path.is_dir()] == []
    assert load_rotary(str(file)).depth == 2
    assert load_rotary(str(file)).depth == 2
    assert len(reads) == 2


def test_a_gguf_file_that_does_not_fit_is_refused_with_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from gguf import GGUFWriter

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    writer = GGUFWriter(tmp_path / "large.gguf", "llama")
    writer.add_tensor("weights", torch.zeros(30, 1000).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    monkeypatch.setattr(memory, "free_bytes", lambda: 100_000)
    with pytest.raises(WhatwhereError, match=r"large.gguf, 30,000 weights in float32, would take about 144.0 kB"):
        load_rotary(str(tmp_path / "large.gguf"))


def _full_disk(place: Path) -> None:
    place.mkdir()
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("module", "load"), [("transformers", load_rotary), ("gguf", lambda f: gguf.converted(Path(f)))]
)
def test_a_missing_extra_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, load: Any):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{module} is needed .*whatwhere\[hf\]"):
        load(str(tmp_path))


def test_an_adapter_is_not_read_as_its_base(tmp_path: Path):
    for name in ("config.json", "adapter_config.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(WhatwhereError, match=r"got an adapter \(adapter_config.json\).*merge_and_unload"):
        load_rotary(str(tmp_path))


def test_weights_that_are_no_file_are_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "model.safetensors")
    with pytest.raises(WhatwhereError, match=r"got model.safetensors, which is no file"):
        check_files("a model", tmp_path, 5)
