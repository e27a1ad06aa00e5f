"""What a `.secretsignore` names does not enter memory, whichever door it is brought to."""

import json
from pathlib import Path

import pytest

from tests.conftest import Mem

SAID = "The quagga gate opens with the word marzipan"
TOKEN = "ghp_" + "A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"


def kept(workspace: Path) -> str:
    """Give all that the workspace's files say."""
    return "\n".join(
        path.read_text(errors="replace") for path in workspace.rglob("*") if path.is_file() and ".mem" not in path.parts
    )


@pytest.mark.parametrize(
    ("folder", "patterns", "file"),
    [
        (".", "*.pem\n", "keys/deploy.pem"),
        (".", "private/\n", "private/plans.md"),
        ("private", "*\n", "private/deep/plans.md"),
        ("memory", "/drafts\n", "memory/drafts/a.txt"),
    ],
)
def test_a_file_is_not_written_into_memory(
    mem: Mem, workspace: Path, world: Path, folder: str, patterns: str, file: str
) -> None:
    (world / file).parent.mkdir(parents=True, exist_ok=True)
    (world / file).write_text(SAID)
    (world / folder).mkdir(exist_ok=True)
    assert mem("write", "--file", file, "--no-dedup").code == 0
    (world / folder / ".secretsignore").write_text(patterns)
    link = world / "link.md"
    link.symlink_to(world / file)
    for name in (file, str(world / file), "link.md"):
        ran = mem("write", "--file", name, "--no-dedup", "--title", "Again")
        assert ran.code == 5, ran
        assert ".secretsignore" in ran.err
    assert mem("write", "--file", file, "--no-dedup", "--allow-secret").code == 0


def test_neither_imports_nor_transcripts_nor_paths_get_past_it(mem: Mem, workspace: Path, world: Path) -> None:
    (world / ".secretsignore").write_text("private*\nmemory/entries/vault/\n")
    (world / "private.jsonl").write_text(json.dumps({"role": "user", "content": SAID}) + "\n")
    assert mem("session", "import", "private.jsonl").code == 5
    assert mem("import", "private.jsonl").code == 5
    assert mem("write", SAID, "--path", "vault/gate.md").code == 5
    record = json.dumps({"path": "entries/vault/gate.md", "text": f"---\nid: mem_a\n---\n\n{SAID}\n"})
    assert mem("import", "-", stdin=record).code == 3
    call = {"command": "create", "path": "/memories/vault/gate.md", "file_text": SAID}
    mem("memory-tool", stdin=json.dumps(call))
    assert "marzipan" not in kept(workspace)
    assert mem("import", "-", "--allow-secret", stdin=record).code == 0


@pytest.mark.parametrize("name", ["private.jsonl", "talks"])
def test_a_transcript_that_is_shut_out_comes_in_when_it_is_said_so(
    mem: Mem, workspace: Path, world: Path, name: str
) -> None:
    (world / ".secretsignore").write_text("private*\n")
    (world / "talks").mkdir()
    lines = [{"role": "user", "content": SAID}, {"role": "user", "content": f"the token is {TOKEN}"}]
    for file in ("private.jsonl", "talks/private-1.jsonl"):
        (world / file).write_text("".join(json.dumps(one) + "\n" for one in lines))
    ran = mem("session", "import", name)
    assert "marzipan" not in kept(workspace)
    assert "--allow-secret takes" in ran.err + ran.out, ran
    assert mem("session", "import", name, "--allow-secret").code == 0
    assert "marzipan" in kept(workspace)
    assert TOKEN not in kept(workspace), "a secret in it is blanked out all the same"


@pytest.mark.parametrize("given", [{"file_path": "private/plans.md"}, {"command": "cat ./private/plans.md | head"}])
def test_what_an_agent_read_of_it_is_left_out_of_the_conversation(
    mem: Mem, workspace: Path, world: Path, given: dict[str, str]
) -> None:
    (world / ".secretsignore").write_text("private/\n")
    events = [
        {"type": "tool_call", "role": "assistant", "name": "Tool", "content": json.dumps(given), "call_id": "c1"},
        {"type": "tool_result", "role": "tool", "name": "Tool", "content": SAID, "call_id": "c1"},
        {"type": "tool_call", "role": "assistant", "name": "Tool", "content": '{"file_path": "a.md"}', "call_id": "c2"},
        {"type": "tool_result", "role": "tool", "name": "Tool", "content": "An open word", "call_id": "c2"},
    ]
    ran = mem("session", "append", "-", "--session", "s", stdin="".join(json.dumps(one) + "\n" for one in events))
    assert ran.code == 0, ran
    assert "secret-file redacted" in ran.err
    assert "marzipan" not in kept(workspace)
    assert "An open word" in kept(workspace)


def test_documents_it_names_are_not_recalled(mem: Mem, workspace: Path, world: Path) -> None:
    for name in ("open.md", "private.md", "built.md"):
        (world / "docs").mkdir(exist_ok=True)
        (world / "docs" / name).write_text(f"# Gate\n\nThe quagga gate of {name} opens with the word marzipan.\n")
    (world / ".secretsignore").write_text("docs/private*\n")
    (world / "docs/.gitignore").write_text("built.md\n")
    (workspace / "mem.yaml").write_text("index.include: ../docs\n")
    (world / ".git").mkdir()
    ran = mem("recall", "which word opens the quagga gate?")
    assert "open.md" in ran.out
    assert "private.md" not in ran.out
    assert "built.md" not in ran.out


def test_nothing_kept_already_is_dropped_and_check_says_what_to_do(mem: Mem, workspace: Path) -> None:
    token = "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"
    mem("write", f"A fixture: {token}", "--path", "fixtures/a.md", "--allow-secret")
    (workspace / ".secretsignore").write_text("entries/fixtures/\n")
    assert token in kept(workspace)
    assert mem("search", "fixture", "--mode", "keyword").code == 0
    ran = mem("check")
    assert ran.code == 1
    assert "mem config set secrets.allow 'entries/fixtures/'" in ran.out
    (workspace / ".secretsignore").unlink()
    assert mem("config", "set", "secrets.allow", "entries/fixtures/").code == 0
    assert mem("check").code == 0
