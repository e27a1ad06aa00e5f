"""No secret gets into a name, a key, a path, an option or a message of an error."""

import json
import random
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import pytest

from memcli.formats.session_event import folder_name
from memcli.secrets.scanner import unsaid
from tests.conftest import Mem
from tests.integrations.test_mcp import Call, ClientSession, talk
from tests.sample import sampled
from tests.tables import cases

TOKEN = "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"
SECRETS = [
    TOKEN,
    "AKIA" + "QYLPMN5HFIQR7XYA",
    "password=Som!mer" + "2024x9",
    "4111-1111-1111-" + "1111",
    "123-45-" + "6789",
    "https://jane:rose" + "bud77@git.acme.io",
    "sshpass -p Tr0ub" + "4dor",
]
PIECES = [TOKEN[4:14], "QYLPMN", "mer2024x", "1111-1111", "45-6789", "bud77", "Tr0ub4dor"]


def names(folder: Path) -> str:
    """Give all names in a folder, in lower case as slugs have them."""
    return "\n".join(path.relative_to(folder).as_posix() for path in folder.rglob("*")).lower()


def holds(text: str) -> list[str]:
    """Give the pieces of secrets in a text, signs between words aside."""
    plain = text.lower().replace("-", "").replace(" ", "")
    return [piece for piece in PIECES if piece.lower().replace("-", "") in plain]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_path_that_holds_a_secret_is_refused_without_repeating_it(mem: Mem, workspace: Path, secret: str) -> None:
    for path in (f"{secret}.md", f"projects/{secret}/notes.md", f"projects/about {secret} here.md"):
        ran = mem("write", "The build is green", "--path", path)
        assert ran.code == 5, ran
        assert "looks like a secret" in ran.err
        assert holds(ran.err + ran.out) == []
    assert holds(names(workspace)) == []


@pytest.mark.parametrize("secret", SECRETS)
def test_a_session_is_not_called_by_a_secret(mem: Mem, workspace: Path, world: Path, secret: str) -> None:
    ran = mem("session", "append", "--session", secret, "--role", "user", "--text", "hello")
    assert ran.code == 5, ran
    assert holds(ran.err + ran.out) == []
    said = world / "talk.jsonl"
    said.write_text(json.dumps({"role": "user", "content": "hello"}) + "\n")
    ran = mem("session", "import", str(said), "--session", secret)
    assert ran.code == 5, ran
    assert holds(ran.err + ran.out + names(workspace)) == []


def test_a_transcript_in_a_file_named_by_a_secret_gets_a_name_of_its_own(
    mem: Mem, workspace: Path, world: Path
) -> None:
    said = world / f"talk {TOKEN}.jsonl"
    said.write_text(json.dumps({"role": "user", "content": f"hello {TOKEN}"}) + "\n")
    ran = mem("session", "import", str(said))
    assert ran.code == 0, ran
    assert holds(ran.err + ran.out + names(workspace)) == []
    assert mem("session", "import", str(said)).rows[0][:3] == ["imported", ran.rows[0][1], "0"]


@pytest.mark.parametrize("secret", SECRETS)
def test_an_import_makes_no_file_name_of_a_secret(mem: Mem, workspace: Path, secret: str) -> None:
    records = [
        {"content": f"{secret} is for the staging host"},
        {"title": f"Access: {secret}", "content": "For the staging host"},
        {"path": f"entries/{folder_name(secret)}.md", "text": "---\nid: mem_a\n---\n\nTea\n"},
        {"path": f"sessions/{folder_name(secret)}/session.jsonl", "text": '{"role": "user", "content": "hi"}\n'},
    ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    ran = mem("import", "-", "--no-dedup", stdin=lines)
    assert ran.code == 0, ran
    assert [row[0] for row in ran.rows] == ["created"] * 4
    assert holds(names(workspace) + ran.out + ran.err) == []
    again = mem("import", "-", "--no-dedup", stdin=lines)
    assert (again.code, again.out) == (0, "")


@pytest.mark.parametrize(
    "text", [*SECRETS, "jane.doe@acme.io likes tea", "+49 151 2345 6789 is her number", "DE89 3704 0044 0532 0130 00"]
)
def test_what_is_kept_on_purpose_still_makes_no_file_name(mem: Mem, workspace: Path, text: str) -> None:
    ran = mem("write", f"{text} for the staging host", "--allow-secret", "--no-dedup")
    assert ran.code == 0, ran
    assert holds(ran.rows[0][2]) == []
    assert "redacted" in ran.rows[0][2]


@pytest.mark.parametrize("secret", SECRETS)
@cases("words")
def test_no_error_repeats_a_secret_of_the_command_line(
    mem: Mem, workspace: Path, words: list[str], secret: str
) -> None:
    ran = mem(*(word.format(secret) for word in words))
    assert ran.code in (0, 2, 4, 5), ran
    assert holds(ran.err) == []


def test_the_memory_tool_makes_no_name_of_a_secret(mem: Mem, workspace: Path) -> None:
    for call in (
        {"command": "create", "path": f"/memories/{TOKEN}.md", "file_text": "Tea"},
        {"command": "create", "path": f"/memories/people/{TOKEN}/a.md", "file_text": "Tea"},
    ):
        mem("memory-tool", stdin=json.dumps(call))
    mem("memory-tool", stdin=json.dumps({"command": "create", "path": "/memories/tea.md", "file_text": "Tea"}))
    call = {"command": "rename", "old_path": "/memories/tea.md", "new_path": f"/memories/{TOKEN}.md"}
    mem("memory-tool", stdin=json.dumps(call))
    assert "tea.md" in names(workspace)
    assert holds(names(workspace)) == []


@pytest.mark.parametrize(
    ("mode", "code", "kept"), [("refuse", 5, ""), ("redact", 0, "[REDACTED:card-number]"), ("off", 0, "4111")]
)
def test_personal_data_is_treated_as_the_settings_say(
    mem: Mem, workspace: Path, mode: str, code: int, kept: str
) -> None:
    (workspace / "mem.yaml").write_text(f"secrets.personal: {mode}\n")
    ran = mem("write", "Her card is 4111 1111 1111 " + "1111", "--no-dedup")
    assert ran.code == code
    if kept:
        assert kept in (workspace.parent / ran.rows[0][2]).read_text()
    note = mem("note", "paid with 4111 1111 1111 " + "1111")
    assert note.code == 0
    stored = "".join(path.read_text() for path in (workspace / "notes").glob("*.md"))
    assert ("4111" in stored) == (mode == "off")
    path = mem("write", "Tea at four", "--path", "tea.md").rows[0][2]
    ran = mem("edit", path, "--replace", "four", "four with 4111 1111 1111 " + "1111")
    assert ran.code == code
    assert ("4111" in (workspace.parent / path).read_text()) == (mode == "off")


def test_personal_data_of_other_kinds_is_kept_until_it_is_asked_for(mem: Mem, workspace: Path) -> None:
    assert mem("write", "Maria answers at maria@acme.io", "--no-dedup").code == 0
    (workspace / "mem.yaml").write_text("secrets.personal_rules: [email, phone]\n")
    assert mem("write", "Maria answers at maria@acme.io", "--no-dedup").code == 5
    assert mem("write", "Her card is 4111 1111 1111 " + "1111", "--no-dedup").code == 0


@pytest.mark.parametrize("said", ["The wifi password is summer" + "house", "anna, pw: Violin-" + "1923"])
def test_a_password_in_a_sentence_is_refused_where_one_writes_and_blanked_out_where_one_imports(
    mem: Mem, workspace: Path, said: str
) -> None:
    refused = mem("write", said, "--no-dedup")
    assert (refused.code, "password" in refused.err) == (5, True)
    secret = said.split()[-1]
    assert mem("session", "append", "--session", "talk", "--role", "user", "--text", said).code == 0
    (workspace.parent / "list.md").write_text(f"- {said}\n")
    mem("import", "list.md")
    files = [path for path in workspace.rglob("*") if path.is_file() and ".mem" not in path.parts]
    assert any("[REDACTED:password]" in path.read_text() for path in files)
    assert not any(secret in path.read_text() for path in files)


@pytest.mark.parametrize(("mode", "code"), [("refuse", 5), ("redact", 0), ("off", 0)])
@pytest.mark.parametrize("account", ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"])
def test_an_account_number_is_treated_alike_in_a_text_and_in_its_name(
    mem: Mem, workspace: Path, account: str, mode: str, code: int
) -> None:
    (workspace / "mem.yaml").write_text(f"secrets.personal: {mode}\n")
    ran = mem("write", f"My IBAN is {account}", "--no-dedup")
    assert ran.code == code
    kept = list(workspace.rglob("my-iban-is-redacted-iban*"))
    assert len(kept) == (code == 0)
    assert all((account in path.read_text()) == (mode == "off") for path in kept)


SAID_IN_NAMES = ("wifi-password-is-Hollow88" + "tree", "pin-44" + "71", "gate_code_88" + "12", "cvv-4" + "81")


@pytest.mark.parametrize("name", SAID_IN_NAMES)
def test_what_a_name_says_with_hyphens_is_refused_as_in_a_sentence(mem: Mem, workspace: Path, name: str) -> None:
    doors = (
        ("write", "The build is green", "--path", f"topics/{name}.md"),
        ("write", "The build is green", "--tag", f"home,{name}"),
        ("write", "The build is green", "--key", f"home/{name}"),
        ("session", "append", "--session", name, "--role", "user", "--text", "hello"),
    )
    for door in doors:
        ran = mem(*door)
        assert (ran.code, name in ran.out + ran.err) == (5, False), ran
    assert name not in names(workspace)


@cases("name")
def test_a_name_that_only_tells_of_secrets_is_taken(mem: Mem, workspace: Path, name: str) -> None:
    assert mem("write", f"About {name}", "--path", f"topics/{name}.md", "--tag", name).code == 0
    assert mem("session", "append", "--session", name, "--role", "user", "--text", "hello").code == 0


@pytest.mark.parametrize(
    ("said", "secret"), [("my PIN is 88" + "12", "8812"), ("wifi password: Tarn9" + "Hut", "Tarn9Hut")]
)
def test_a_secret_that_the_answer_repeats_is_blanked_out_there_too(
    mem: Mem, workspace: Path, world: Path, said: str, secret: str
) -> None:
    talk = world / "talk.jsonl"
    messages = ({"role": "user", "content": said}, {"role": "assistant", "content": f"Noted. {secret} it is."})
    talk.write_text("".join(json.dumps(message) + "\n" for message in messages))
    assert mem("session", "import", str(talk)).code == 0
    kept = [path.read_text(errors="replace") for path in workspace.rglob("*") if path.is_file()]
    assert not any(secret in text for text in kept)


@pytest.mark.parametrize("name", SAID_IN_NAMES)
def test_an_import_keeps_no_tag_or_key_that_says_a_secret(mem: Mem, workspace: Path, name: str) -> None:
    own = {"path": "entries/own.md", "text": f"---\nid: mem_a\ntags:\n- home\n- {name}\n---\n\nTea at four\n"}
    told = {"content": "The shed is green", "tags": ["home", name], "key": f"home/{name}", "project": name}
    lines = "".join(json.dumps(record) + "\n" for record in (own, told))
    assert mem("import", "-", "--no-dedup", stdin=lines).code == 0
    kept = [path.read_text() for path in workspace.rglob("*.md")]
    assert not any(name in text for text in kept)
    assert sum("home" in text and "REDACTED:" in text for text in kept) == 2


SLOT = "fc/1-was-performed-by-d0b2c0da"
SPOKEN = ("wifi-password-is-Hollow88" + "tree", "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx")


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
        assert "refused" in await call("write", text="Tom has the plane", key=SPOKEN[0])

    talk(workspace, said)
    assert mem("check", "--secrets").code == 0


@pytest.mark.parametrize("secret", SPOKEN)
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


@pytest.mark.parametrize("secret", SPOKEN)
def test_a_secret_blanked_out_of_frontmatter_leaves_a_text_and_no_two_memories_in_one_slot(
    mem: Mem, workspace: Path, secret: str
) -> None:
    other = f"home/{secret[:-1]}9"
    records = [{"content": f"{name} is here", "key": key} for name, key in (("Anna", secret), ("Tom", other))]
    head = f"---\nid: mem_a\ntitle: {SPOKEN[1]} it is\ntags: [{secret}, home]\nproject: {secret}\n---\n\nTea at four\n"
    lines = "".join(json.dumps(one) + "\n" for one in (*records, {"path": "entries/a.md", "text": head}))
    assert [row[0] for row in mem("import", "-", stdin=lines).rows] == ["created"] * 3
    assert mem("write", "The shed is green", "--redact", "--key", f"shed/{secret}", "--tag", secret).code == 0
    entries = mem("ls", "--json").json["entries"]
    keys = [one["key"] for one in entries if one.get("key")]
    assert len({*keys}) == 3
    assert all(key.startswith("REDACTED:") for key in keys)
    assert {one["status"] for one in entries} == {"active"}
    assert not any(secret[:-1] in path.read_text() for path in workspace.rglob("*.md"))
    assert mem("check", "--secrets").code == 0
    assert mem("undo", "--list").code == 0
    assert not any(secret[:-1] in path.read_text() for path in (workspace / ".mem/undo").rglob("*.jsonl"))


SAID = "The quagga gate opens with the word marzipan"
GITHUB_TOKEN = "ghp_" + "A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"


def kept(workspace: Path) -> str:
    """Give all that the workspace's files say."""
    return "\n".join(
        path.read_text(errors="replace") for path in workspace.rglob("*") if path.is_file() and ".mem" not in path.parts
    )


@cases("folder", "patterns", "file")
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
    lines = [{"role": "user", "content": SAID}, {"role": "user", "content": f"the token is {GITHUB_TOKEN}"}]
    for file in ("private.jsonl", "talks/private-1.jsonl"):
        (world / file).write_text("".join(json.dumps(one) + "\n" for one in lines))
    ran = mem("session", "import", name)
    assert "marzipan" not in kept(workspace)
    assert "--allow-secret takes" in ran.err + ran.out, ran
    assert mem("session", "import", name, "--allow-secret").code == 0
    assert "marzipan" in kept(workspace)
    assert GITHUB_TOKEN not in kept(workspace), "a secret in it is blanked out all the same"


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
    assert "or name the file in the setting secrets.allow" in ran.out
    (workspace / ".secretsignore").unlink()
    assert mem("config", "set", "secrets.allow", "entries/fixtures/").code == 0
    assert mem("check").code == 0


_NOISE = random.Random(7)
BODY = [b64encode(_NOISE.randbytes(48)).decode() for _ in range(25)]
BEGIN, END = (f"-----{edge} RSA PRIVATE " + "KEY-----" for edge in ("BEGIN", "END"))
KEY = "\n".join([BEGIN, *BODY, "Zm9v", END, ""])
KEYS = {
    "whole": KEY,
    "cut off": KEY[:700],
    "cut within a line": KEY[: KEY.index(BODY[4]) + 5],
    "with carriage returns": KEY.replace("\n", "\r\n"),
    "escaped": KEY.replace("\n", "\\n"),
    "in one line": KEY.replace("\n", " "),
    "indented": "key: |\n  " + KEY.replace("\n", "\n  "),
}
DOORS = (
    ("write", "hi", "--path", "K"),
    ("write", "hi", "--key", "K"),
    ("write", "hi", "--type", "K"),
    ("write", "hi", "--scope", "K"),
    ("write", "hi", "--tag", "K"),
    ("write", "hi", "--created-at", "K"),
    ("write", "hi", "--nonsense", "K"),
    ("write", "hi", "--nonsense=K"),
    ("session", "append", "--text", "hi", "--session", "K"),
    ("session", "append", "--text", "hi", "--role", "K"),
    ("session", "append", "--text", "hi", "--timestamp", "K"),
    ("session", "append", "--text", "hi", "--channel", "K"),
    ("session", "append", "--text", "hi", "--project", "K"),
    ("session", "append", "--text", "hi", "--state", "K"),
    ("session", "ls", "--state", "K"),
    ("session", "show", "K"),
    ("session", "K"),
    ("hook", "close", "--session", "K"),
    ("read", "K"),
    ("read", "MEMORY.md#K"),
    ("edit", "MEMORY.md", "--replace", "K", "x"),
    ("search", "x", "--since", "K"),
    ("search", "x", "--limit", "K"),
    ("grep", "(K"),
    ("ls", "--since", "K"),
    ("consolidate", "K"),
    ("check", "--since", "K"),
    ("config", "set", "layout", "K"),
    ("config", "get", "K"),
    ("export", "--format", "K"),
    ("init", "K"),
    ("init", "--layout", "K"),
    ("undo", "K"),
    ("K",),
)


def shown(text: str) -> list[str]:
    """Return the lines of the key of which a text has the beginning, the middle or the end."""
    return [line for line in BODY if any(line[place : place + 12] in text for place in (0, 26, 52))]


def left_in(folder: Path) -> list[str]:
    """Return the files that hold a line of the key, or are called by one."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if shown(str(path)) or shown(path.read_text("utf-8", "replace"))]


@pytest.mark.parametrize("door", DOORS, ids=" ".join)
def test_no_line_of_a_private_key_is_repeated_or_kept(
    mem: Mem, workspace: Path, world: Path, door: Sequence[str]
) -> None:
    for form, key in KEYS.items():
        ran = mem(*(word.replace("K", key) for word in door))
        assert shown(ran.err) == [], form
        assert shown(ran.out) == [], form
        assert "Traceback" not in ran.err, form
    assert left_in(world) == []


@pytest.mark.parametrize("prompt", ["Which port has the staging database?", "Remember: the port is 8443"])
def test_a_session_of_an_agent_that_is_called_by_a_key_is_kept_by_another_name(
    mem: Mem, workspace: Path, world: Path, prompt: str
) -> None:
    for event in (
        {"hook_event_name": "UserPromptSubmit", "prompt": prompt},
        {"hook_event_name": "Stop", "last_assistant_message": "It is 8443."},
    ):
        given = {**event, "session_id": KEY, "cwd": str(world)}
        ran = mem("hook", "run", "claude-code", stdin=json.dumps(given).encode())
        assert (ran.code, shown(ran.out + ran.err)) == (0, [])
    assert left_in(world) == []
    (session,) = (workspace / "sessions").glob("session-*")
    assert prompt in (session / "session.jsonl").read_text()


@pytest.mark.parametrize("form", KEYS)
def test_a_message_that_cuts_a_key_anywhere_shows_none_of_it(form: str) -> None:
    key = KEYS[form]
    for start in sampled(range(0, len(key), 37), 8):
        for size in (60, 200, 500):
            for quoted in (key[start : start + size], repr(key[start : start + size])):
                said = unsaid(f"no type {quoted}: use one of fact, preference", [f"--type={key}"])
                assert shown(said) == [], (start, size)
                assert said.endswith(": use one of fact, preference")


def test_a_message_beside_a_key_is_left_alone() -> None:
    said = f"no type {KEY!r}: use one of fact, preference"
    assert unsaid(said, [KEY]) == "no type '[REDACTED:private-key]\\n': use one of fact, preference"
    assert unsaid("nothing of the kind", [KEY]) == "nothing of the kind"
