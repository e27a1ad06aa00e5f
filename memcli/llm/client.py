"""Ask a language model one question, with a deadline that a slow server cannot extend.

Three settings choose the model, and only the user can set them: `llm.command` runs a program,
`llm.url` asks an OpenAI-compatible server, and `llm.model` alone asks through litellm. Nothing is
imported, run or sent before a question.
"""

import json
import os
import re
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from ..errors import LlmError
from ..formats import replace_surrogates, shorten
from ..store import Workspace, redact_text
from . import FOLDER_PREFIX, INSIDE_VARIABLE

if TYPE_CHECKING:
    import subprocess

LARGEST_ANSWER = 8 * 1024 * 1024  # bytes; an endless answer must not fill the disk
READ_SIZE = 65_536
LONGEST_REASON, SHOWN_REASON = 4_096, 180  # characters of an error: searched for secrets, shown
MOST_OUTPUT_TOKENS = 4096
TEMPERATURE = 0.3
# With these, Claude Code assumes that it runs inside another session, and refuses to start.
SESSION_VARIABLES = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
# Gemini refuses to answer in a folder that it does not know, such as our empty one.
NEEDED_OPTIONS = {"gemini": "--skip-trust"}
WARNING_OF_PROVIDER = re.compile(r"^litellm\.(\w+): (?:(?:litellm\.)?\1: )?(?:\w+Exception - )?")


def is_configured(workspace: Workspace) -> bool:
    """Return whether the user chose a language model."""
    names = ("llm.command", "llm.url", "llm.model")
    return any(str(workspace.settings[name]) for name in names)


def ask(
    workspace: Workspace, prompt: str, *, system: str = "", seconds: float | None = None
) -> str:
    """Return the answer to a prompt. Raises LlmError if there is none within the time."""
    settings = workspace.settings
    if not is_configured(workspace):
        raise LlmError("no language model is configured", "mem config set llm.command 'claude -p'")
    seconds = seconds or float(settings["llm.timeout"])
    # The prompt contains what people and agents wrote, which may have a lone surrogate.
    prompt, system = map(replace_surrogates, (prompt, system))
    try:
        if settings["llm.command"]:
            answer = run_command(workspace, f"{system}\n\n{prompt}".strip(), seconds)
        else:
            parts = (("system", system), ("user", prompt))
            messages = [{"role": role, "content": text} for role, text in parts if text]
            url, model = (str(settings[name]) for name in ("llm.url", "llm.model"))
            key = workspace.context.environment.get("OPENAI_API_KEY", "")
            answer = wait_for(
                lambda: (
                    ask_server(url, model or "default", messages, key, seconds)
                    if url
                    else ask_litellm(model, messages, seconds)
                ),
                seconds,
            )
    except LlmError as error:
        # Programs and servers print the key that they refuse. It is masked before the text is cut,
        # because half a key is not recognized.
        reason = redact_text(workspace, error.message[:LONGEST_REASON])
        raise LlmError(shorten(reason, SHOWN_REASON), error.hint) from None
    if not answer.strip():
        raise LlmError("the model returned an empty answer")
    return answer


def wait_for(call: Callable[[], str], seconds: float) -> str:
    """Return the result of a call, or abandon it at the deadline.

    A timeout of the socket starts again with every byte that arrives, so the call has a thread of
    its own. It is a daemon: the process can end while the thread still waits.
    """
    results: list[str] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="llm", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise LlmError(f"the model did not answer within {seconds:g} s")
    if errors:
        raise errors[0]
    return results[0]


def ask_server(
    url: str, model: str, messages: list[dict[str, str]], key: str, seconds: float
) -> str:
    """Ask an OpenAI-compatible server."""
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise LlmError(
            f"llm.url is not an address: {url}", "for example: http://localhost:11434/v1"
        )
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    headers = {"Content-Type": "application/json"}
    # A key never travels unencrypted to another machine.
    if key and (parts.scheme == "https" or is_local):
        headers["Authorization"] = f"Bearer {key}"
    body = {
        "model": model,
        "messages": messages,
        "temperature": TEMPERATURE,
        "max_tokens": MOST_OUTPUT_TOKENS,
    }
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    end = time.monotonic() + seconds + 1  # the thread that waits gives up before this one
    try:
        connection = connect(parts.hostname, parts.port, timeout=seconds)
        try:
            connection.request("POST", f"{path}/chat/completions", json.dumps(body), headers)
            data = b""
            with connection.getresponse() as response:
                # Nobody waits after the deadline, and this thread should end too.
                while time.monotonic() < end and len(data) <= LARGEST_ANSWER:
                    piece = response.read1(READ_SIZE)
                    if not piece:
                        break
                    data += piece
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise LlmError(f"cannot reach {parts.netloc}: {reason}", "check llm.url") from None
    text = data.decode("utf-8", "replace")
    if response.status != 200:
        raise LlmError(f"{parts.netloc} answered {response.status}: {text}")
    if len(data) > LARGEST_ANSWER:
        raise LlmError(f"{parts.netloc} sent more than {LARGEST_ANSWER >> 20} MiB")
    return read_completion(text, parts.netloc)


def read_completion(text: str, server: str) -> str:
    """Return the text of a completion."""
    try:
        content = json.loads(text)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        raise LlmError(
            f"the answer of {server} is not in OpenAI's format", "check llm.url"
        ) from None
    return content if isinstance(content, str) else ""


def ask_litellm(model: str, messages: list[dict[str, str]], seconds: float) -> str:
    """Ask a model by its name in litellm, without the library's network use, retries and output."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    # Otherwise the import reads a `.env` file, which may have come with a clone.
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    os.environ.setdefault("LITELLM_LOG", "CRITICAL")
    try:
        import litellm
    except ImportError:
        raise LlmError(
            "llm.model needs litellm, which is not installed",
            "set llm.command or llm.url, or in mem's repository: pipx install --force '.[llm]'",
        ) from None
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            response = litellm.completion(
                model=model,
                messages=messages,
                temperature=TEMPERATURE,
                max_tokens=MOST_OUTPUT_TOKENS,
                timeout=seconds,
                max_retries=0,
                num_retries=0,
                drop_params=True,
            )
        return str(response.choices[0].message.content or "")
    except Exception as error:  # each provider has errors of its own
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = WARNING_OF_PROVIDER.sub(r"\1: ", lines[0]) if lines else type(error).__name__
        raise LlmError(f"{model}: {reason}") from None


def run_command(workspace: Workspace, prompt: str, seconds: float) -> str:
    """Run a command with the prompt on standard input. Its processes are killed at the deadline."""
    import shlex
    import subprocess
    from tempfile import TemporaryDirectory, TemporaryFile

    command = str(workspace.settings["llm.command"])
    name = command.split()[0]
    environment = {**workspace.context.environment, INSIDE_VARIABLE: "1"}
    for variable in SESSION_VARIABLES:
        environment.pop(variable, None)
    # Files instead of pipes, because nothing blocks then, and a child that survives delays nothing.
    # An empty folder, because a conversation may give orders to the agent. It finds no files there.
    with (
        TemporaryDirectory(prefix=FOLDER_PREFIX, ignore_cleanup_errors=True) as folder,
        TemporaryFile() as question,
        TemporaryFile() as answer,
        TemporaryFile() as errors,
    ):
        question.write(prompt.encode())
        question.seek(0)
        try:
            words = shlex.split(command)
            missing = NEEDED_OPTIONS.get(words[0].rpartition("/")[2], "")
            if missing and missing not in words:
                words.insert(1, missing)
            process = subprocess.Popen(
                words,
                stdin=question,
                stdout=answer,
                stderr=errors,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise LlmError(f"cannot run {name!r}: {reason}", "check llm.command") from None
        code = wait_for_process(process, answer, seconds)
        text = read_output(answer)
        problem = read_output(errors).strip() or text
    if code is None:
        raise LlmError(f"{name} did not answer within {seconds:g} s")
    if code:
        raise LlmError(f"{name} exited with status {code}" + (f": {problem}" if problem else ""))
    return text


def wait_for_process(
    process: "subprocess.Popen[bytes]", answer: IO[bytes], seconds: float
) -> int | None:
    """Return the exit code of a process; None if it was killed for its time or its output."""
    import signal
    from subprocess import TimeoutExpired

    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end and os.fstat(answer.fileno()).st_size <= LARGEST_ANSWER:
            with suppress(TimeoutExpired):
                return process.wait(min(0.05, max(end - time.monotonic(), 0.001)))
        return None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def read_output(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(LARGEST_ANSWER + 1).decode("utf-8", "replace")
