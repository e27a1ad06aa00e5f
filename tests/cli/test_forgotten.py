"""What was forgotten stays forgotten: no door lets it in again without a yes."""

import json
import os
import time
from pathlib import Path

import pytest

from memcli.api.workspace import open_workspaces
from memcli.index.index import ask
from memcli.index.lookups import places_saying
from tests.conftest import Mem
from tests.machines import first_machine, new_hub, other_machine, write_config

FACT = "The staging port is 8443 on the blue machine."
BEFORE, FORGOTTEN, LATER = "2026-11-20T10:00:00Z", "2026-11-21T20:15:03Z", "2026-11-22T09:00:00Z"


@pytest.fixture(autouse=True)
def other_words_than_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEM_WRITE_SOURCE")


@pytest.fixture
def forgotten(mem: Mem, workspace: Path) -> str:
    """Forget a promoted memory; give its id."""
    identifier = mem("write", FACT, "--source", "user").rows[0][1]
    assert mem("promote", identifier).code == 0
    assert FACT in (workspace / "MEMORY.md").read_text()
    assert mem("forget", identifier, "--reason", "never true").code == 0
    return str(identifier)


def transcript(path: Path, moment: str, *texts: str) -> str:
    lines = [{"role": "user", "content": text, "timestamp": moment} for text in texts]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def is_active(mem: Mem) -> bool:
    """Tell whether anything an agent is shown says the fact."""
    shown = [mem("ls").out, mem("search", FACT).out, mem("recall", "which staging port?").out]
    shown.append(Path("memory/MEMORY.md").read_text())
    return any("8443" in text for text in shown)


def test_a_file_says_who_forgot_it_when_and_why_and_restore_brings_it_back_byte_for_byte(
    mem: Mem, workspace: Path
) -> None:
    path = Path(mem("write", FACT).rows[0][2])
    path.write_bytes(before := path.read_bytes() + b"\r\nsecond\r\n")
    path.chmod(0o640)
    identifier = mem("ls").rows[0][0]
    assert mem("forget", identifier, "--reason", "never true", "--source", "user").code == 0
    fields = mem("read", identifier, "--json").json["fields"]
    assert [fields[key] for key in ("forgotten_at", "forgotten_by", "reason")] == [FORGOTTEN, "user", "never true"]
    assert [row[0] for row in mem("ls", "--forgotten").rows] == [identifier]
    assert mem("check").code == 0
    assert mem("restore", identifier).code == 0
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (before, 0o640)
    assert mem("ls", "--forgotten").rows == []


@pytest.mark.parametrize("text", ["A plain file.\n", "---\nid: a\nreason: my own\n---\n\nText.\n", "---\n[broken\n"])
def test_restore_leaves_nothing_in_any_file(mem: Mem, workspace: Path, text: str) -> None:
    path = workspace / "entries" / "a.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert mem("forget", str(path)).code == 0
    assert mem("restore", "memory/archive/entries/a.md").code == 0
    assert path.read_text() == text


def test_decay_forgets_nothing(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mem("write", FACT, "--source", "observed")
    monkeypatch.setenv("MEM_NOW", "2028-11-22T09:00:00Z")
    assert mem("decay", "--apply", "--max-fraction", "1").code == 0
    assert (mem("ls").rows, mem("ls", "--forgotten").rows) == ([], [])
    _, identifier, path = mem("write", FACT).rows[0]  # said again, it is back, and confirmed
    assert (mem("ls").rows[0][0], mem("check").code) == (identifier, 0)
    assert "archive" not in path
    assert not list(workspace.glob("archive/entries/**/*.md"))


def test_forgetting_takes_it_off_the_page_and_out_of_other_wordings_and_names_what_stays(
    mem: Mem, workspace: Path
) -> None:
    identifier = mem("write", FACT).rows[0][1]
    mem("promote", identifier)
    other = Path(mem("write", "Blue machine, port 8443: staging.", "--no-dedup").rows[0][2])
    other.write_text(other.read_text().replace("source:", f"wordings: ['{FACT}']\nsource:"))
    record = mem("history", "add", f"Talked long. {FACT} Then lunch.").rows[0][1]
    ran = mem("forget", identifier)
    assert ran.code == 0
    assert f"also in HISTORY-2026-11.md#{record}" in ran.err.replace("memory/", "")
    assert FACT not in (workspace / "MEMORY.md").read_text()
    assert "wordings" not in other.read_text()


@pytest.mark.parametrize("options", [(), ("--no-dedup",), ("--path", "a.md"), ("--key", "staging/port")])
@pytest.mark.parametrize("text", [FACT, "the Staging PORT is 8443  on the blue\nmachine"])
def test_a_write_of_the_same_text_is_refused(mem: Mem, forgotten: str, options: tuple[str, ...], text: str) -> None:
    ran = mem("write", text, "--source", "observed", *options)
    assert ran.code == 5
    assert len(ran.err.splitlines()) == 1
    assert f"{forgotten} " in ran.err
    assert "(never true)" in ran.err
    assert f"`mem restore {forgotten}`" in ran.err
    assert mem("write", text, *options, "--json").code == 5
    assert not is_active(mem)


def test_changing_an_entry_into_it_is_refused(mem: Mem, forgotten: str) -> None:
    other = mem("write", "Lunch is at noon.").rows[0][1]
    assert mem("write", "--id", other, FACT).code == 5
    assert mem("write", "--supersedes", other, FACT).code == 5
    assert not is_active(mem)


def test_letter_case_is_passed_over_even_where_it_may_count(mem: Mem, workspace: Path) -> None:
    mem("forget", mem("write", "The race is on the 4th, run with -v.").rows[0][1])
    assert mem("write", "THE RACE IS ON THE 4TH, RUN WITH -V").code == 5


def test_a_wording_of_it_is_refused(mem: Mem, workspace: Path) -> None:
    path = Path(mem("write", "Blue machine, port 8443: staging.").rows[0][2])
    path.write_text(path.read_text().replace("source:", f"wordings: ['{FACT}']\nsource:"))
    mem("forget", str(path))
    assert mem("write", FACT).code == 5


def test_an_older_conversation_does_not_bring_it_back(mem: Mem, world: Path, forgotten: str) -> None:
    talk = transcript(world / "talk.jsonl", BEFORE, f"remember: {FACT}", "We use tabs in every project, always.")
    ran = mem("consolidate", talk, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["sessions"][0]["forgotten"] == 1
    assert f"`mem restore {forgotten}`" in ran.err
    assert not is_active(mem)
    older = transcript(world / "older.jsonl", BEFORE, f"please remember that {FACT}")
    assert mem("session", "import", older).code == 0
    assert mem("consolidate", "--all").code == 0
    assert not is_active(mem)


def test_the_users_own_word_said_later_lifts_it_and_says_so(
    mem: Mem, workspace: Path, forgotten: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_NOW", LATER)
    ran = mem("consolidate", transcript(world / "talk.jsonl", LATER, f"remember: {FACT}"))
    assert f"{forgotten} was forgotten on 2026-11-21: said again by the user" in ran.err
    assert mem("ls", "--forgotten").rows == []
    assert is_active(mem)


@pytest.mark.parametrize("options", [(), ("--no-dedup",)])
def test_a_write_of_the_users_lifts_it(mem: Mem, forgotten: str, options: tuple[str, ...]) -> None:
    ran = mem("write", FACT, "--source", "user", *options)
    assert ran.rows[0][0] == "created"
    assert "said again by the user" in ran.err
    assert is_active(mem)
    assert mem("write", FACT, "--source", "observed").rows[0][0] == "merged"


@pytest.mark.parametrize("options", [(), ("--no-dedup",)])
@pytest.mark.parametrize("source", ["user", "observed"])
def test_an_import_does_not_bring_it_back(
    mem: Mem, world: Path, forgotten: str, options: tuple[str, ...], source: str
) -> None:
    line = {"content": FACT, "source": source, "created_at": BEFORE, "id": "a-1"}
    (world / "other.jsonl").write_text(json.dumps(line) + "\n")
    ran = mem("import", "other.jsonl", "--json", *options)
    assert (ran.code, ran.json["counts"]) == (0, {"forgotten": 1})
    assert f"`mem restore {forgotten}`" in ran.err
    assert not is_active(mem)


def test_an_export_of_before_does_not_bring_it_back(mem: Mem, workspace: Path, world: Path) -> None:
    identifier = mem("write", FACT, "--source", "user").rows[0][1]
    mem("promote", identifier)
    (world / "export.jsonl").write_text(mem("export").out)
    mem("forget", identifier)
    assert mem("import", "export.jsonl").code == 0
    assert not is_active(mem)


def test_a_hook_does_not_bring_it_back(mem: Mem, world: Path, forgotten: str) -> None:
    said = f"remember: {FACT}\n\n```\nlog\n```"
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(world), "prompt": said}
    start = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(world), "source": "startup"}
    assert "8443" not in mem("hook", "run", "claude-code", stdin=json.dumps(start)).out
    ran = mem("hook", "run", "claude-code", stdin=json.dumps(event))
    assert "Kept in memory" in ran.out  # the user's own word, said later
    assert is_active(mem)


def test_a_clone_that_is_not_trusted_forgets_nothing(mem: Mem, workspace: Path, forgotten: str) -> None:
    assert mem("trust", "--remove", str(workspace)).code == 0
    assert mem("ls", "--forgotten").rows == []
    assert mem("write", FACT).rows[0][0] == "created"
    assert mem("trust", str(workspace)).code == 0
    assert [row[0] for row in mem("ls", "--forgotten").rows] == [forgotten]


def test_a_forgotten_file_that_was_edited_bars_what_it_says_now(mem: Mem, workspace: Path, forgotten: str) -> None:
    (path,) = (workspace / "archive" / "entries").rglob("*.md")
    path.write_text(path.read_text().replace("8443", "9000"))
    assert mem("write", FACT.replace("8443", "9000")).code == 5
    assert mem("write", FACT).rows[0][0] == "created"
    path.with_name("twin.md").write_text(path.read_text())  # doubled
    assert mem("write", FACT.replace("8443", "9000"), "--source", "user").rows[0][0] == "created"
    assert mem("ls", "--forgotten").rows == []


def test_a_mark_that_comes_by_hand_or_with_a_pull_counts_at_once_in_an_archive_read_before(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memcli.store.archive._SETTLED", 0)
    folder = workspace / "archive" / "entries"
    folder.mkdir(parents=True)
    for number in range(20):
        (folder / f"{number}.md").write_text(f"---\nid: mem_{number}\n---\n\nDecayed {number}.\n")
    assert mem("write", "--no-dedup", "Decayed 7.", "--source", "observed").code == 0
    assert len((workspace / ".mem" / "unforgotten").read_text().split("\n")) == 20
    times = (folder / "7.md").stat()
    (folder / "7.md").write_text("---\nid: mem_7\nforgotten_at: 2026-11-20\n---\n\nDecayed 7.\n")
    os.utime(folder / "7.md", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert mem("write", "--no-dedup", "Decayed 7.", "--source", "observed").code == 5
    (folder / "7.md").unlink()
    assert mem("write", "--no-dedup", "Decayed 7.", "--source", "observed").code == 0
    (folder / "pulled.md").write_text("---\nid: mem_8\nforgotten_at: 2026-11-20\n---\n\nDecayed 7.\n")
    assert mem("write", "--no-dedup", "Decayed 7.", "--source", "observed").code == 5


def test_forgetting_what_fills_a_key_bars_its_text_and_no_other_value(mem: Mem, workspace: Path) -> None:
    mem("write", FACT, "--key", "staging/port")
    mem("forget", mem("ls").rows[0][0])
    assert mem("write", "The staging port is 9000.", "--key", "staging/port").rows[0][0] == "created"
    assert mem("write", FACT, "--key", "staging/port").code == 5


def test_a_sync_names_what_was_forgotten_elsewhere_and_puts_away_what_says_it(mem: Mem, world: Path) -> None:
    write_config(world.parent / "home")
    hub = new_hub(world)
    laptop = first_machine(mem, world / "laptop", hub)
    identifier = laptop.mem("write", FACT, "--no-dedup", "--json").json["id"]
    laptop.sync()
    desktop = other_machine(mem, world / "desktop", hub)
    laptop.mem("forget", identifier)
    laptop.sync()
    desktop.mem("write", FACT, "--no-dedup", "--source", "observed", "--created-at", "2026-11-01")
    ran = desktop.sync()
    assert f"{identifier} was forgotten on 2026-11-21 on one machine" in ran.err
    assert "is put away" in ran.err
    assert desktop.mem("ls").rows == []
    assert "on one machine" not in desktop.sync().err
    assert desktop.mem("write", FACT, "--source", "observed", code=5).code == 5
    laptop.sync()
    assert laptop.mem("ls").rows == []


def test_the_memory_tool_does_not_bring_it_back(mem: Mem, workspace: Path, forgotten: str) -> None:
    call = {"command": "create", "path": "/memories/ports.md", "file_text": f"{FACT}\n"}
    ran = mem("memory-tool", stdin=json.dumps(call))
    assert f"`mem restore {forgotten}`" in ran.out + ran.err
    assert not is_active(mem)
    other = {"command": "create", "path": "/memories/lunch.md", "file_text": "Lunch is at noon.\n"}
    mem("memory-tool", stdin=json.dumps(other))
    mem("memory-tool", stdin=json.dumps({"command": "delete", "path": "/memories/lunch.md"}))
    assert len(mem("ls", "--forgotten").rows) == 2
    mem("memory-tool", stdin=json.dumps(other))
    assert mem("ls").rows == []


@pytest.mark.parametrize(
    "call",
    [
        {"command": "str_replace", "path": "/memories/a.md", "old_str": "Lunch is at noon.", "new_str": FACT},
        {"command": "insert", "path": "/memories/page.md", "insert_line": 0, "insert_text": f"- {FACT}\n"},
    ],
    ids=["entry", "page"],
)
def test_the_memory_tool_puts_it_into_no_file(
    mem: Mem, workspace: Path, forgotten: str, call: dict[str, str | int]
) -> None:
    mem("write", "Lunch is at noon.", "--path", "a.md")
    (workspace / "MEMORY.md").write_text("- Lunch is at noon.\n")
    if call["path"] == "/memories/page.md":
        call = {**call, "path": "/memories/MEMORY.md"}
    before = {path: path.read_text() for path in workspace.rglob("*.md")}
    ran = mem("memory-tool", stdin=json.dumps(call))
    assert f"`mem restore {forgotten}`" in ran.out + ran.err
    assert {path: path.read_text() for path in workspace.rglob("*.md")} == before


def test_an_edit_does_not_bring_it_back_but_the_users_does(mem: Mem, workspace: Path, forgotten: str) -> None:
    mem("write", "Lunch is at noon.", "--path", "a.md")
    refused = mem("edit", "a.md", "--replace", "Lunch is at noon.", FACT)
    assert (refused.code, len(refused.err.splitlines())) == (5, 1)
    assert not is_active(mem)
    lifted = mem("edit", "a.md", "--replace", "Lunch is at noon.", FACT, "--source", "user")
    assert "said again by the user" in lifted.err
    assert mem("ls", "--forgotten").rows == []


def test_a_deleted_folder_is_forgotten_and_restored_whole(mem: Mem, workspace: Path) -> None:
    for name in ("a", "b/c"):
        mem("write", f"The code of room {name} is {name * 3}.", "--path", f"rooms/{name}.md")
    before = {path.name: path.read_text() for path in (workspace / "entries").rglob("*.md")}
    mem("memory-tool", stdin=json.dumps({"command": "delete", "path": "/memories/rooms"}))
    assert len(mem("ls", "--forgotten").rows) == 2
    assert mem("check").code == 0
    assert mem("write", "The code of room a is aaa.").code == 5
    assert mem("undo").code == 0
    assert {path.name: path.read_text() for path in (workspace / "entries").rglob("*.md")} == before
    assert mem("ls", "--forgotten").rows == []


@pytest.mark.usefixtures("workspace")
def test_an_answer_of_the_review_forgets_too(mem: Mem) -> None:
    other = mem("write", "The port of staging is 9000.", "--json").json["id"]
    mem("write", FACT, "--conflicts-with", other)
    (question,) = mem("review", "--json").json["questions"]
    assert mem("review", "answer", question["id"], "forget", "--source", "user").code == 0
    assert len(mem("ls", "--forgotten").rows) == 2
    assert mem("write", FACT).code == 5


OTHERWISE = "On the blue machine, the port of staging is 8443."


def held(mem: Mem, workspace: Path) -> Path:
    """Have other words for what was forgotten held back; give the file that waits."""
    ran = mem("write", OTHERWISE, "--json")
    assert (ran.code, ran.json["action"]) == (0, "held")
    assert len(ran.err.splitlines()) == 1
    assert not is_active(mem)
    (file,) = (workspace / "inbox").glob("*.md")
    assert ran.json["path"] == f"inbox/{file.name}"
    return file


def test_other_words_for_it_wait_in_the_inbox(mem: Mem, workspace: Path, forgotten: str) -> None:
    first = mem("write", OTHERWISE, "--json").json["id"]
    assert mem("write", OTHERWISE.upper(), "--json").json["id"] == first  # said twice, it waits once
    file = held(mem, workspace)
    assert f"held: forgotten\nheld_at: {FORGOTTEN}\nabout: {forgotten}\n" in file.read_text()
    assert (file.parent / ".gitignore").read_text() == "*\n"
    assert mem("check").code == 0
    assert mem("grep", "blue machine").rows == []


def test_what_waits_becomes_a_memory_by_a_persons_yes_alone(mem: Mem, workspace: Path, forgotten: str) -> None:
    file = held(mem, workspace)
    (question,) = mem("review", "--json").json["questions"]
    assert (question["kind"], forgotten in question["reason"]) == ("held", True)
    assert mem("review", "answer", question["id"], "keep", "--source", "observed").rows[0][0] == "proposed"
    assert mem("review", "answer", question["id"], "keep", "--source", "user").rows[0][0] == "settled"
    assert not file.exists()
    assert [row[4] for row in mem("ls").rows] == [OTHERWISE]
    assert "held" not in Path(mem("ls").rows[0][3]).read_text()
    assert mem("write", OTHERWISE).rows[0][0] == "merged"


def test_what_is_turned_down_is_refused_from_then_on(mem: Mem, workspace: Path, forgotten: str) -> None:
    file = held(mem, workspace)
    (question,) = mem("review", "--json").json["questions"]
    assert mem("review", "answer", question["id"], "forget", "--source", "user").code == 0
    assert not file.exists()
    assert mem("review", "--json").json["count"] == 0
    assert mem("write", OTHERWISE).code == 5


def test_what_nobody_decides_about_goes_after_90_days(
    mem: Mem, workspace: Path, forgotten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = held(mem, workspace)
    monkeypatch.setenv("MEM_NOW", "2027-02-19T20:00:00Z")
    mem("tend")
    assert file.exists()
    monkeypatch.setenv("MEM_NOW", "2027-02-20T20:00:00Z")
    assert "1 dropped" in mem("tend").out
    assert not file.exists()


def test_the_user_says_it_in_other_words_and_another_value_is_no_matter_of_the_inbox(
    mem: Mem, workspace: Path, forgotten: str
) -> None:
    assert mem("write", "On blue, staging listens on port 8443.", "--key", "staging/port").rows[0][0] == "created"
    assert mem("write", "The staging port is 9000 on the blue machine.").rows[0][0] == "created"
    assert mem("write", OTHERWISE, "--source", "user").rows[0][0] in ("created", "merged")


def test_other_words_of_an_older_conversation_or_an_import_are_counted(
    mem: Mem, world: Path, workspace: Path, forgotten: str
) -> None:
    ran = mem("consolidate", transcript(world / "talk.jsonl", BEFORE, f"remember: {OTHERWISE}"), "--json")
    assert ran.json["sessions"][0]["held"] == 1
    assert "held back in inbox/" in ran.err
    line = {"content": OTHERWISE.replace("port of staging", "staging port"), "created_at": BEFORE, "id": "a-1"}
    (world / "other.jsonl").write_text(json.dumps(line) + "\n")
    assert mem("import", "other.jsonl", "--json").json["counts"] == {"held": 1}
    assert len(list((workspace / "inbox").glob("*.md"))) == 2
    assert "8443" not in mem("ls").out + (workspace / "MEMORY.md").read_text()


def test_in_a_clone_that_is_not_trusted_nothing_waits(mem: Mem, workspace: Path, forgotten: str) -> None:
    held(mem, workspace)
    mem("trust", "--remove", str(workspace))
    assert mem("review", "--json").json["count"] == 0
    assert mem("write", OTHERWISE).rows[0][0] == "created"


def test_what_was_deleted_for_good_does_not_come_back_on_this_machine(
    mem: Mem, world: Path, workspace: Path, tmp_path: Path
) -> None:
    mem("forget", "--purge", mem("write", FACT).rows[0][1])
    for options in ((), ("--no-dedup",), ("--path", "a.md")):
        ran = mem("write", FACT.upper(), *options)
        assert (ran.code, "was deleted for good here on 2026-11-21" in ran.err) == (5, True)
    (world / "other.jsonl").write_text(json.dumps({"content": FACT, "source": "user", "created_at": BEFORE}) + "\n")
    assert mem("import", "other.jsonl", "--json").json["counts"] == {"forgotten": 1}
    (world / "other.jsonl").unlink()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"8443" in path.read_bytes()]
    assert "said again by the user" in mem("write", FACT, "--source", "user").err
    assert mem("write", FACT, "--source", "observed").rows[0][0] == "merged"


def test_what_still_says_it_is_found_without_cutting_a_large_text_at_every_passage(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "large.md").write_text("A line of an entry that goes on and on.\n" * 40_000)
    (workspace / "notes").mkdir(exist_ok=True)
    (workspace / "notes" / "2026-11-20.md").write_text(f"[10:00] {FACT}\n")
    here = open_workspaces(workspace)[0]
    ask(here, lambda index: index.refresh())
    started = time.process_time()
    (place,) = ask(here, lambda index: places_saying(index, [FACT]))
    assert time.process_time() - started < 0.7
    assert place.startswith("notes/2026-11-20.md")
