"""Ask a language model through a command of the user's own, such as `claude` or `llm -m gpt-4o-mini`.

The command comes from the user's own settings, never from a workspace, and no shell reads it. It is killed with all it
started at the deadline. A command line agent that `PRESETS` has runs in an empty folder, with the variables it needs.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO

from ..dataclass import dataclass
from ..errors import LlmError
from ..language.harness_text import ASKED_BY_MEM
from .client import Completion, LlmRequest

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
