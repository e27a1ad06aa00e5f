"""Commands and servers that answer, fail, hang and dribble."""

import os
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from memcli.api import add_gates
from memcli.errors import LlmError
from memcli.llm.client import ask, is_configured
from memcli.store.workspace import Workspace, get_target_workspace
from tests.helpers import make_context, make_workspace
from tests.llm.server import build_completion, run_server


def configure(folder: Path, **environment: str) -> Workspace:
    make_workspace(folder)
    return add_gates(get_target_workspace(make_context(folder, **environment)))


def test_a_server_answers(tmp_path: Path) -> None:
    with run_server(build_completion("Hello.")) as server:
        workspace = configure(
            tmp_path, MEM_LLM_URL=server.url, MEM_LLM_MODEL="m", OPENAI_API_KEY="k"
        )
        assert ask(workspace, "Hi \ud800", system="Be short.") == "Hello."
    path, headers, question = server.questions[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer k"
    assert question["model"] == "m"
    assert [message["content"] for message in question["messages"]] == ["Be short.", "Hi ?"]


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"", 200, "OpenAI"),
        (b"<html>Bad Gateway</html>", 200, "OpenAI"),
        (b"{}", 200, "OpenAI"),
        (b"[[[", 200, "OpenAI"),
        (b'{"choices": [{"message": {"content": null}}]}', 200, "empty answer"),
        (b'{"error": "overloaded"}', 500, "500"),
        (b"", 301, "301"),
        (build_completion("x" * 9_000_000), 200, "MiB"),
    ],
)
def test_a_server_that_fails_is_one_error(
    tmp_path: Path, body: bytes, status: int, reason: str
) -> None:
    with run_server(body, status=status) as server:
        workspace = configure(tmp_path, MEM_LLM_URL=server.url)
        with pytest.raises(LlmError, match=reason):
            ask(workspace, "Hi")


def test_a_large_answer_is_returned(tmp_path: Path) -> None:
    with run_server(build_completion("x" * 1_000_000)) as server:
        assert len(ask(configure(tmp_path, MEM_LLM_URL=server.url), "Hi")) == 1_000_000


def test_a_dribbling_server_cannot_extend_the_deadline(tmp_path: Path) -> None:
    with run_server(build_completion("Hello."), pause=0.05) as server:
        workspace = configure(tmp_path, MEM_LLM_URL=server.url)
        start = time.monotonic()
        with pytest.raises(LlmError, match=r"within 0\.5 s"):
            ask(workspace, "Hi", seconds=0.5)
        assert time.monotonic() - start < 2


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "localhost", "file:///etc/passwd"])
def test_an_address_that_leads_nowhere_is_an_error(tmp_path: Path, url: str) -> None:
    with pytest.raises(LlmError):
        ask(configure(tmp_path, MEM_LLM_URL=url), "Hi")


def test_a_command_reads_the_prompt(tmp_path: Path) -> None:
    workspace = configure(tmp_path, MEM_LLM_COMMAND="cat")
    assert ask(workspace, "Hi", system="Be short.") == "Be short.\n\nHi"
    # Hooks of an agent that is run as a model must stay out, and it must not see the user's files.
    workspace = configure(
        tmp_path, MEM_LLM_COMMAND="sh -c 'ls; echo $MEM_INSIDE_LLM $CLAUDECODE.'", CLAUDECODE="1"
    )
    assert ask(workspace, "Hi") == "1 .\n"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("sh -c 'echo no login >&2; exit 3'", "exited with status 3: no login"),
        (f"sh -c 'echo bad key ghp_{'a1B2c3D4e5F6' * 3} >&2; exit 3'", r"bad key \[REDACTED"),
        ("true", "empty answer"),
        ("no-such-program", "cannot run"),
        ("sh -c 'unclosed", "cannot run"),
        ("yes", "did not answer"),
    ],
)
def test_a_command_that_fails_is_one_error(tmp_path: Path, command: str, reason: str) -> None:
    with pytest.raises(LlmError, match=reason):
        ask(configure(tmp_path, MEM_LLM_COMMAND=command), "Hi", seconds=10)


def test_gemini_answers_in_a_folder_that_it_does_not_know(tmp_path: Path) -> None:
    program = tmp_path / "gemini"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    for options in ("-m flash", "-m flash --skip-trust"):
        workspace = configure(tmp_path, MEM_LLM_COMMAND=f"{program} {options}")
        assert sorted(ask(workspace, "Hi").split()) == ["--skip-trust", "-m", "flash"]


def test_a_command_is_killed_with_its_children(tmp_path: Path) -> None:
    script = f"sleep 60 & echo $! > {tmp_path}/child; sleep 60"
    workspace = configure(tmp_path, MEM_LLM_COMMAND=f"sh -c '{script}'")
    start = time.monotonic()
    with pytest.raises(LlmError, match=r"within 0\.5 s"):
        ask(workspace, "Hi", seconds=0.5)
    assert time.monotonic() - start < 2
    child = int((tmp_path / "child").read_text())
    time.sleep(0.1)
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


@pytest.mark.skipif(not find_spec("litellm"), reason="litellm is not installed")
def test_litellm_asks_a_model_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_server(build_completion("Hello.")) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        workspace = configure(tmp_path, MEM_LLM_MODEL="openai/m")
        assert ask(workspace, "Hi") == "Hello."
        server.status = 500
        with pytest.raises(LlmError, match="openai/m: "):
            ask(workspace, "Hi")
    assert len(server.questions) == 2  # no retries


def test_a_workspace_cannot_choose_a_model(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (workspace.root / "mem.yaml").write_text(
        "llm.command: touch pwned\nllm.url: http://x\nllm.model: x\n"
    )
    again = get_target_workspace(make_context(tmp_path))
    assert not is_configured(again)
    with pytest.raises(LlmError, match="no language model"):
        ask(again, "Hi")
    assert os.listdir(tmp_path / "memory")
