"""What `mem write` does with what is known already, with what contradicts it, and with secrets."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memcli.beliefs import settlement
from memcli.beliefs.comparison import Verdict
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
    ran = mem("write", "Deploys run on Hetzner, no longer on Fly")
    new = ran.rows[0][1]
    assert ran.rows[0] == ["created", new, ran.rows[0][2], f"supersedes {old}"]
    assert [row[1] for row in mem("search", "deploys").rows] == [new]
    assert [row[0] for row in mem("ls", "--status", "superseded").rows] == [old]
    assert mem("read", old).out == "Deploys run on Fly\n"
    for name in (old, new):
        chain = mem("read", name, "--history")
        assert [row[1:3] for row in chain.rows] == [["superseded", old], ["active", new]]
    said = mem("read", new, "--history", "--json").json
    assert [link["superseded_by"] for link in said["chain"]] == [new, ""]
    assert (said["log"], said["problems"]) == ([], [])


def test_what_may_contradict_is_listed_as_a_conflict(mem: Mem, workspace: Path) -> None:
    mem("write", "Something else entirely", "--no-dedup")
    old = mem("write", "The staging port is 5432").rows[0][1]
    ran = mem("write", "The staging port is 5433", "--json")
    assert ran.json["conflicts_with"] == [old]
    assert ran.json["reason"]
    listed = {row[0] for row in mem("ls", "--conflicts").rows}
    assert listed == {old, ran.json["id"]}
    assert len(mem("ls", "--conflicts", "-n", "1").rows) == 1
    mem("supersede", old, ran.json["id"])
    assert mem("ls", "--conflicts").rows == [], "one of them is over"
    assert mem("stats", "--json").json["conflicts"] == []
    mem("restore", old)
    assert {row[0] for row in mem("ls", "--conflicts").rows} == listed


@pytest.mark.parametrize(
    ("said", "again"),
    [
        (
            "The bakery closes at 18:00.",
            ["the bakery closes at 18:00!", "The bakery closes at 6 pm.", "Note: the bakery closes at 18:00"],
        ),
        (
            "Leo does not get seasick; Mia does, bring ginger tablets.",
            ["leo doesn't get seasick, Mia does, bring ginger tablets"],
        ),
    ],
)  # fmt: skip
def test_a_sentence_in_another_form_is_confirmed_and_its_wording_kept(
    mem: Mem, workspace: Path, said: str, again: list[str]
) -> None:
    first = mem("write", said).rows[0]
    for text in again:
        assert mem("write", text).rows == [["merged", *first[1:]]]
    (path,) = files(workspace)
    assert all(text in path.read_text() for text in (said, *again)), "every wording stays"
    assert mem("review", "--json").json["questions"] == []


def test_what_is_probably_a_repetition_is_told_as_one_and_asked_about_once(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlement, "compare", lambda *texts: Verdict("same", False, "not quite sure"))
    ids = [
        mem("write", text).rows[0][1]
        for text in (
            "Ada, Bo, Cy and Di water the plants in the hall",
            "Bo, Ada, Cy and Di water the plants in the hall",
            "Di, Cy, Bo and Ada water the plants in the hall",
            "Cy, Ada, Di and Bo water the plants in the hall",
        )
    ]
    assert len(set(ids)) == 4
    questions = mem("review", "--json").json["questions"]
    assert [one["kind"] for one in questions] == ["same"] * 3, "one question for each repetition, not one for each pair"
    shown = mem("search", "who waters the plants").out
    assert "probably says the same as mem_" in shown
    assert "outdated" not in shown
    recalled = mem("recall", "who waters the plants in the hall?").out
    assert 'likely-same="mem_' in recalled
    assert "conflicts-with" not in recalled
    told = mem("write", "Di, Ada, Cy and Bo water the plants in the hall").rows[0][-1]
    assert told.startswith("probably says the same as mem_")
    for one in questions:
        mem("review", "answer", one["id"], "keep")
    assert "likely_same" not in next(path.read_text() for path in files(workspace) if ids[1][-6:] in path.name)


def test_a_contradiction_is_not_told_as_a_repetition(mem: Mem, workspace: Path) -> None:
    old = mem("write", "The import job is idempotent").rows[0][1]
    assert mem("write", "The import job is not idempotent, I tried it.").rows[0][-1] == f"conflicts with {old}"
    recalled = mem("recall", "is the import job idempotent?").out
    assert "conflicts-with" in recalled
    assert "likely-same" not in recalled


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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The staging port is 8080.", "The staging port is 9090."),
        ("Standup is at 9:00", "Standup is at 10:30"),
        ("The API is hosted on Hetzner", "The API is hosted on Fly"),
        ("The shop sells tea", "The shop no longer sells tea"),
    ],
)
@pytest.mark.parametrize("projects", [("shop", ""), ("", "shop"), ("shop", "attic")])
def test_what_holds_everywhere_and_what_holds_in_a_project_are_flagged_and_both_stay(
    mem: Mem, workspace: Path, one: str, other: str, projects: tuple[str, str]
) -> None:
    old, new = (
        mem("write", text, *(("--project", project) if project else ()), "--json").json
        for text, project in zip((one, other), projects, strict=True)
    )
    flags = new.get("conflicts_with", [])
    assert flags == ([] if all(projects) else [old["id"]])
    assert {row[0] for row in mem("ls").rows} == {old["id"], new["id"]}
