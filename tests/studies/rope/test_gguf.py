"""A GGUF file of a model against the model: whole, and with rows that were not permuted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from families import VOCABULARY
from gguf import GGUFWriter
from torch import Tensor

from whatwhere.model.rope import interleaved_to_half
from whatwhere.studies.measuring import study

NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip
ENDS = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def write(model: Any, path: Path, permute: bool, base: float = 10000.0) -> str:
    """A Llama as a GGUF file, whose queries and keys have interleaved pairs; or as a careless converter leaves them."""
    writer, config = GGUFWriter(path, "llama"), model.config
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(base)
    writer.add_rope_dimension_count(8)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["a", "b", "ab", *(f"w{i}" for i in range(3, VOCABULARY))])
    writer.add_token_types([1] * VOCABULARY)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    for name, tensor in model.state_dict().items():
        stem = name.removesuffix(".weight")
        if stem not in ENDS:
            _, _, layer, part = stem.split(".", 3)
            stem = f"blk.{layer}.{NAMES[part]}"
        weights = _interleaved(tensor) if permute and stem.endswith(("attn_q", "attn_k")) else tensor
        writer.add_tensor(f"{ENDS.get(stem, stem)}.weight", weights.numpy())
    for part in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file):
        part()
    writer.close()
    return str(path)


def _interleaved(weights: Tensor) -> Tensor:
    rows = weights.unflatten(0, (-1, 8))
    return rows[:, interleaved_to_half(8, 8).argsort()].flatten(0, 1).contiguous()


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("caches")
def test_a_conversion_leaves_no_bar_in_a_log(tmp_path: Path, llama: Any, capfd: pytest.CaptureFixture[str]):
    study("rope", write(llama, tmp_path / "model.gguf", permute=True))
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("caches")
def test_a_gguf_file_agrees_and_one_that_was_not_permuted_does_not(
    tmp_path: Path, llama: Any, saved: Callable[[Any, str], str]
):
    directory = saved(llama, "whole")
    good, bad = (write(llama, tmp_path / f"{name}.gguf", name == "good") for name in ("good", "bad"))
    assert study("rope", good, other=directory)["differences"].empty
    found = study("rope", bad, other=directory)["differences"]
    assert found["layer"].tolist() == [0, 1]
    assert set(found["what"]) == {"pairing"} and set(found["model"]) == {bad}
    assert found["cause"].str.contains("not permuted on conversion").all()


@pytest.mark.usefixtures("caches")
def test_a_gguf_file_with_another_base(tmp_path: Path, llama: Any, saved: Callable[[Any, str], str]):
    found = study("rope", saved(llama, "whole"), other=write(llama, tmp_path / "m.gguf", True, base=5e5))["differences"]
    assert set(found["cause"]) == {"base 10,000 instead of 500,000"}
