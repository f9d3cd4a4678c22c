"""What is known of a model before it is asked: who serves it, whether calls cost money, how reasoning is switched off.

Keys come from the environment alone. They are refused as arguments and in URLs, because both are kept with the results,
and whatever a server echoes of them is struck out of the logs (:func:`strike_out`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from whatwhere.errors import MissingExtraError, WhatwhereError
from whatwhere.store.storage import read_text, write_text

if TYPE_CHECKING:
    from inspect_ai.model import Model

OFFLINE = ("reference", "whatwhere", "mockllm")
"""Providers that compute their answers within this process, and know nothing of reasoning."""
LOCAL = (*OFFLINE, "hf", "ollama", "vllm", "sglang", "llama-cpp-python", "nnterp", "transformer_lens")
"""Providers whose models run on the user's own machine."""
SWITCHABLE = ("openai", "anthropic", "google", "openrouter", "grok")
"""Providers that inspect-ai knows how to ask for no reasoning; not every model of theirs obeys."""
STRUCK_OUT = "[key]"
_SECRET_NAME = re.compile(r"(?:^|_)(?:api_?key|key|token|secret|password|credentials?)$", re.IGNORECASE)
_MARKUP = re.compile(r"\[/?[a-z ]+\]")


@dataclass(frozen=True)
class Provider:
    """Who serves a model.

    Args:
        model: as inspect-ai names it, PROVIDER/NAME.
        base_url: where it is served, if not at the provider's own address.
    """

    model: str
    base_url: str | None = None

    def __post_init__(self) -> None:
        if "/" not in self.model.strip("/"):
            raise WhatwhereError(
                f"a model is named PROVIDER/NAME, such as openai/gpt-5.4, hf/some/model or reference/perfect, and "
                f"{self.model!r} arrived."
            )
        if self.base_url is not None:
            parts = urlsplit(self.base_url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise WhatwhereError(
                    f"a base URL such as http://127.0.0.1:8080/v1 was expected; {parts.path!r} arrived."
                )
            if parts.username or parts.password or parts.query:
                raise WhatwhereError(
                    "the base URL carries a user, a password or a query, and it is kept with the results. Put the key "
                    "into the environment variable of the provider."
                )

    @property
    def name(self) -> str:
        """The provider."""
        return self.model.split("/")[0]

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
        host = (urlsplit(self.url).hostname or "") if self.url else ""
        try:
            return host == "localhost" or ip_address(host).is_loopback
        except ValueError:  # a name
            return False

    @property
    def paid(self) -> bool:
        """Whether calls may cost money: always, unless the model is known to run locally."""
        return not (self.name in LOCAL or self.on_this_machine)

    @property
    def reasoning(self) -> str | None:
        """The effort to ask for: ``none`` where inspect-ai can say so, nothing where it cannot."""
        return "none" if self.name in SWITCHABLE else None

    @property
    def greedy_by_argument(self) -> bool:
        """Whether greedy decoding is an argument of the model: transformers refuses to sample at temperature 0."""
        return self.name == "hf"

    def open(self, arguments: Mapping[str, Any], *, greedy: bool = True) -> Model:
        """Makes the inspect-ai model; its key is taken from the environment.

        Args:
            arguments: of the provider, beyond the name and the address.
            greedy: whether the likeliest token is to be taken each time.

        Raises:
            WhatwhereError: a key is missing or was given as an argument, or the provider refuses the rest.
        """
        for argument, value in arguments.items():
            if _SECRET_NAME.search(argument) or str(value) in secrets():
                raise WhatwhereError(
                    f"the model argument {argument!r} looks like a key, and arguments are kept with the results. Put "
                    "it into the environment variable of the provider, such as OPENAI_API_KEY."
                )
        try:
            from inspect_ai._util.error import PrerequisiteError
            from inspect_ai.model import get_model

            import whatwhere.studies.chat.registry  # noqa: F401 (makes our own providers known)
        except ImportError as error:
            raise MissingExtraError("inspect_ai", "llm", "to ask chat models") from error
        extra: dict[str, Any] = {"do_sample": not greedy} if self.greedy_by_argument else {}
        if self.name == "openai-api" and self.on_this_machine and not os.environ.get(f"{self._service}_API_KEY"):
            extra["api_key"] = "none"  # a server on this machine wants none, but inspect-ai wants one of it
        try:
            return get_model(self.model, base_url=self.url, memoize=False, **{**extra, **arguments})
        except WhatwhereError:
            raise
        except PrerequisiteError as error:
            said = " ".join(_MARKUP.sub("", str(error.message)).removeprefix("ERROR: ").split())
            raise WhatwhereError(f"{self.model} cannot be asked: {said}") from error
        except (ValueError, TypeError, OSError, ImportError) as error:
            raise WhatwhereError(f"{self.model} cannot be asked: {without(str(error), secrets())}") from error


def secrets() -> list[str]:
    """The values of environment variables that are named as keys are, longest first."""
    found = {value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= 8}
    return sorted(found, key=len, reverse=True)


def without(text: str, keys: Sequence[str]) -> str:
    """A text with every key struck out."""
    for key in keys:
        text = text.replace(key, STRUCK_OUT)
    return text


def strike_out(files: Iterable[Path], keys: Sequence[str]) -> list[Path]:
    """Strikes keys out of inspect-ai logs and the lists it keeps of them: a server may echo a key in what it says.

    Returns:
        The files that held one.
    """
    from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

    changed = []
    for path in files if keys else ():
        log = path.suffix == ".eval"
        text = read_eval_log(str(path)).model_dump_json() if log else read_text(path, "a list of logs")
        clean = without(text, [json.dumps(key)[1:-1] for key in keys])
        if clean == text:
            continue
        if log:
            write_eval_log(EvalLog.model_validate_json(clean), str(path))
        else:
            write_text(path, clean)
        changed.append(path)
    return changed
