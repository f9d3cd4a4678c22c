"""Models of others that are damaged, absurd or of another kind: one message in a short time, run for real.

Each case is a copy of a tiny model in which one thing is wrong; ``whatwhere heads`` is then asked about it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, VOCABULARY, tiny_model
from harness import command, copy, no_figures

Change = Callable[[Path], None]


def config(**values: Any) -> Change:
    """Other values in ``config.json``."""

    def change(directory: Path) -> None:
        path = directory / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def rope(**values: Any) -> Change:
    return config(rope_parameters={"rope_type": "default", "rope_theta": 1e4, **values})


def content(name: str, text: str) -> Change:
    """Another file of this name."""

    def change(directory: Path) -> None:
        (directory / name).write_text(text)

    return change


def weights(change: Callable[[bytes], bytes]) -> Change:
    def changed(directory: Path) -> None:
        path = directory / "model.safetensors"
        path.write_bytes(change(path.read_bytes()))

    return changed


def flipped(at: int) -> Change:
    return weights(lambda found: found[:at] + bytes([found[at] ^ 8]) + found[at + 1 :])


def pickled(directory: Path) -> None:
    path = directory / "model.safetensors"
    torch.save({"a": torch.zeros(2)}, directory / "pytorch_model.bin")
    path.unlink()


def other_tokens(directory: Path) -> None:
    path = directory / "tokenizer.json"
    found = json.loads(path.read_text())
    found["model"]["vocab"] = {word: number + 1000 for word, number in found["model"]["vocab"].items()}
    path.write_text(json.dumps(found))


_DEEP = '{"a":' * 5000
CASES: dict[str, tuple[str, Change, str]] = {
    "only a pickle": ("llama", pickled, "got pytorch_model.bin, a pickle, which could run code"),
    "no weights": ("llama", lambda d: (d / "model.safetensors").unlink(), "expected weights as safetensors in"),
    "weights cut off": ("llama", weights(lambda found: found[:5000]), "is not a whole safetensors file"),
    "weights without content": ("llama", weights(lambda _: b""), "is not a whole safetensors file"),
    "a bit of the header's length": ("llama", flipped(3), "is not a whole safetensors file"),
    "a bit of the header": ("llama", flipped(60), "is not a whole safetensors file"),
    "weights of NaN": ("llama", weights(lambda found: found[:-4] + struct.pack("<f", float("nan"))), "are not finite"),
    **{
        f"{name} {value!r}": ("llama", config(**{name: value}), message)
        for name, value, message in (
            ("num_hidden_layers", -1, "are in it and not in its model"),
            ("num_hidden_layers", 0, "are in it and not in its model"),
            ("num_hidden_layers", None, "expected int, got NoneType"),
            ("num_hidden_layers", "x", "expected int, got str"),
            ("num_hidden_layers", 10**6, "expected num_hidden_layers of at most 4,096"),
            ("num_hidden_layers", 1e300, "expected num_hidden_layers of at most 4,096"),
            ("num_hidden_layers", 7, "are missing from it"),
            ("num_attention_heads", -1, "negative dimension"),
            ("num_attention_heads", 0, "ZeroDivisionError"),
            ("num_attention_heads", 7, "not a multiple of the number of attention heads"),
            ("num_key_value_heads", 0, "ZeroDivisionError"),
            ("num_key_value_heads", 10**6, "as its config.json describes them"),
            ("num_key_value_heads", 10**12, "of memory, and"),
            ("hidden_size", "x", "expected int, got str"),
            ("hidden_size", 2 * 10**5, "as its config.json describes them"),
            ("head_dim", 0, "ZeroDivisionError"),
            ("head_dim", 7, "even rotary dimension"),
            ("vocab_size", 0, "IndexError"),
            ("vocab_size", 7, "have another shape than its model"),
            ("intermediate_size", [], "expected int, got list"),
            ("max_position_embeddings", None, "expected int, got NoneType"),
            ("dtype", "float99", "has no attribute 'float99'"),
            ("dtype", 3, "'int' object has no attribute"),
            ("dtype", "load", "cannot be loaded"),
            ("dtype", "int8", "not a floating-point dtype"),
            ("dtype", "float8_e4m3fn", "cannot be loaded"),
            ("model_type", [], "unhashable type"),
            ("model_type", "nosuch", "does not recognize this architecture"),
            ("attn_implementation", "flash_attention_2", "doesn't seem to be installed"),
            ("attn_implementation", "nosuch", "is not supported"),
            ("quantization_config", {"quant_method": "gptq", "bits": 4, "group_size": 8}, "requires optimum"),
            ("quantization_config", {"quant_method": "bitsandbytes", "load_in_4bit": True}, "requires bitsandbytes"),
            ("quantization_config", 5, "cannot be loaded"),
            ("rope_parameters", 5, "rope_parameters"),
        )
    },
    "theta as text": ("llama", rope(rope_theta="x"), "unsupported operand"),
    "theta of nothing": ("llama", rope(rope_theta=None), "unsupported operand"),
    "theta of NaN": ("llama", rope(rope_theta=float("nan")), "not its plain ones rotated"),
    "an unknown rotation": ("llama", rope(rope_type="nosuch"), "KeyError: 'nosuch'"),
    "a factor as text": ("llama", rope(rope_type="linear", factor="x"), "unsupported operand"),
    "a factor of 0": ("llama", rope(rope_type="linear", factor=0), "not its plain ones rotated"),
    "a configuration that is a number": ("llama", content("config.json", "5"), "expected a JSON object"),
    "a configuration that is null": ("llama", content("config.json", "null"), "expected a JSON object"),
    "a configuration that is a list": ("llama", content("config.json", "[]"), "expected a JSON object"),
    "a deep configuration": ("llama", content("config.json", _DEEP), "recursion"),
    "thousands of digits": ("llama", content("config.json", f'{{"hidden_size": {"9" * 5000}}}'), "4300 digits"),
    "a tokenizer that is null": ("llama", content("tokenizer.json", "null"), "without a tokenizer"),
    "a tokenizer of nothing": ("llama", content("tokenizer.json", ""), "without a tokenizer"),
    "a deep tokenizer": ("llama", content("tokenizer.json", _DEEP), "without a tokenizer"),
    "a tokenizer's length as text": (
        "llama", content("tokenizer_config.json", '{"model_max_length": "x"}'), "without a tokenizer",
    ),
    "a tokenizer of another model": ("llama", other_tokens, "expected token ids in 0..49"),
    "a window beyond GPT-J's table": ("gptj", config(n_positions=8), "expected at most 8 tokens, the positions"),
    "a GPT-J without positions": ("gptj", config(n_positions=0), "expected at most 0 tokens, the positions"),
    "an odd rotary_dim": ("gptj", config(rotary_dim=3), "expected an even rotary_dim of at most 8"),
    "a rotary_dim beyond the head": ("gptj", config(rotary_dim=99), "expected an even rotary_dim of at most 8"),
    "Mamba, without attention": ("mamba", lambda _: None, "got one without attention heads"),
}  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Tiny models with a tokenizer of whole words, and a text of 60."""
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers import models as kinds
    from transformers import MambaConfig, MambaForCausalLM, PreTrainedTokenizerFast

    place = tmp_path_factory.mktemp("models")
    words: Any = Tokenizer(kinds.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    mamba = MambaForCausalLM(MambaConfig(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2))
    made = {"llama": tiny_model(FAMILIES["Llama"]), "gptj": tiny_model(FAMILIES["GPT-J"]), "mamba": mamba}
    for name, model in made.items():
        model.save_pretrained(place / name)
        PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w0").save_pretrained(place / name)
    config(n_positions=128)(place / "gptj")
    (place / "text.txt").write_text(" ".join(f"w{3 + (i * i) % 40}" for i in range(60)))
    with no_figures():
        yield place


def heads(model: Path, *more: str) -> Any:
    return command("heads", str(model), "--out", str(model.parent / "results"), *more)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_model_that_cannot_be_read_ends_with_one_message(name: str, models: Path, tmp_path: Path):
    source, change, message = CASES[name]
    model = copy(models / source, tmp_path / "model")
    change(model)
    ended = heads(model, "--text", str(models / "text.txt"))
    assert ended.code == 2, ended
    assert message in " ".join(ended.err.split()), ended.err
    assert "Traceback" not in ended.err
    assert not (tmp_path / "results" / "heads" / "heads.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("source", ["llama", "gptj"])
def test_the_models_that_the_cases_start_from_are_read(source: str, models: Path, tmp_path: Path):
    ended = heads(copy(models / source, tmp_path / "model"), "--text", str(models / "text.txt"))
    assert ended.code == 0, ended.err


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a pipe that never ends", "a device that never ends", "a pipe of text"])
def test_a_text_is_read_no_further_than_needed(kind: str, models: Path, tmp_path: Path):
    """Only the beginning is read, so an endless text ends the command as soon as a file does."""
    import os
    import threading

    model, text = copy(models / "llama", tmp_path / "model"), tmp_path / "text"
    if kind == "a device that never ends":
        text = Path("/dev/zero")
    else:
        os.mkfifo(text)

    def feed() -> None:
        try:
            with text.open("wb") as opened:
                while opened.write(b"w3 w4 w5 w6 w7 w8 " * 5000) and kind == "a pipe that never ends":
                    pass
        except BrokenPipeError:
            pass

    feeder = threading.Thread(target=feed, daemon=True)
    if kind != "a device that never ends":
        feeder.start()
    ended = heads(model, "--text", str(text), "--inputs", "4")
    assert ended.code == (2 if "device" in kind else 0), ended.err
    assert "device" not in kind or "got zero bytes" in ended.err


def test_a_gguf_file_that_claims_more_than_it_holds_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    name = b"a"
    array = struct.pack("<IQ", 9, len(name))[4:] + name + struct.pack("<IIQ", 9, 0, 2**40)  # 2^40 bytes, it says
    for number, found in enumerate(
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + array,  # 49 bytes
            b"GGUF" + struct.pack("<IQQ", 3, 0, 2**40),
            b"GGUF" + struct.pack("<IQQ", 3, 2**40, 0),
            b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**63),
            b"GGUF",
        )
    ):
        path = tmp_path / f"{number}.gguf"
        path.write_bytes(found)
        ended = heads(path)
        assert ended.code == 2 and "cannot be read as a GGUF model" in ended.err, (number, ended)


def test_what_a_killed_conversion_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from whatwhere.errors import WhatwhereError
    from whatwhere.trace import gguf

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    kept: list[Path] = []
    monkeypatch.setattr(gguf, "_convert", lambda _, directory: kept.append(directory))
    gguf.converted(path)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    left = kept[0].with_name(f"{kept[0].name}.12345.partial")
    left.mkdir()
    (left / "model.safetensors").write_bytes(b"half")
    with pytest.raises(WhatwhereError, match="cannot be read as a GGUF model"):
        gguf.converted(path)
    assert not left.exists()
