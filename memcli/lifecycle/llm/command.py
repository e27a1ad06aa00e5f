"""Ask a language model through a command of the user's own, such as `llm` or `claude -p`.

Owns: the process, its deadline and its end. The command comes from the user's own settings, never from a
workspace, and no shell reads it.
"""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any

from ...errors import LlmError
from . import MAX_TOKENS, TEMPERATURE, TIMEOUT, Completion

INSIDE = "MEM_INSIDE_LLM"
"""Set for the command, so that a hook of mem within it knows to stay out."""

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
        timeout: float = TIMEOUT,
    ) -> Completion:
        """Run the command and kill it with all it started at the deadline; only messages and timeout reach it."""
        prompt = "\n\n".join(message["content"] for message in messages)
        name = self.argv[0] if self.argv else "llm.command"
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
            return Completion(answer, None, name)

    def _run(self, asked: IO[bytes], said: IO[bytes], talk: IO[bytes], timeout: float) -> int | None:
        """Give the exit code, or None where the deadline or too large an answer came first."""
        process = subprocess.Popen(
            self.argv,
            stdin=asked,
            stdout=said,
            stderr=talk,
            env={**os.environ, INSIDE: "1"},
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
