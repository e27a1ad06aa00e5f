"""A password that only answers a question for one is kept by no door that sees both messages."""

import json
from pathlib import Path

import pytest

from memcli.secrets.prose_passwords import asks_password, password_answer
from tests.conftest import Mem

SECRET = "Glocke-Vinzenz-" + "77"
TALKS = [
    ("Which password should I use?", SECRET),
    ("I can log in now. What is the passphrase of the backup?", f"{SECRET}."),
    ("Wie lautet das WLAN-Passwort?", f"Nimm {SECRET} bitte"),
    ("¿Cuál es la contraseña?", SECRET),
    ("Please send me the admin password", f"it is {SECRET}"),
]
KEPT = [
    ("Which password manager do you use?", "1Password7"),
    ("Welchen Passwort-Manager nutzt ihr?", "KeePassXC-2"),
    ("Which password hash shall I take?", "Argon2id"),
    ("Did you change the password?", "Yes, yesterday after lunch"),
    ("Which file holds the password?", "config/app.v2.toml"),
    ("Which release shall I build?", SECRET),
]


def records(asked: str, told: str) -> list[str]:
    """Give both messages as records of a transcript."""
    return [json.dumps({"role": role, "content": said}) for role, said in (("assistant", asked), ("user", told))]


def keeping(folder: Path, word: str) -> list[str]:
    """Give the files of a workspace that hold a word, derived data too."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and word.encode() in path.read_bytes()
    )


def hook(mem: Mem, world: Path, name: str, **told: str) -> None:
    event = {"hook_event_name": name, "session_id": "s", "cwd": str(world), **told}
    assert mem("hook", "run", "claude-code", stdin=json.dumps(event)).code == 0


@pytest.mark.parametrize(("asked", "told"), TALKS)
def test_an_imported_answer_is_blanked_out(mem: Mem, workspace: Path, world: Path, asked: str, told: str) -> None:
    talk = world / "talk.jsonl"
    talk.write_text("\n".join(records(asked, told)) + "\n")
    assert mem("session", "import", str(talk)).code == 0
    assert keeping(workspace, SECRET) == []
    assert keeping(workspace, "[REDACTED:password]") != []


@pytest.mark.parametrize(("asked", "told"), TALKS[:3])
def test_an_answer_appended_after_its_question_is_blanked_out(mem: Mem, workspace: Path, asked: str, told: str) -> None:
    mem("session", "append", "--session", "one", "--role", "assistant", "--text", asked)
    ran = mem("session", "append", "--session", "one", "--text", told)
    assert "password redacted" in ran.err
    mem("session", "append", "--session", "both", "-", stdin="\n".join(records(asked, told)))
    assert keeping(workspace, SECRET) == []


@pytest.mark.parametrize("waits", [True, False], ids=["question-waits", "question-in-session"])
def test_an_answer_to_a_hook_is_blanked_out(mem: Mem, workspace: Path, world: Path, waits: bool) -> None:
    hook(mem, world, "UserPromptSubmit", prompt="Log in to the choir portal for me")
    hook(mem, world, "Stop", last_assistant_message="The portal asks me to log in. Which password should I use?")
    if not waits:
        hook(mem, world, "PreCompact")
    hook(mem, world, "UserPromptSubmit", prompt=SECRET)
    hook(mem, world, "Stop", last_assistant_message="Done: I am logged in.")
    hook(mem, world, "PreCompact")
    assert keeping(world, SECRET) == []
    assert keeping(world, "[REDACTED:password]") != []


def test_an_answer_in_a_transcript_is_not_consolidated(mem: Mem, workspace: Path, world: Path) -> None:
    talk = world / "talk.jsonl"
    talk.write_text("\n".join(records(*TALKS[0])) + "\n")
    ran = mem("consolidate", str(talk))
    assert SECRET not in ran.out + ran.err
    assert keeping(workspace, SECRET) == []


@pytest.mark.parametrize(("asked", "told"), KEPT)
def test_an_answer_that_is_no_password_is_kept(asked: str, told: str) -> None:
    assert not (asks_password(asked) and password_answer(told))
