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
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, Protocol

from ..dataclass import dataclass
from ..errors import LlmError
from ..language.foreign_text import ASKED_BY_MEM

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


_COMMON = (
    r"HOME|PATH|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|APPDATA|LOCALAPPDATA|USERPROFILE|SYSTEMROOT"
    r"|XDG_\w+|(?:HTTPS?|ALL|NO)_PROXY|(?:https?|all|no)_proxy|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE"
    r"|NODE_EXTRA_CA_CERTS|NODE_OPTIONS|DBUS_SESSION_BUS_ADDRESS"
)
_CLOUDS = r"AWS_\w+|GOOGLE_\w+|CLOUD_ML_REGION|AZURE_\w+"


@dataclass(frozen=True)
class Preset:
    """How one agent is asked a question once."""

    options: tuple[str, ...]  # no tools, no session kept, plain text
    environment: str  # pattern of the variables it needs beside the common ones
    own_form: frozenset[str]  # words which say that the user wrote the whole command line
    stdin: tuple[str, ...] = ()  # last words: the prompt is read from standard input
    needs_model: bool = False  # the first word behind the name is a model


PRESETS: Mapping[str, Preset] = {
    "claude": Preset(
        (
            "--print",
            "--output-format=text",
            "--tools=",
            "--no-session-persistence",
            "--setting-sources=user",
            "--strict-mcp-config",
            "--disable-slash-commands",
        ),
        # Not CLAUDECODE and CLAUDE_CODE_ENTRYPOINT: with them it takes itself for a session inside another and refuses.
        rf"ANTHROPIC_\w+|CLAUDE_CONFIG_DIR|CLAUDE_CODE_(?:OAUTH_TOKEN|USE_\w+|API_KEY_\w+|SKIP_\w+_AUTH)|{_CLOUDS}",
        frozenset({"-p", "--print"}),
    ),
    "codex": Preset(
        ("exec", "--ephemeral", "--sandbox=read-only", "--skip-git-repo-check", "--color=never"),
        r"OPENAI_\w+|CODEX_\w+|AZURE_\w+",
        frozenset({"exec", "e"}),
        ("-",),
    ),
    "gemini": Preset(
        ("--output-format=text", "--approval-mode=plan", "--extensions=none"),
        rf"GEMINI_\w+|{_CLOUDS}",
        frozenset({"-p", "--prompt"}),
    ),
    "llm": Preset(
        ("prompt", "--no-log", "--no-stream"),
        r"LLM_\w+|\w+_API_KEY|\w+_KEY",
        frozenset({"prompt", "chat"}),
    ),
    "ollama": Preset(("run", "--nowordwrap"), r"OLLAMA_\w+", frozenset({"run"}), needs_model=True),
}


def preset_of(words: Sequence[str]) -> Preset | None:
    """Return the preset that a command names; None where the command is to be run as it is written."""
    preset = PRESETS.get(words[0]) if words else None
    return None if preset is None or preset.own_form & set(words[1:]) else preset


def preset_argv(words: Sequence[str], preset: Preset, path: str | None) -> tuple[str, ...]:
    """Return the whole command line; raise LlmError where the program is not on `path` or no model is named."""
    name, more = words[0], list(words[1:])
    if preset.needs_model and not more:
        raise LlmError(f"llm.command {name!r} names no model", f"mem config set llm.command '{name} MODEL'")
    program = shutil.which(name, path=path)
    if program is None:
        raise LlmError(f"{name!r} is not on the PATH", "install it, or set llm.command to another one")
    return (program, *preset.options, *more, *preset.stdin)


def preset_environment(preset: Preset, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the program needs of an environment, and what keeps its output plain."""
    needed = re.compile(f"(?:{_COMMON}|{preset.environment})")
    return {key: value for key, value in environ.items() if needed.fullmatch(key)} | {"NO_COLOR": "1", "TERM": "dumb"}


INSIDE = "MEM_INSIDE_LLM"
"""Set for the command, so that a hook of mem within it knows to stay out."""

AGENT_TIMEOUT = 120.0
"""Seconds that a command has where no setting says otherwise: an agent starts and thinks longer than a server."""

_LARGEST_ANSWER = 8_000_000  # bytes; an endless answer must not fill the disk before the deadline


@dataclass(frozen=True)
class CommandLlm:
    """A command that reads the prompt on standard input and writes the answer on standard output."""

    argv: tuple[str, ...]

    def complete(self, request: LlmRequest) -> Completion:
        """Run the command and kill it with all it started at the deadline; only messages and timeout reach it.

        Raises LlmError where it cannot run, fails, answers nothing, or answers without the object that was asked for.
        """
        prompt = "\n\n".join([ASKED_BY_MEM, *(message["content"] for message in request.messages)])
        name = self.argv[0] if self.argv else "llm.command"
        timeout = request.timeout or AGENT_TIMEOUT
        # Files and not pipes: nothing can block, and a child left behind cannot hold the answer up.
        with TemporaryFile() as prompt_file, TemporaryFile() as answer_file, TemporaryFile() as error_file:
            prompt_file.write(prompt.encode("utf-8", "replace"))
            prompt_file.seek(0)
            try:
                code = self._run(prompt_file, answer_file, error_file, timeout)
            except (OSError, ValueError, IndexError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise LlmError(f"cannot run {name!r}: {reason.lower()}", "check llm.command") from error
            answer = _content(answer_file)
            if len(answer) > _LARGEST_ANSWER:
                raise LlmError(f"{name}: an answer of more than {_LARGEST_ANSWER // 1_000_000} MB")
            if code is None:
                raise LlmError(f"{name}: no answer within {timeout:g} s")
            if code:
                raise LlmError(f"{name} ended with {code}{_last_line(_content(error_file)) or _last_line(answer)}")
            if not answer.strip():
                raise LlmError(f"{name} answered nothing{_last_line(_content(error_file))}")
            if request.schema is not None and "{" not in answer:
                # What asks for a login says so on standard output and ends well.
                raise LlmError(f"{name} did not do what it was asked{_last_line(answer)}")
            return Completion(answer, None, name)

    def _run(self, prompt_file: IO[bytes], answer_file: IO[bytes], error_file: IO[bytes], timeout: float) -> int | None:
        """Return the exit code; None where the deadline or too large an answer came first."""
        preset = preset_of(self.argv)
        if preset is None:
            return _watched(self.argv, dict(os.environ), None, (prompt_file, answer_file, error_file), timeout)
        argv = preset_argv(self.argv, preset, os.environ.get("PATH"))
        # Whatever the agent still finds to read or run, it finds nothing of the user's.
        with TemporaryDirectory(prefix="mem-llm-", ignore_cleanup_errors=True) as folder:
            return _watched(
                argv, preset_environment(preset, os.environ), folder, (prompt_file, answer_file, error_file), timeout
            )


def _watched(
    argv: Sequence[str],
    environment: Mapping[str, str],
    folder: str | None,
    files: tuple[IO[bytes], IO[bytes], IO[bytes]],
    timeout: float,
) -> int | None:
    prompt_file, answer_file, error_file = files
    process = subprocess.Popen(
        argv,
        stdin=prompt_file,
        stdout=answer_file,
        stderr=error_file,
        env={**environment, INSIDE: "1"},
        cwd=folder,
        start_new_session=True,
    )
    end = time.monotonic() + timeout
    try:
        while (left := end - time.monotonic()) > 0 and os.fstat(answer_file.fileno()).st_size <= _LARGEST_ANSWER:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(min(0.1, left))
        return None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_LARGEST_ANSWER + 1).decode("utf-8", "replace")


def _last_line(text: str) -> str:
    last = next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "")
    return f": {last[:200]}" if last else ""
