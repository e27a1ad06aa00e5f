"""What the faults found, each with the smallest fault that showed it."""

import errno
import json
import re
from dataclasses import replace

import pytest

from tests.faults.commands import Command
from tests.faults.disk import GIT_KILLED, KILL, Fault, compiler
from tests.faults.test_commands import ready
from tests.faults.trial import Trials, command_named
from tests.faults.world import LATER, NEXT, shape
from tests.sample import sampled

pytestmark = pytest.mark.skipif(not compiler(), reason="the failing disk needs Linux and a C compiler")
__all__ = ["ready"]
UNREADABLE = Fault("unreadable", 1, errno.EIO, ("read",), lasting=True)


@pytest.mark.parametrize("name", ["write, contradicting", "write, same key", "review answer"])
def test_a_page_that_cannot_be_read_stops_what_would_leave_the_old_line_on_it(ready: Trials, name: str) -> None:
    trial = ready.of(command_named(name))
    world = trial.world
    world.put(trial.template)
    before = world.files()
    ran = world.mem(*trial.words, fault=UNREADABLE, below=world.memory / "MEMORY.md")
    assert (ran.code, ran.err.splitlines()[-1]) == (
        5,
        f"mem: cannot read {world.memory}/MEMORY.md: input/output error",
    )
    assert world.files() == before
    assert world.mem(*trial.words).code == 0
    assert shape(world.files()) == shape(trial.promised.after)


@pytest.mark.parametrize("command", ["consolidate", "session clear", "session compact", "tend"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_folder_for_derived_data_that_cannot_be_made_is_told_in_a_line(
    ready: Trials, command: str, error: int
) -> None:
    trial = ready.of(command_named(command))
    world = trial.world
    world.put(trial.template)
    before = world.files()
    refused = Fault("refused", 1, error, ("mkdir",), lasting=True)
    ran = world.mem(*trial.words, fault=refused, below=world.memory / ".mem")
    assert not ran.is_broken, ran.err
    if ran.seen.hit:
        assert ran.code in (3, 5)
        assert trial.promised.lost(world.files()) == set(), before.keys()


@pytest.mark.parametrize("command", ["write --id", "edit"])
def test_a_change_that_was_cut_off_keeps_the_old_text_once(ready: Trials, command: str) -> None:
    trial = ready.of(command_named(command))
    world = trial.world
    entries = world.memory / "entries"
    calls = world.mem(*trial.words, fault=KILL.hitting(0), below=entries).seen.calls
    assert calls > 2
    for at in sampled(range(1, calls + 1), 6):
        world.put(trial.template)
        assert world.mem(*trial.words, fault=KILL.hitting(at), below=entries).code < 0
        world.mem(*trial.words, now=LATER)
        kept = list((world.memory / "archive").rglob("kai*.md"))
        assert len(kept) == 1, at


@pytest.mark.parametrize("command", ["session append", "session import", "session import, into one"])
@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE])
def test_a_conversation_that_cannot_be_read_is_told_in_a_line(ready: Trials, command: str, error: int) -> None:
    trial = ready.of(command_named(command))
    world = trial.world
    calls = ("read",) if error == errno.EIO else ("open",)
    for place in (world.memory / "sessions", world.memory / ".mem"):
        for at in range(1, 8):
            world.put(trial.template)
            ran = world.mem(*trial.words, stdin=trial.command.stdin, fault=Fault("", at, error, calls), below=place)
            assert not ran.is_broken, ran.err
            if not ran.seen.hit:
                break


@pytest.mark.parametrize("command", ["history add", "consolidate", "session compact"])
def test_a_record_of_history_that_was_cut_off_is_written_whole_by_the_next_command(ready: Trials, command: str) -> None:
    trial = ready.of(command_named(command))
    world = trial.world
    world.put(trial.template)
    log = world.memory / "HISTORY-2026-11.md"
    before = log.read_bytes()
    assert world.mem(*trial.words, fault=Fault("", 1, 0, ("write",)), below=log).code < 0
    torn = log.read_bytes()
    assert torn.startswith(before)
    assert torn != before
    assert world.mem("history", "add", "Later", now=LATER).code == 0
    records = re.split("(?m)^(?=## )", trial.promised.after["memory/HISTORY-2026-11.md"].decode())
    cut_off = next(whole for record in records if (whole := record.rstrip()).encode() not in before)
    text = log.read_text()
    assert (text.startswith(before.decode()), text.count(cut_off)) == (True, 1)


@pytest.mark.parametrize("place", ["entries", ".mem/journal"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_what_an_agent_is_asked_to_remember_is_written_once_whichever_call_fails(
    ready: Trials, place: str, error: int
) -> None:
    trial = ready.of(command_named("hook run, to remember"))
    world = trial.world
    failing = Fault("", 0, error)
    calls = trial.run(failing).seen.calls
    for at in range(1, calls):
        world.put(trial.template)
        ran = world.mem(*trial.words, stdin=trial.command.stdin, fault=failing.hitting(at), below=world.memory / place)
        if not ran.seen.hit:
            break
        assert "Kept in memory as mem_" in ran.out, at
        world.mem(*NEXT, now=LATER)
        assert shape(world.files())["entries", "marble"] == 1, at
    assert at > 3


@pytest.mark.parametrize("fault", [KILL, GIT_KILLED], ids=["both killed", "git killed"])
@pytest.mark.parametrize("command", ["sync, both sides", "sync, only theirs", "sync, one sentence on both sides"])
def test_a_memory_that_a_killed_git_took_away_is_not_deleted_on_the_other_machines(
    ready: Trials, command: str, fault: Fault
) -> None:
    trial = ready.of(command_named(command))
    world = trial.world
    printer = world.memory / "entries" / "printer.md"
    for call in ("unlink", "create", "write"):
        world.put(trial.template)
        ran = world.mem(*trial.words, fault=replace(fault, at=1, calls=(call,)), below=printer)
        assert ran.code == (5 if fault.alone else -9), (call, ran)
        assert list(trial.afterwards(trial.command.repeats)) == [], call
        assert "cedar" in world.committed(), call


@pytest.mark.parametrize(
    ("call", "words"),
    [
        *((call, words) for call in ("unlink", "write") for words in (("forget",), ("forget", "--purge"))),
        ("unlink", ("by hand",)),  # half of a file, moved by hand, is not what git has
    ],
)
def test_what_is_put_away_after_a_sync_was_killed_is_not_brought_back_beside_it(
    ready: Trials, call: str, words: tuple[str, ...]
) -> None:
    trial = ready.of(command_named("sync, only theirs"))
    world = trial.world
    printer = world.memory / "entries" / "printer.md"
    away = world.memory / "archive" / "entries" / "printer.md"
    world.put(trial.template)
    assert world.mem(*trial.words, fault=replace(KILL, at=1, calls=(call,)), below=printer).code == -9
    if words == ("by hand",):
        printer.rename(away)
    else:
        assert world.mem(*words, "printer.md").code == 0
    assert trial.again().code == 0
    assert not printer.exists()
    assert away.exists()  # with what was changed on the other side


def test_what_a_killed_git_took_away_is_back_for_the_next_command_that_writes(ready: Trials) -> None:
    trial = ready.of(command_named("sync, only theirs"))
    world = trial.world
    printer = world.memory / "entries" / "printer.md"
    for call in ("create", "write"):
        world.put(trial.template)
        assert world.mem(*trial.words, fault=replace(KILL, at=1, calls=(call,)), below=printer).code == -9
        assert not printer.exists() or b"cedar" not in printer.read_bytes()
        edited = world.mem("edit", "printer.md", "--replace", "old printer", "new printer", now=LATER)
        assert edited.code == 0, edited
        assert "The new printer is called cedar" in printer.read_text()


@pytest.mark.parametrize(
    ("name", "path"), [("edit", "entries/kai.md"), ("edit, of the page", "MEMORY.md"), ("write --id", "entries/kai.md")]
)
def test_a_change_that_was_killed_once_it_stood_can_be_taken_back(ready: Trials, name: str, path: str) -> None:
    trial = ready.of(command_named(name))
    world = trial.world
    stood = 0
    for place in (world.memory / ".mem" / "undo", world.memory / path.rpartition("/")[0]):
        for at in range(1, trial.run(KILL.hitting(0)).seen.calls):
            world.put(trial.template)
            before = world.files()
            ran = world.mem(*trial.words, fault=KILL.hitting(at), below=place)
            if not ran.seen.hit:
                break
            file = f"memory/{path}"
            if world.files()[file] != before[file]:
                stood += 1
                assert world.mem("undo", now=LATER).code == 0, at
                assert world.files()[file] == before[file], at
    assert stood


def test_a_decay_that_was_killed_is_taken_back_as_one_that_was_not(ready: Trials) -> None:
    confirmed = ("write", "The retry limit follows larch", "--source", "user")
    words = ("decay", "--apply", "--max-fraction", "1")
    trial = ready.of(Command("decay, of what was confirmed", words, before=(("read", "kai.md"), confirmed)))
    world = trial.world
    log = world.memory / ".mem" / "access"

    def left() -> tuple[dict[str, bytes], str]:
        """Go on, take it back, and return the files and what is counted."""
        assert world.mem("note", "And the world went on", now=LATER).code == 0
        noted = json.loads(world.mem("undo", "--list", "--json").out)["commands"]
        number = next(one["id"] for one in noted if one["command"] == "decay")
        assert world.mem("undo", str(number), now=LATER).code == 0
        return world.files(), log.read_text()

    world.put(trial.template)
    assert world.mem(*words).code == 0
    wanted = left()
    assert "confirmed:" in wanted[1]  # and not what was read: that stays in no file
    for place in (world.memory / "HISTORY-2026-11.md", world.memory / ".mem"):
        world.put(trial.template)
        calls = world.mem(*words, fault=KILL.hitting(0), below=place).seen.calls
        for at in range(1, calls + 1, 3 if place == log.parent else 1):
            world.put(trial.template)
            before = world.files()
            assert world.mem(*words, fault=KILL.hitting(at), below=place).code == -9
            if any((log.parent / "journal").glob("*.json")) or world.files() != before:
                assert left() == wanted, at


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("check --fix", "mem.yaml"),
        ("check --fix, of a conflict", "mem.yaml"),
        ("check --refresh", "entries/cites.md"),
        ("sync, only theirs", "mem.yaml"),
    ],
)
def test_a_file_that_cannot_be_opened_is_told_in_a_line(ready: Trials, name: str, file: str) -> None:
    trial = ready.of(command_named(name))
    world = trial.world
    fault = Fault("too many open files", 0, errno.EMFILE, ("open",), lasting=True)
    world.put(trial.template)
    opened = world.mem(*trial.words, fault=fault, below=world.memory / file).seen.calls
    for at in sampled(range(1, opened + 1), 6):
        world.put(trial.template)
        ran = world.mem(*trial.words, fault=fault.hitting(at), below=world.memory / file)
        assert not ran.is_broken, (at, ran.err)
        assert trial.promised.lost(world.files()) == set()
    assert opened


def test_a_merge_that_has_no_room_for_its_files_is_told_in_a_line(ready: Trials) -> None:
    trial = ready.of(command_named("sync, one sentence on both sides"))
    world = trial.world
    fault = Fault("no permission", 0, errno.EACCES, ("mkdir",))
    world.put(trial.template)
    made = world.mem(*trial.words, fault=fault, below=world.memory / ".mem").seen.calls
    for at in sampled(range(1, made + 1), 6):
        world.put(trial.template)
        ran = world.mem(*trial.words, fault=fault.hitting(at), below=world.memory / ".mem")
        assert not ran.is_broken, (at, ran.err)
        assert trial.promised.lost(world.files()) == set()
    assert made
