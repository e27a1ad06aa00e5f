"""Secrets that somebody says are found in shapes that nobody listed; numbers and names like them are kept."""

import json
from pathlib import Path

import pytest

from memcli.text.secrets import redact, scan
from tests.conftest import Mem

TOLD = """
the pin of the safe in the study is {482906}
the side gate opens with code {5513#}
sign in on the lab machine as rkeller with pass {Adriatica1987!}
password hint aside, it's "{Regen&Bogen1812}" for the tax site
you can get into the admin area with {Dachs-Nebel-47}
the alarm is turned off with {3091} and then the star key
heslo k tiskárně je {Jezevec-Hora-31}
la password del router è {Risotto&Lambretta66}
remember my cinema login pass: {CaramelOtter_58}
the secret of the root account is {Mond9Laterne}, tell nobody
ssh admin@10.3.0.9, when it asks type {heronlake-51-B}
Router password:⏎⏎    {Amsel!Berg_77}
the pass for the workshop is {Eule!Winter44}
"""
KEPT = """
the pin header on the board has 40 pins
our room is 2417, second floor
order 774129 has arrived
the gate at terminal 2 closes at 18:05
the invoice INV-2026-0931 was paid
Use a password with at least 14 characters.
the password is in the vault, ask Ines
exit code 137 means that it was killed
set SMTP_PASSWORD in the environment
the washing machine shows E42
we upgraded redis to 7.2.4
the link colour is #3A7CA5
"""
VALUE = "Tapir!Regen" + "_84"


@pytest.mark.parametrize("told", TOLD.strip().splitlines())
def test_a_secret_said_in_a_sentence_is_blanked(told: str) -> None:
    before, _, rest = told.replace("⏎", "\n").partition("{")
    value, _, after = rest.partition("}")
    kept = redact(before + value + after, scan(before + value + after))
    assert value.rstrip("!#") not in kept
    assert kept.startswith(before)


@pytest.mark.parametrize("text", KEPT.strip().splitlines())
def test_what_only_looks_like_a_secret_is_kept(text: str) -> None:
    assert scan(text) == []


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("what is the admin password?", VALUE),
        ("which code does the lockbox have?", "1946#"),
        ("What is the pin of the SIM card?", "it's 70213"),
    ],
)
def test_a_bare_answer_to_a_question_for_a_secret_is_blanked(asked: str, told: str) -> None:
    assert "[REDACTED:" in redact(told, scan(told, after=asked))
    assert scan(told) == []


def test_a_value_found_once_is_blanked_wherever_it_stands_again() -> None:
    text = f"my password is {VALUE}\nso I typed {VALUE} and it worked\n"
    assert VALUE not in redact(text, scan(text))


def test_a_note_keeps_no_password_that_the_assistant_repeats(mem: Mem, workspace: Path) -> None:
    assert mem("note", "--user", f"my password is {VALUE}", "--assistant", f"ok, {VALUE} noted").code == 0
    assert [path for path in workspace.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()] == []


def test_a_session_keeps_no_password_that_the_assistant_repeats(mem: Mem, workspace: Path) -> None:
    said = [("user", f"my password is {VALUE}"), ("assistant", f"thanks, I will use {VALUE}")]
    lines = "\n".join(json.dumps({"role": role, "content": text}) for role, text in said)
    assert mem("session", "append", "--session", "one", "-", stdin=lines).code == 0
    assert [path for path in workspace.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("name", [f"password-is-{VALUE}", f"my-password-is-{VALUE}", "pin-is-883102"])
def test_no_name_says_a_secret_with_its_words_joined(mem: Mem, workspace: Path, name: str) -> None:
    assert mem("write", "The build is green", "--path", f"proj/{name}.md").code == 5
    assert mem("session", "append", "--session", name, "--role", "user", "--text", "hello").code == 5
    call = {"command": "create", "path": f"/memories/{name}.md", "file_text": "Tea"}
    mem("memory-tool", stdin=json.dumps(call))
    assert [path.name for path in workspace.rglob("*") if VALUE in path.name or "883102" in path.name] == []


@pytest.mark.parametrize(
    "name", ["router-password-reset", "2026-11-21-pin-layout", "wifi-setup-2026", "door-code-review"]
)
def test_a_name_about_secrets_is_no_secret(mem: Mem, workspace: Path, name: str) -> None:
    assert mem("write", "The build is green", "--path", f"proj/{name}.md").code == 0


def test_tags_hold_no_secret(mem: Mem, workspace: Path) -> None:
    assert mem("write", "The build is green", "--tags", "pin-4471,wifi-Marder!Kiefer5").code == 5
    assert mem("write", "The build is green", "--tags", "pin-layout,wifi").code == 0
