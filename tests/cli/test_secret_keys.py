"""A key that only looks like a secret is kept by every door, and one that says a secret by none."""

import json
from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.integrations.test_mcp import Call, ClientSession, talk

SLOT = "fc/1-was-performed-by-d0b2c0da"
SECRETS = ("wifi-password-is-Hollow88" + "tree", "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx")


def fields(key: str) -> str:
    """Return the text of an entry with a key."""
    return f"---\nid: mem_a\ntype: fact\nkey: {key}\ntags: [home]\n---\n\nThe first cut was performed by Anna\n"


def test_a_key_with_a_tail_of_hex_digits_goes_through_write_check_export_and_import(
    mem: Mem, workspace: Path, world: Path
) -> None:
    assert mem("write", "The first cut was performed by Anna", "--key", SLOT).code == 0
    assert mem("check", "--secrets").code == 0
    (world / "all.jsonl").write_text(mem("export").out)
    other = world / "other"
    assert mem("init", str(other)).code == 0
    assert mem("import", "all.jsonl", "--workspace", str(other)).code == 0
    told = {"content": "The second cut was performed by Tom", "key": f"{SLOT[:-1]}b"}
    assert mem("import", "-", "--workspace", str(other), stdin=json.dumps(told)).code == 0
    for key, name in ((SLOT, "Anna"), (told["key"], "Tom")):
        assert name in mem("read", "--key", key, "--workspace", str(other)).out
    assert mem("check", "--secrets", "--workspace", str(other)).code == 0


def test_such_a_key_is_kept_by_edit_the_memory_tool_and_mcp(mem: Mem, workspace: Path) -> None:
    call = {"command": "create", "path": "/memories/cut.md", "file_text": fields(SLOT)}
    assert mem("memory-tool", "--json", stdin=json.dumps(call)).json["is_error"] is False
    assert mem("edit", "mem_a", "--replace", SLOT, f"{SLOT}0").code == 0

    async def said(_: ClientSession, call: Call) -> None:
        assert (await call("write", text="Tom holds the saw", key=SLOT))["action"] == "created"
        assert "refused" in await call("write", text="Tom has the plane", key=SECRETS[0])

    talk(workspace, said)
    assert mem("check", "--secrets").code == 0


@pytest.mark.parametrize("secret", SECRETS)
def test_a_key_that_says_a_secret_is_refused_by_write_edit_and_the_memory_tool_and_named_by_check(
    mem: Mem, workspace: Path, secret: str
) -> None:
    assert mem("write", "The shed is green", "--key", secret).code == 5
    call = {"command": "create", "path": "/memories/cut.md", "file_text": fields(secret)}
    assert mem("memory-tool", "--json", stdin=json.dumps(call)).json["is_error"] is True
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries/cut.md").write_text(fields(SLOT))
    assert mem("edit", "mem_a", "--replace", SLOT, secret).code == 5
    (workspace / "entries/cut.md").write_text(fields(secret))
    ran = mem("check")
    assert (ran.code, "entries/cut.md:4: looks like a secret" in ran.out, secret in ran.out) == (1, True, False)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_blanked_out_of_frontmatter_leaves_a_text_and_no_two_memories_in_one_slot(
    mem: Mem, workspace: Path, secret: str
) -> None:
    other = f"home/{secret[:-1]}9"
    records = [{"content": f"{name} is here", "key": key} for name, key in (("Anna", secret), ("Tom", other))]
    head = f"---\nid: mem_a\ntitle: {SECRETS[1]} it is\ntags: [{secret}, home]\nproject: {secret}\n---\n\nTea at four\n"
    lines = "".join(json.dumps(one) + "\n" for one in (*records, {"path": "entries/a.md", "text": head}))
    assert [row[0] for row in mem("import", "-", stdin=lines).rows] == ["created"] * 3
    assert mem("write", "The shed is green", "--redact", "--key", f"shed/{secret}", "--tags", secret).code == 0
    entries = mem("ls", "--json").json["entries"]
    keys = [one["key"] for one in entries if one.get("key")]
    assert len({*keys}) == 3
    assert all(key.startswith("REDACTED:") for key in keys)
    assert {one["status"] for one in entries} == {"active"}
    assert not any(secret[:-1] in path.read_text() for path in workspace.rglob("*.md"))
    assert mem("check", "--secrets").code == 0
    assert mem("undo", "--list").code == 0
    assert not any(secret[:-1] in path.read_text() for path in (workspace / ".mem/undo").rglob("*.jsonl"))
