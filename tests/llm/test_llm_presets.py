"""The command line agents that people have answer as a plain language model: no tools, no session, an empty folder.

Each stand-in does what the documentation of its program says of the options that matter here, and fails on others.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from memcli.errors import LlmError
from memcli.llm.client import CommandLlm, LlmRequest
from tests.conftest import Mem
from tests.tables import cases

MESSAGES = [{"role": "user", "content": "What is kept?"}]

_SEEN = """
import json, os, sys
words, asked = sys.argv[1:], sys.stdin.read()
seen = {"words": words, "asked": asked, "folder": os.getcwd(), "holds": os.listdir(".")}
seen["environment"] = dict(os.environ)
open(os.environ["HOME"] + "/seen.json", "w").write(json.dumps(seen))
def has(*needed):
    missing = [one for one in needed if one not in words]
    if missing:
        sys.exit(f"error: without {missing[0]} this would act, or keep what it was asked")
"""
STAND_INS = {
    # Without --tools= it edits files; without --no-session-persistence it leaves a transcript; in itself it refuses.
    "claude": """
if "CLAUDECODE" in os.environ:
    sys.exit("Error: Claude Code cannot be launched inside another Claude Code session.")
has("--print", "--tools=", "--no-session-persistence", "--strict-mcp-config")
print("{answer}")
""",
    # Progress goes to stderr, the last message to stdout; it wants a repository unless told otherwise.
    "codex": """
if words[0] != "exec" or words[-1] != "-":
    sys.exit("error: stdin is not a terminal")
has("--ephemeral", "--skip-git-repo-check", "--sandbox=read-only")
print("OpenAI Codex v0.140\\n--------\\nworkdir: " + os.getcwd(), file=sys.stderr)
print("{answer}")
""",
    "gemini": """
has("--approval-mode=plan", "--extensions=none", "--output-format=text")
print("Loaded cached credentials.", file=sys.stderr)
print("{answer}")
""",
    "llm": """
has("prompt", "--no-log")
print("{answer}")
""",
    "ollama": """
if words[0] != "run" or "llama3.2" not in words:
    sys.exit("Error: requires at least 1 arg(s), only received 0")
print("{answer}")
""",
}
COMMANDS = {name: (name, "llama3.2") if name == "ollama" else (name,) for name in STAND_INS}


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the stand-ins on the PATH, and nothing else."""
    folder = tmp_path / "bin with space"
    folder.mkdir()
    for name, code in STAND_INS.items():
        install(folder, name, code.replace("{answer}", "done"))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("GITHUB_TOKEN", "none of its business")
    return folder


def install(folder: Path, name: str, code: str) -> None:
    """Write an executable."""
    program = folder / name
    program.write_text(f"#!{sys.executable}\n{_SEEN}{code}", encoding="utf-8")
    program.chmod(0o755)


def seen() -> dict[str, object]:
    """Give what the stand-in was started with."""
    found: dict[str, object] = json.loads((Path(os.environ["HOME"]) / "seen.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", STAND_INS)
def test_the_name_of_an_agent_is_enough(programs: Path, name: str) -> None:
    assert CommandLlm(COMMANDS[name]).complete(LlmRequest(MESSAGES)).text == "done\n"
    assert seen()["asked"] == "[asked by mem]\n\nWhat is kept?"


@pytest.mark.parametrize("name", STAND_INS)
def test_an_agent_stands_in_an_empty_folder_and_sees_no_more_than_it_needs(
    programs: Path, name: str, world: Path
) -> None:
    CommandLlm(COMMANDS[name]).complete(LlmRequest(MESSAGES))
    found = seen()
    environment = found["environment"]
    assert isinstance(environment, dict)
    assert found["holds"] == []
    assert not Path(str(found["folder"])).exists()
    assert environment["MEM_INSIDE_LLM"] == "1"
    assert {"HOME", "PATH"} <= environment.keys()
    assert not {"GITHUB_TOKEN", "MEM_NOW", "CLAUDECODE"} & environment.keys()


def test_an_agent_keeps_its_own_credentials_and_not_those_of_others(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "mine")
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    CommandLlm(("claude",)).complete(LlmRequest(MESSAGES))
    environment = seen()["environment"]
    assert isinstance(environment, dict)
    assert environment["ANTHROPIC_API_KEY"] == "mine"
    assert "OPENAI_API_KEY" not in environment


def test_options_behind_the_name_are_added(programs: Path) -> None:
    CommandLlm(("claude", "--model", "haiku")).complete(LlmRequest(MESSAGES))
    words = seen()["words"]
    assert isinstance(words, list)
    assert words[-2:] == ["--model", "haiku"]
    assert "--tools=" in words


def test_a_whole_command_line_of_the_user_is_run_as_it_is_written(programs: Path, world: Path) -> None:
    install(programs, "claude", "print('as it is')")
    assert CommandLlm(("claude", "-p", "--model", "opus")).complete(LlmRequest(MESSAGES)).text == "as it is\n"
    assert seen()["words"] == ["-p", "--model", "opus"]
    assert seen()["folder"] == str(world)


def test_ollama_without_a_model_is_told_what_to_set(programs: Path) -> None:
    with pytest.raises(LlmError, match=r"names no model.*mem config set llm.command 'ollama MODEL'"):
        CommandLlm(("ollama",)).complete(LlmRequest(MESSAGES))


def test_an_agent_that_is_not_installed_is_named(programs: Path) -> None:
    (programs / "codex").unlink()
    with pytest.raises(LlmError, match=r"'codex' is not on the PATH.*install it"):
        CommandLlm(("codex",)).complete(LlmRequest(MESSAGES))


@cases("code", "said")
def test_an_agent_that_cannot_answer_leaves_one_line(programs: Path, code: str, said: str) -> None:
    install(programs, "claude", code)
    with pytest.raises(LlmError) as caught:
        CommandLlm(("claude",)).complete(
            LlmRequest(MESSAGES, schema={"type": "object"}, timeout=2 if "sleep" in code else 300)
        )
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_setting_makes_an_agent_consolidate(programs: Path, workspace: Path, mem: Mem) -> None:
    reply = {
        "history_entry": "[2026-11-21 20:00] Staging moved to port 7655.",
        "entries": [{"content": "Staging listens on port 7655.", "type": "fact", "source": "user_stated"}],
    }
    install(programs, "claude", f"has('--print')\nprint('Sure! Here it is:\\n' + {json.dumps(reply)!r})")
    assert mem("config", "set", "llm.command", "claude").code == 0
    lines = json.dumps({"role": "user", "content": "staging listens on port 7655 now"}) + "\n"
    assert mem("session", "append", "-", "--session", "talk", stdin=lines).code == 0
    done = mem("consolidate")
    assert done.code == 0, done.err
    assert "Staging listens on port 7655." in mem("ls", "--type", "fact").out


def test_a_transcript_of_what_mem_asked_is_never_imported(workspace: Path, world: Path, mem: Mem) -> None:
    asked = {"role": "user", "content": "[asked by mem]\n\nYou keep the long-term memory of an assistant."}
    lines = [
        {"type": "user", "uuid": "u1", "sessionId": "0b41", "timestamp": "2026-11-20T10:00:00Z", "message": asked},
        {
            "type": "assistant",
            "uuid": "a1",
            "sessionId": "0b41",
            "timestamp": "2026-11-20T10:00:09Z",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "{}"}]},
        },
    ]
    left = world / "0b41.jsonl"
    left.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    done = mem("session", "import", str(left))
    assert done.code == 2
    assert "is a question that mem asked an agent" in done.err
    assert mem("session", "ls").out == ""
