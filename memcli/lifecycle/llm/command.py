"""Ask a language model through a command of the user's own, such as `claude` or `llm -m gpt-4o-mini`.

Owns: the process, its folder, its deadline and its end. The command comes from the user's own settings, never from a
workspace, and no shell reads it. A command line agent that `presets` knows runs in an empty folder.
"""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

from ...errors import LlmError
from ...text.injected import ASKED_BY_MEM
from . import MAX_TOKENS, TEMPERATURE, Completion
from .presets import preset_argv, preset_environment, preset_of

INSIDE = "MEM_INSIDE_LLM"
"""Set for the command, so that a hook of mem within it knows to stay out."""

AGENT_TIMEOUT = 120.0
"""Seconds that a command has where no setting says otherwise: an agent starts and thinks longer than a server."""

_LARGEST_ANSWER = 8_000_000  # bytes; an endless answer must not fill the disk before the deadline


@dataclass(frozen=True)
class CommandLlm:
    """A command that reads the prompt on standard input and writes the answer on standard output."""

    argv: tuple[str, ...]

    def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float = TEMPERATURE,
        max_tokens: int = MAX_TOKENS,
        timeout: float = 0.0,
    ) -> Completion:
        """Run the command and kill it with all it started at the deadline; only messages and timeout reach it.

        Raises LlmError where it cannot run, fails, answers nothing, or answers without the object that was asked for.
        """
        prompt = "\n\n".join([ASKED_BY_MEM, *(message["content"] for message in messages)])
        name = self.argv[0] if self.argv else "llm.command"
        timeout = timeout or AGENT_TIMEOUT
        # Files and not pipes: nothing can block, and a child left behind cannot hold the answer up.
        with TemporaryFile() as asked, TemporaryFile() as said, TemporaryFile() as talk:
            asked.write(prompt.encode("utf-8", "replace"))
            asked.seek(0)
            try:
                code = self._run(asked, said, talk, timeout)
            except (OSError, ValueError, IndexError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise LlmError(f"cannot run {name!r}: {reason.lower()}", "check llm.command") from error
            answer = _content(said)
            if len(answer) > _LARGEST_ANSWER:
                raise LlmError(f"{name}: an answer of more than {_LARGEST_ANSWER // 1_000_000} MB")
            if code is None:
                raise LlmError(f"{name}: no answer within {timeout:g} s")
            if code:
                raise LlmError(f"{name} ended with {code}{_last_line(_content(talk)) or _last_line(answer)}")
            if not answer.strip():
                raise LlmError(f"{name} answered nothing{_last_line(_content(talk))}")
            if schema is not None and "{" not in answer:
                # What asks for a login says so on standard output and ends well.
                raise LlmError(f"{name} did not do what it was asked{_last_line(answer)}")
            return Completion(answer, None, name)

    def _run(self, asked: IO[bytes], said: IO[bytes], talk: IO[bytes], timeout: float) -> int | None:
        """Return the exit code; None where the deadline or too large an answer came first."""
        preset = preset_of(self.argv)
        if preset is None:
            return _watched(self.argv, dict(os.environ), None, (asked, said, talk), timeout)
        argv = preset_argv(self.argv, preset, os.environ.get("PATH"))
        # Whatever the agent still finds to read or run, it finds nothing of the user's.
        with TemporaryDirectory(prefix="mem-llm-", ignore_cleanup_errors=True) as folder:
            return _watched(argv, preset_environment(preset, os.environ), folder, (asked, said, talk), timeout)


def _watched(
    argv: Sequence[str],
    environment: Mapping[str, str],
    folder: str | None,
    files: tuple[IO[bytes], IO[bytes], IO[bytes]],
    timeout: float,
) -> int | None:
    asked, said, talk = files
    process = subprocess.Popen(
        argv,
        stdin=asked,
        stdout=said,
        stderr=talk,
        env={**environment, INSIDE: "1"},
        cwd=folder,
        start_new_session=True,
    )
    end = time.monotonic() + timeout
    try:
        while (left := end - time.monotonic()) > 0 and os.fstat(said.fileno()).st_size <= _LARGEST_ANSWER:
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
