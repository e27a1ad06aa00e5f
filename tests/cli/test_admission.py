"""What `mem write` does with what is known already, with what contradicts it, and with secrets."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Mem

TOKEN = "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"
TABS = ("write", "User prefers tabs", "--type", "preference")


def files(workspace: Path) -> list[Path]:
    return sorted((workspace / "entries").rglob("*.md"))


def test_a_preference_written_fifty_times_is_one_entry_of_strength_fifty(mem: Mem, workspace: Path) -> None:
    first = mem(*TABS)
    assert first.rows[0][0] == "created"
    for _ in range(49):
        ran = mem(*TABS)
        assert ran.rows == [["merged", *first.rows[0][1:]]]
    (path,) = files(workspace)
    identifier = first.rows[0][1]
    assert "strength" not in path.read_text(), "confirmations wait beside the file"
    assert mem("read", identifier, "--json").json["fields"]["strength"] == 50
    assert mem("ls", "--sort", "strength", "--json").json["entries"][0]["strength"] == 50
    assert ran.err == ""
    assert mem("decay", "--apply").code == 0
    assert "strength: 50\n" in path.read_text()
    assert mem("read", identifier, "--json").json["fields"]["strength"] == 50
    assert mem(*TABS, "--json").json["strength"] == 51


FORKED = """
import os, sys
from memcli.cli.app import run
words, scratch = sys.argv[2:], sys.argv[1]
for _ in range(2):
    run([*words, "--workspace", scratch])  # loads what the command needs, once for all
assert len(os.listdir("/proc/self/task")) == 1, "a thread does not survive a fork"
sys.stdout.flush()
waits, starts = os.pipe()
children = []
for number in range(50):
    child = os.fork()
    if not child:
        os.close(starts)
        os.read(waits, 1)
        code = run(words)
        sys.stdout.flush()
        os._exit(code)
    children.append(child)
os.close(starts)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


def test_fifty_processes_at_once_make_one_entry_of_strength_fifty(mem: Mem, workspace: Path, world: Path) -> None:
    """They fork from one, which waits until all are there: so they meet closer than fifty that each start."""
    assert mem("init", str(world / "scratch")).code == 0
    environ = {key: value for key, value in os.environ.items() if key != "MEM_SEED"}
    command = [sys.executable, "-c", FORKED, str(world / "scratch"), *TABS]
    ran = subprocess.run(
        command, env={**environ, "OPENBLAS_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    actions = [line.split("\t")[0] for line in ran.stdout.splitlines()][2:]
    assert sorted(actions) == ["created"] + ["merged"] * 49
    files(workspace)
    (row,) = mem("ls", "--json").json["entries"]
    assert row["strength"] == 50


def test_what_the_user_corrects_is_superseded_out_of_search_and_readable(mem: Mem, workspace: Path) -> None:
    old = mem("write", "Deploys run on Fly").rows[0][1]
    ran = mem("write", "Correction: deploys run on Hetzner, not on Fly")
    new = ran.rows[0][1]
    assert ran.rows[0] == ["created", new, ran.rows[0][2], f"supersedes {old}"]
    assert [row[1] for row in mem("search", "deploys").rows] == [new]
    assert [row[0] for row in mem("ls", "--status", "superseded").rows] == [old]
    assert mem("read", old).out == "Deploys run on Fly\n"
    for name in (old, new):
        chain = mem("read", name, "--history")
        assert [row[1:3] for row in chain.rows[:2]] == [["superseded", old], ["active", new]]
    said = mem("read", new, "--history", "--json").json
    assert [link["superseded_by"] for link in said["chain"]] == [new, ""]
    assert (said["log"], said["problems"]) == ([], [])


def test_no_dedup_and_a_chosen_place_and_marks_by_hand_are_kept_as_they_are(mem: Mem, workspace: Path) -> None:
    mem(*TABS)
    for options in (("--no-dedup",), ("--path", "tabs.md"), ("--status", "superseded")):
        assert mem(*TABS, *options).rows[0][0] == "created"
    assert len(files(workspace)) == 4


def test_supersedes_names_the_one_that_is_over(mem: Mem, workspace: Path) -> None:
    old = mem("write", "The office plant is called Bert", "--no-dedup").rows[0][1]
    ran = mem("write", "There is no plant in the office", "--supersedes", old[-6:])
    assert ran.rows[0][3] == f"supersedes {old}"
    again = mem("write", "Still no plant", "--supersedes", old)
    assert again.code == 5
    assert "is superseded by" in again.err
    assert mem("write", "x", "--supersedes", "nosuch").code == 4
    assert mem("write", "x", "--supersedes", old, "--path", "x.md").code == 2
    assert len(files(workspace)) == 2


def test_a_secret_is_refused_blanked_or_allowed(mem: Mem, workspace: Path) -> None:
    text = f"The token is\n{TOKEN}"
    ran = mem("write", text)
    assert (ran.code, ran.out) == (5, "")
    assert "line 2 of the text looks like a secret (github-token)" in ran.err
    assert "--redact" in ran.err
    assert TOKEN not in ran.err
    assert files(workspace) == []
    blanked = mem("write", text, "--redact")
    assert blanked.code == 0
    assert "the text:2: github-token redacted" in blanked.err
    assert mem("read", blanked.rows[0][1]).out == "The token is\n[REDACTED:github-token]\n"
    allowed = mem("write", text, "--allow-secret", "--no-dedup")
    assert TOKEN in mem("read", allowed.rows[0][1]).out
    assert mem("write", "x", "--redact", "--allow-secret").code == 2


@pytest.mark.parametrize("option", ["--title", "--tag", "--metadata", "--references"])
def test_a_secret_in_a_field_is_refused_too(mem: Mem, workspace: Path, option: str) -> None:
    value = f"key={TOKEN}" if option == "--metadata" else TOKEN
    ran = mem("write", "Harmless", option, value)
    assert ran.code == 5
    assert "looks like a secret (github-token)" in ran.err
    assert files(workspace) == []


def test_an_edit_brings_no_secret_in_and_holds_no_old_one_against_anybody(mem: Mem, workspace: Path) -> None:
    path = mem("write", f"Old: {TOKEN}", "--allow-secret", "--no-dedup").rows[0][2].removeprefix("memory/")
    assert mem("edit", path, "--replace", "Old", "Older").code == 0
    ran = mem("edit", path, "--replace", "Older", f"{TOKEN[::-1][:-4]} password: 'x9!Kq2#LmZ7'")
    assert ran.code == 5
    assert mem("read", path).out == f"Older: {TOKEN}\n"
    assert mem("edit", path, "--replace", "Older", "New", "--redact").code == 0
    assert mem("read", path).out == "New: [REDACTED:github-token]\n"
    other = mem("write", "plain", "--no-dedup").rows[0][2].removeprefix("memory/")
    assert mem("edit", other, "--replace", "plain", TOKEN, "--allow-secret").code == 0


def test_what_lies_near_is_named_and_the_writer_decides(mem: Mem, workspace: Path) -> None:
    first = mem("write", "The rent is 1,450 a month.").rows[0][1]
    ran = mem("write", "The rent is 1,520 a month since May.")
    new = ran.rows[0][1]
    way = f"takes its place? mem supersede {first} {new}"
    assert ran.err == f'mem: near: {first} "The rent is 1,450 a month." (2026-11-21) · {way}\n'
    told = mem("write", "Rent went up to 1,600 a month", "--json")
    assert told.err == ""
    assert {one["id"] for one in told.json["near"]} == {first, new}
    assert all(one.keys() == {"id", "text", "date"} for one in told.json["near"])
    assert "near" not in mem("write", "Geese hate postmen", "--json").json
    assert mem("supersede", first, new).code == 0
    assert first not in {one["id"] for one in mem("write", "The rent is due on the 3rd", "--json").json.get("near", [])}


def test_what_has_expired_is_not_near(mem: Mem, workspace: Path) -> None:
    over = mem("write", "The rent is 1,450 a month.", "--expires-at", "2026-11-01").rows[0][1]
    assert mem("ls", "--json").json["entries"][0]["id"] == over
    assert "near" not in mem("write", "The rent will be 1,520 a month from May.", "--json").json


DENSE = [
    f"The {part} of the greenhouse {state}"
    for part in ("north door", "watering tank", "heating pipe", "roof vent", "potting bench", "seed drawer")
    for state in (
        "was repaired by Odile on Monday",
        "was painted green last spring",
        "has to be cleaned before winter",
        "has been cleaned for winter",
        "does not need to be cleaned any more",
    )
]


def test_thirty_sentences_about_one_thing_are_thirty_memories_without_a_question(mem: Mem, workspace: Path) -> None:
    for text in DENSE:
        assert mem("write", text, "--json").json["action"] == "created"
    assert len(files(workspace)) == len(DENSE) == 30
    assert not any("conflicts_with" in path.read_text() for path in files(workspace))
    assert mem("review", "--json").json["questions"] == []
    for text in DENSE:
        assert text in [hit["summary"] for hit in mem("search", text, "--json").json["hits"]]
