"""No door makes a name of a secret, and no message repeats one."""

import json
from pathlib import Path

import pytest

from memcli.formats.session_event import folder_name
from tests.conftest import Mem
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
        ("write", "The build is green", "--tags", f"home,{name}"),
        ("write", "The build is green", "--key", f"home/{name}"),
        ("session", "append", "--session", name, "--role", "user", "--text", "hello"),
    )
    for door in doors:
        ran = mem(*door)
        assert (ran.code, name in ran.out + ran.err) == (5, False), ran
    assert name not in names(workspace)


@cases("name")
def test_a_name_that_only_tells_of_secrets_is_taken(mem: Mem, workspace: Path, name: str) -> None:
    assert mem("write", f"About {name}", "--path", f"topics/{name}.md", "--tags", name).code == 0
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
