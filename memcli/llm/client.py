"""Ask a language model: the protocol of an LLM, and the client of those that litellm reaches.

All use of litellm is here, with a wall-clock deadline and one line for each error. There are no hidden retries. Nothing
is imported, read or sent before a question is asked.
"""

import contextlib
import importlib.util
import json
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from ..dataclass import dataclass
from ..errors import LlmError

TEMPERATURE = 0.3
MAX_TOKENS = 4096
TIMEOUT = 30.0


_TWICE = re.compile(r"^litellm\.(\w+): (?:(?:litellm\.)?\1: )?(?:\w+Exception - )?")


@dataclass(frozen=True)
class Completion:
    """What a model answered, and why it stopped where the server says so."""

    text: str
    finish_reason: str | None = None
    model: str = ""


@dataclass(frozen=True)
class LlmRequest:
    """What a model is asked, and how."""

    messages: Sequence[Mapping[str, str]]
    """Each with `role` and `content`."""
    schema: Mapping[str, Any] | None = None
    """Of the JSON object that is asked for."""
    temperature: float = TEMPERATURE
    max_tokens: int = MAX_TOKENS
    timeout: float = 0.0
    """Seconds to answer in; 0: the usual time of its kind."""


class Llm(Protocol):
    """Anything that answers requests."""

    def complete(self, request: LlmRequest) -> Completion:
        """Answer in time; raise LlmError with the reason if not."""
        ...


@dataclass(frozen=True)
class LitellmLlm:
    """A model named as litellm names it, or any model of an OpenAI-compatible server at `api_base`."""

    model: str
    api_base: str = ""
    api_key: str = field(default="", repr=False)

    def complete(self, request: LlmRequest) -> Completion:
        """Ask once; raise LlmError if there is no answer in time, which starts when litellm is imported."""
        timeout = request.timeout or TIMEOUT
        # Whatever a provider prints must not end up in our data.
        with contextlib.redirect_stdout(sys.stderr):
            litellm = _litellm()
            arguments: dict[str, Any] = {
                "messages": [dict(message) for message in request.messages],
                "temperature": request.temperature,
                "max_tokens": request.max_tokens,
                "timeout": timeout,
                "max_retries": 0,
                "num_retries": 0,
                "drop_params": True,
            }
            return _within(timeout, lambda: self._ask(litellm, arguments, request.schema), self.model)

    def _ask(self, litellm: Any, arguments: dict[str, Any], schema: Mapping[str, Any] | None) -> Completion:
        try:
            model, provider = self._resolved(litellm)
            arguments |= {"model": model, "custom_llm_provider": provider}
            arguments |= {"api_base": self.api_base} if self.api_base else {}
            # The OpenAI client wants a key even for a server that asks for none.
            key = self.api_key or ("none" if self.api_base and not os.environ.get("OPENAI_API_KEY") else "")
            arguments |= {"api_key": key} if key else {}
            form = _response_format(litellm, model, provider, schema)
            try:
                response = litellm.completion(**arguments, **form)
            except litellm.exceptions.BadRequestError as error:
                if not form or "response_format" not in str(error):
                    raise
                # Many servers speak the protocol but not every form of it; the refused question cost nothing.
                response = litellm.completion(**arguments)
        except Exception as error:
            raise LlmError(f"{self.model}: {self._reason(error)}") from error
        if not response.choices:
            raise LlmError(f"{self.model}: an answer without choices")
        choice = response.choices[0]
        return Completion(choice.message.content or "", choice.finish_reason, response.model or model)

    def _resolved(self, litellm: Any) -> tuple[str, str]:
        try:
            model, provider, *_ = litellm.get_llm_provider(self.model, api_base=self.api_base or None)
        except litellm.exceptions.BadRequestError:
            if not self.api_base:
                raise
            return self.model, "openai"
        return model, provider

    def _reason(self, error: Exception) -> str:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = _TWICE.sub(r"\1: ", lines[0]) if lines else type(error).__name__
        if self.api_key:
            reason = reason.replace(self.api_key, "…")
        return reason if len(reason) <= 200 else f"{reason[:199]}…"


def context_window(model: str) -> int | None:
    """Return the tokens a model takes in, where litellm's own table knows it; litellm itself is not imported."""
    spec = importlib.util.find_spec("litellm")
    for folder in (spec and spec.submodule_search_locations) or ():
        table = Path(folder) / "model_prices_and_context_window_backup.json"
        try:
            models = json.loads(table.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        name = model
        while name:
            tokens = models.get(name, {}).get("max_input_tokens")
            if isinstance(tokens, int) and tokens > 0:
                return tokens
            name = name.partition("/")[2]
    return None


def _litellm() -> Any:
    """Import litellm without its network, telemetry, banners and `.env` files."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    # Otherwise the import reads a .env above its own folder, which may have come with a clone.
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    os.environ.setdefault("LITELLM_LOG", "CRITICAL")
    try:
        import litellm
    except ImportError as error:
        raise LlmError(
            "litellm is not installed", "run `pip install '.[llm]'` in mem's folder, or set llm.command"
        ) from error
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    for name in ("LiteLLM", "litellm", "httpx", "openai"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


def _response_format(litellm: Any, model: str, provider: str, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments for the strictest form of answer that the model knows, according to litellm."""
    if schema is None:
        return {}
    if litellm.supports_response_schema(model=model, custom_llm_provider=provider):
        strict = schema.get("additionalProperties") is False
        named = {"name": "reply", "schema": dict(schema), "strict": strict}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    parameters = litellm.get_supported_openai_params(model=model, custom_llm_provider=provider) or ()
    return {"response_format": {"type": "json_object"}} if "response_format" in parameters else {}


def _within(seconds: float, ask: Callable[[], Completion], name: str) -> Completion:
    """Return the answer, or abandon the question: a server that dribbles outlives litellm's own timeout.

    The thread is a daemon, so the process can end at once while it still waits.
    """
    answers: list[Completion | BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            answers.append(ask())
        except BaseException as error:
            answers.append(error)
        done.set()

    threading.Thread(target=run, name="llm", daemon=True).start()
    if not done.wait(seconds):
        raise LlmError(f"{name}: no answer within {seconds:g} s")
    answer = answers[0]
    if isinstance(answer, BaseException):
        raise answer
    return answer
