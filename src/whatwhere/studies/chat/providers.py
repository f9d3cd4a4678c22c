"""Properties of a provider: where it runs, whether calls cost money, how to switch reasoning off."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whatwhere.errors import WhatwhereError, extra_for
from whatwhere.studies.chat.echoes import clean_replies
from whatwhere.studies.chat.redaction import check_arguments, from_environment, secrets, split_url, without
from whatwhere.studies.subject import TRAINED, Opened, Subject

if TYPE_CHECKING:
    from inspect_ai.model import Model

PAPER = "paper"
"""The name for the models of the paper's own table: quoted, not asked."""
OFFLINE = ("reference", "whatwhere", "mockllm")
"""Providers that compute their answers within this process, without reasoning."""
LOCAL = (*OFFLINE, "hf", "ollama", "vllm", "sglang", "llama-cpp-python", "nnterp", "transformer_lens")
"""Providers whose models run on the user's own machine."""
SWITCHABLE = ("openai", "anthropic", "google", "openrouter", "grok")
"""Providers for which inspect-ai can switch reasoning off; not every model obeys."""
REMOTE = (
    *SWITCHABLE, "azureai", "bedrock", "cloudflare", "deepseek", "fireworks", "groq", "hf-inference-providers",
    "litellm-proxy", "meta", "mistral", "moonshot", "openai-api", "openai-api-completions", "perplexity", "sagemaker",
    "sambanova", "together",
)  # fmt: skip
"""Other providers that come with inspect-ai; packages of their own may add some."""
_MARKUP = re.compile(r"\[/?[a-z ]+\]")


class _ChatModel(Subject):
    """A chat model by name, the models of the paper, or logs that inspect-ai left."""

    def open(self, source: Any, step: int | None = None) -> Opened:
        """Checks the name (``paper`` if there is none); a model is asked when it is measured.

        The item is a ``Path`` for a directory of logs, and the name otherwise.
        """
        name = PAPER if source is None else str(source)
        if step is not None:
            raise WhatwhereError(
                f"expected no step for a chat model, got {step}; use --model-args step={step} for a run."
            )
        if name == PAPER:
            return Opened(PAPER, PAPER, {"model": PAPER}, Path())
        if next(Path(name).rglob("*.eval"), None) is not None:
            from whatwhere.store.manifest import fingerprint
            from whatwhere.studies.chat.logs import read_logs

            held = [(log.model, log.block, log.sequences, len(log.samples)) for log in read_logs([Path(name)])]
            return Opened(Path(name), name, {"logs": fingerprint(held)}, Path(name))
        provider = Provider(name)
        inputs = {"model": name}
        if provider.name == "whatwhere":
            inputs["weights"] = TRAINED.open(provider.rest).inputs["model"]
        return Opened(name, name, inputs, Path("chat-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.")))


CHAT_MODEL = _ChatModel(
    "model",
    "PROVIDER/NAME as inspect-ai names it (openai/gpt-5.4, hf/PATH), reference/counter, whatwhere/letter; paper for "
    "the paper's own numbers; or a directory with inspect-ai logs.",
    "once",
    home="chat-PROVIDER-NAME, or the directory with the logs; for paper, the working directory",
)


@dataclass(frozen=True)
class Provider:
    """Who serves a model."""

    model: str
    """As inspect-ai names it, PROVIDER/NAME."""
    base_url: str | None = None
    """Where it is served, if not at the provider's own address."""

    def __post_init__(self) -> None:
        if "/" not in self.model.strip("/") or not self.name:
            raise WhatwhereError(
                "expected a model as PROVIDER/NAME, such as openai/gpt-5.4, hf/some/model or reference/perfect, or a "
                f"directory with inspect-ai logs, got {self.model!r}."
            )

    @property
    def name(self) -> str:
        """The provider."""
        return self.model.split("/")[0]

    @property
    def rest(self) -> str:
        """The model, as the provider names it."""
        return self.model.partition("/")[2]

    @property
    def url(self) -> str | None:
        """The address that is known: given, or from the environment for ``openai-api/SERVICE/NAME``."""
        if self.base_url or self.name != "openai-api":
            return self.base_url
        return os.environ.get(f"{self._service}_BASE_URL")

    @property
    def _service(self) -> str:
        return self.model.split("/")[1].upper().replace("-", "_")

    @property
    def on_this_machine(self) -> bool:
        """Whether the model is served at the loopback address."""
        host = (split_url(self.url).hostname or "") if self.url else ""
        try:
            return host == "localhost" or ip_address(host).is_loopback
        except ValueError:  # a name
            return False

    def check_known(self) -> None:
        """Raises an error for an unknown provider."""
        if self.name in (*LOCAL, *REMOTE):
            return
        with extra_for("to ask chat models", "inspect_ai", "llm"):
            import inspect_ai.model  # noqa: F401 (makes its providers known)
            from inspect_ai._util.registry import registry_find
        if not registry_find(lambda one: one.type == "modelapi" and one.name.split("/")[-1] == self.name):
            known = ", ".join(sorted({*LOCAL, *REMOTE}))
            raise WhatwhereError(f"expected a provider that inspect-ai knows ({known}), got {self.name!r}.")

    @property
    def paid(self) -> bool:
        """Whether calls may cost money: always, unless the model is known to run locally."""
        return not (self.name in LOCAL or self.on_this_machine)

    def effort(self, chosen: str | None) -> str | None:
        """The reasoning effort to request: by default ``none`` where inspect-ai supports it, otherwise nothing."""
        if chosen is None:
            return "none" if self.name in SWITCHABLE else None
        return None if chosen == "default" else chosen

    @property
    def greedy_by_argument(self) -> bool:
        """Whether greedy decoding is an argument of the model: transformers refuses to sample at temperature 0."""
        return self.name == "hf"

    def open(self, arguments: Mapping[str, Any], *, greedy: bool = True) -> Model:
        """Creates the inspect-ai model with some arguments of the provider; its key comes from the environment.

        Raises:
            WhatwhereError: a key is missing or was given as an argument, or the provider rejects the arguments.
        """
        check_arguments(arguments)
        with extra_for("to ask chat models", "inspect_ai", "llm"):
            from inspect_ai._util.error import PrerequisiteError
            from inspect_ai.model import get_model

            import whatwhere.studies.chat.registry  # noqa: F401 (makes our own providers known)
        shown: dict[str, Any] = {**({"do_sample": not greedy} if self.greedy_by_argument else {}), **arguments}
        given = from_environment(shown)
        if self.name == "openai-api" and self.on_this_machine and not os.environ.get(f"{self._service}_API_KEY"):
            given["api_key"] = "none"  # a local server needs no key, but inspect-ai requires one
        try:
            model = get_model(self.model, base_url=self.url, memoize=False, **given)
        except WhatwhereError:
            raise
        except PrerequisiteError as error:
            message = " ".join(_MARKUP.sub("", str(error.message)).removeprefix("ERROR: ").split())
            raise WhatwhereError(f"{self.model} cannot be asked: {message}") from error
        except (ValueError, TypeError, OSError, ImportError) as error:
            raise WhatwhereError(f"{self.model} cannot be asked: {without(str(error), secrets(shown))}") from error
        check_without_key(model.api.base_url or "")
        model.model_args = shown  # what its logs keep: variables by their names
        clean_replies(model, secrets(shown))
        return model


def check_url(url: str) -> None:
    """Raises an error for an invalid address, or one with a key, which would be stored with the results."""
    parts = split_url(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WhatwhereError("expected a base URL such as http://127.0.0.1:8080/v1, got something else.")
    check_without_key(url)


def check_without_key(url: str) -> None:
    """Raises an error for an address with a key, which would be stored in logs."""
    parts = split_url(url)
    if parts.username or parts.password or parts.query:
        raise WhatwhereError(
            "expected a base URL without a user, a password or a query, because it is kept with the results, got one; "
            "put the key into the environment variable of the provider."
        )
